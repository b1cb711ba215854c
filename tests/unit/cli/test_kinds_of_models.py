"""Masked and encoder-decoder models from the command line to the table: stated everywhere,
refused where they cannot be asked.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from worldprobe import benchmarks
from worldprobe.cli import main
from worldprobe.contracts import read_provenance
from worldprobe.errors import UserError
from worldprobe.models.registry import loading_options
from worldprobe.report.model_names import read_roster
from worldprobe.settings import read_registry, read_study

pytest.importorskip("torch")

CARDS: dict[str, dict[str, Any]] = {
    "tiny": {"checkpoint": "folder", "family": "gpt2", "display_name": "Tiny"},
    "bert": {
        "checkpoint": "folder",
        "family": "bert",
        "display_name": "BERT",
        "kind": "masked",
        "pseudo": "original",
    },
    "t5": {"checkpoint": "folder", "family": "t5", "display_name": "T5", "kind": "encoder-decoder"},
}


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    path = tmp_path / "models.yaml"
    path.write_text(yaml.safe_dump(CARDS))
    return path


@pytest.fixture(scope="module")
def work(
    tiny_checkpoint: Any, gap_checkpoint: Any, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Three models of three kinds, scored, judged and summarised together."""
    folder = tmp_path_factory.mktemp("kinds")
    places = {"tiny": tiny_checkpoint(), "bert": gap_checkpoint("bert"), "t5": gap_checkpoint("t5")}
    items = folder / "items.parquet"
    assert main(["items", "build", "builtin", "--versions", "0", "--out", str(items)]) == 0
    from worldprobe.benchmarks.ewok.contracts import Items
    from worldprobe.contracts import read_table, write_table

    few = read_table(items, Items).groupby("domain", observed=True).head(3)
    write_table(few.reset_index(drop=True), Items, items, read_provenance(items))
    for name, place in places.items():
        kind = [] if name == "tiny" else ["--kind", CARDS[name]["kind"]]
        scores, judged = folder / f"{name}.parquet", folder / f"{name}_judged.parquet"
        line = [
            "score",
            "logprobs",
            str(items),
            "--checkpoint",
            str(place),
            "--model",
            name,
            *kind,
            "--out",
            str(scores),
        ]
        assert main(line) == 0
        assert main(["judge", str(items), str(scores), "--out", str(judged)]) == 0
    judgements = [str(folder / f"{name}_judged.parquet") for name in places]
    assert main(["summarize", *judgements, "--out", str(folder / "summaries.parquet")]) == 0
    return folder


def test_every_table_states_the_kind_and_the_measure(work: Path) -> None:
    assert read_provenance(work / "tiny.parquet").kind is None
    made = read_provenance(work / "bert.parquet")
    assert (made.kind, made.details["pseudo_log_likelihood"]) == ("masked", "within_word_l2r")
    assert read_provenance(work / "t5_judged.parquet").kind == "encoder-decoder"
    kinds = read_provenance(work / "summaries.parquet").details["kinds"]
    assert sorted(kinds) == ["bert", "t5"]
    assert (
        kinds["bert"]
        == "masked, pseudo-log-likelihood, each token hidden with the rest of its word"
    )


def test_a_ranking_of_several_kinds_says_so_in_its_rows_and_below(
    work: Path, registry: Path
) -> None:
    out = work / "table.md"
    options = ["--registry", str(registry), "--out", str(out)]
    assert main(["table", "mean_accuracy", str(work / "summaries.parquet"), *options]) == 0
    printed = out.read_text()
    assert "BERT (masked)" in printed
    assert "T5 (encoder-decoder)" in printed
    assert "Tiny (" not in printed
    assert (
        "another measure, not to be ranked with the others as equals: BERT (masked) (masked,"
        " pseudo-log" in printed
    )


