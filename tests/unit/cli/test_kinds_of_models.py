"""Masked and encoder-decoder models from the command line to the table: stated everywhere,
refused where they cannot be asked.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from command_line import run
from worldprobe.cli import main
from worldprobe.contracts import read_provenance

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


@pytest.fixture(scope="module")
def work(
    tiny_checkpoint: Any, gap_checkpoint: Any, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Three models of three kinds, scored, judged and summarised together."""
    folder = tmp_path_factory.mktemp("kinds")
    places = {"tiny": tiny_checkpoint(), "bert": gap_checkpoint("bert"), "t5": gap_checkpoint("t5")}
    items = folder / "items.parquet"
    assert run(f"items build builtin --versions 0 --out {items}") == 0
    from worldprobe.benchmarks.ewok.contracts import Items
    from worldprobe.contracts import read_table, write_table

    few = read_table(items, Items).groupby("domain", observed=True).head(3)
    write_table(few.reset_index(drop=True), Items, items, read_provenance(items))
    for name, place in places.items():
        kind = [] if name == "tiny" else ["--kind", CARDS[name]["kind"]]
        scores, judged = folder / f"{name}.parquet", folder / f"{name}_judged.parquet"
        line = [
            *f"score logprobs {items} --checkpoint {place} --model {name}".split(),
            *kind,
            "--out",
            str(scores),
        ]
        assert main(line) == 0
        assert run(f"judge {items} {scores} --out {judged}") == 0
    judgements = [str(folder / f"{name}_judged.parquet") for name in places]
    assert main(["summarize", *judgements, "--out", str(folder / "summaries.parquet")]) == 0
    return folder


@pytest.mark.long
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


def test_evaluate_finds_the_kind_in_the_checkpoint(
    gap_checkpoint: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = f"evaluate {gap_checkpoint('bert')} --work {tmp_path} --benchmark worldsense".split()
    assert main(line) == 2
    assert "does not continue a text" in capsys.readouterr().err


@pytest.mark.long
def test_the_result_of_an_evaluation_states_kind_and_measure(work: Path) -> None:
    from worldprobe.benchmarks.ewok.evaluation import collect_evaluation

    paths = [work / name for name in ("items.parquet", "bert.parquet", "summaries.parquet")]
    found = collect_evaluation("bert", "builtin", *paths)
    assert (found["kind"], found["pseudo_log_likelihood"]) == ("masked", "within_word_l2r")
    stated = found["benchmarks"]["ewok"]
    assert "masked, pseudo-log-likelihood" in stated["asked"]["kind of model"], (
        "leaderboards rank kinds apart"
    )
    assert not stated["published"]["is_comparable"]