def test_a_comparison_of_two_kinds_says_so(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tables = [str(work / f"{name}_judged.parquet") for name in ("tiny", "bert")]
    assert main(["compare", *tables]) == 0
    assert "bert: masked, pseudo-log-likelihood" in capsys.readouterr().out


def test_evaluate_finds_the_kind_in_the_checkpoint(
    gap_checkpoint: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = [
        "evaluate",
        str(gap_checkpoint("bert")),
        "--work",
        str(tmp_path),
        "--benchmark",
        "worldsense",
    ]
    assert main(line) == 2
    assert "does not continue a text" in capsys.readouterr().err


def test_prompts_are_refused_before_a_model_is_loaded(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = [
        "score",
        "all",
        str(work / "items.parquet"),
        "--checkpoint",
        "nowhere/at-all",
        "--eval-types",
        "likert_free_two",
    ]
    assert main([*line, "--kind", "masked", "--out", str(work / "no.parquet")]) == 2
    assert "a masked language model is only scored here" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--pseudo", "original"], "--pseudo"),
        (["--kind", "masked", "--bos", "always"], "--bos"),
        (["--kind", "masked", "--engine", "vllm"], "--kind"),
        (["--kind", "masked"], "masked language model"),
    ],
)
def test_options_that_do_not_fit_a_kind_are_refused(
    work: Path,
    tiny_checkpoint: Any,
    options: list[str],
    words: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    line = [
        "score",
        "logprobs",
        str(work / "items.parquet"),
        "--checkpoint",
        str(tiny_checkpoint()),
        *options,
    ]
    assert main([*line, "--out", str(work / "no.parquet")]) == 2
    assert words in capsys.readouterr().err
    assert not (work / "no.parquet").exists()


def test_a_card_says_how_its_model_is_loaded_and_shown(registry: Path) -> None:
    cards = read_registry(registry)
    assert loading_options(cards["bert"])[-4:] == ["--kind", "masked", "--pseudo", "original"]
    assert "--kind" not in loading_options(cards["tiny"])
    assert read_roster(registry)["t5"].name == "T5 (encoder-decoder)"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kind": "masked", "engine": "vllm"}, "engine transformers"),
        ({"kind": "masked", "chat": True}, "are causal"),
        ({"pseudo": "original"}, "only masked models"),
        ({"kind": "msked"}, "kind"),
    ],
)
def test_a_card_that_contradicts_its_kind_is_refused(
    tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    (tmp_path / "models.yaml").write_text(yaml.safe_dump({"mine": CARDS["tiny"] | change}))
    with pytest.raises(UserError, match=words):
        read_registry(tmp_path / "models.yaml")


@pytest.mark.parametrize(
    ("settings", "where"),
    [
        (
            {"ewok": {"eval_types": ["logprobs", "likert_free_two"]}, "benchmarks": ["ewok"]},
            "ewok.eval_types",
        ),
        ({}, "worldsense.models"),
    ],
)
def test_a_study_that_would_prompt_such_a_model_is_refused(
    registry: Path, settings: dict[str, Any], where: str
) -> None:
    study = read_study({"models": ["tiny", "bert"], **settings}, [], benchmarks.settings_classes)
    with pytest.raises(UserError, match="bert, a masked language model") as refused:
        benchmarks.complete_registry(study, read_registry(registry))
    assert refused.value.where == where
    alone = read_study(
        {"models": ["tiny", "bert"], "benchmarks": ["ewok"]}, [], benchmarks.settings_classes
    )
    assert benchmarks.complete_registry(alone, read_registry(registry))["bert"]["kind"] == "masked"


def test_the_result_of_an_evaluation_states_kind_and_measure(work: Path) -> None:
    from worldprobe.benchmarks.ewok.evaluation import (
        collect_evaluation,
        describe_evaluation,
        list_scores,
    )

    paths = [work / name for name in ("items.parquet", "bert.parquet", "summaries.parquet")]
    found = collect_evaluation("bert", "builtin", *paths)
    assert (found["kind"], found["pseudo_log_likelihood"]) == ("masked", "within_word_l2r")
    assert "masked, pseudo-log-likelihood" in list_scores(found)[0].asked["kind of model"], (
        "leaderboards rank kinds apart"
    )
    assert "not causal (masked, pseudo-log-likelihood" in describe_evaluation(
        json.loads(json.dumps(found))
    )
