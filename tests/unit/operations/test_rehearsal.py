"""Rehearsals: what is made small, what stands in for models, and that nothing of it is a result."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from command_line import run
from simulated_judgements import simulate_items, simulate_judgements
from worldprobe.benchmarks.ewok.contracts import Judgements
from worldprobe.contracts import read_provenance, write_table
from worldprobe.operations.rehearsal import STEPS
from worldprobe.operations.resources import needs
from worldprobe.operations.settings import (
    StudySettings,
    read_settings,
    shown_registry,
    weight_files,
)
from worldprobe.provenance import REHEARSAL_MARK, Provenance, is_rehearsed, made
from worldprobe.settings import read_registry

#: Every configuration that the repository has.
FILES = sorted(
    path
    for path in (Path(__file__).parents[3] / "config").rglob("*.yaml")
    if "\nstudy:" in path.read_text()
)


@pytest.fixture
def rehearsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function: a study -> its settings in a rehearsal, in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def read(study: dict[str, Any], cards: dict[str, Any] | None = None) -> StudySettings:
        if cards:
            Path("cards.yaml").write_text(yaml.safe_dump(cards))
            study = {"registry": "cards.yaml"} | study
        return read_settings({"rehearsal": True} | study, [], {})

    return read


def test_results_lie_in_a_folder_of_their_own_that_says_what_it_is(rehearsed: Any) -> None:
    found = rehearsed({"study": "mine", "benchmarks": ["ewok"], "models": ["gpt2_xl"]})
    assert found.study["results"] == "results/rehearsal"
    assert Path("results/rehearsal", REHEARSAL_MARK).is_file()
    assert is_rehearsed("results/rehearsal/mine/ewok/summaries.parquet")
    assert not is_rehearsed("results/mine/ewok/summaries.parquet")


def test_models_of_every_kind_have_stand_ins_of_their_architecture(rehearsed: Any) -> None:
    shown = {"family": "own", "display_name": "A"}
    cards = {
        "mixed": shown | {"checkpoint": "me/a", "architecture": "mixtral", "dtype": "bfloat16"},
        "big": {"checkpoint": "me/b", "family": "falcon", "display_name": "B", "engine": "vllm"},
        "bert": {"checkpoint": "me/c", "family": "x", "display_name": "C", "kind": "masked"},
        "tuned": {"checkpoint": "me/d", "family": "gpt2", "display_name": "D", "adapter": "me/e"},
    }
    cards["big"] |= {"parameters": 70_000_000_000, "tensor_parallel": 4}
    found = rehearsed({"benchmarks": ["ewok"], "models": [*cards]}, cards).registry
    assert [found[model]["stand_in"] for model in cards] == ["mixtral", "falcon", "bert", "gpt2"]
    for model in cards:
        card = found[model]
        assert card["engine"] == "transformers"
        assert card["adapter"] is None
        assert weight_files(card, "notes") == [f"results/rehearsal/default/stand_ins/{model}"]
        assert needs(card).gpus == 0
    assert found["mixed"]["dtype"] == "bfloat16"
    assert found["big"]["parameters"] == 70_000_000_000  # what figures show stays


def test_a_served_model_is_never_reached_nor_its_key_read(rehearsed: Any) -> None:
    block = {"promptings": ["basic"], "models": ["GPT4"], "controls": []}
    found = rehearsed({"benchmarks": ["worldsense"], "models": ["GPT4"], "worldsense": block})
    assert found.registry["GPT4"]["endpoint"] == "http://rehearsal.invalid/v1"


def test_what_takes_long_is_made_small(rehearsed: Any, tmp_path: Path) -> None:
    study = {"study": "s", "models": ["control_taught"], "series": ["control_steps_small"]}
    study |= {"ewok": {"items": {"limit": 600, "versions": "0-4"}}}
    variant = {"train": [{"set": "train-100k"}], "settings": {"steps": 900}}
    tuning = {"bases": ["control_taught"], "variants": {"100k": variant}}
    study |= {"worldsense": {"per_cell": None, "finetuning": tuning}}
    found = rehearsed(study)
    assert found.registry["control_taught"]["control"]["steps"] == STEPS
    assert found.registry["control_steps_small"]["series"]["n"] == list(range(STEPS + 1))
    ewok, worldsense = found.study["ewok"], found.study["worldsense"]
    assert ewok["items"]["limit"] == ewok["conditions"]["main"]["items"]["limit"] == 39
    assert ewok["items"]["versions"] == "0-4"
    assert worldsense["limit"] == 60
    shown = shown_registry(*found[:3], tmp_path / "shown")
    assert "control_taught+100k" in read_registry(shown), "tables and figures can read it"
    small = worldsense["finetuning"]["variants"]["100k"]
    assert small["settings"]["steps"] == STEPS
    assert small["train"] == [{"set": "train-100k", "per_cell": 1}]


def test_a_series_on_a_hub_becomes_one_that_is_trained_here(rehearsed: Any) -> None:
    series = {"revisions": "step{n}", "n": [0, 512, 1000], "seeds": ["me/s-{1-9}"]}
    card = {"checkpoint": "me/s", "family": "s", "display_name": "S", "series": series}
    control = {"control": {"steps": 9}, "family": "control", "display_name": "C"}
    study = {"benchmarks": ["ewok"], "models": ["c"], "series": ["s"]}
    found = rehearsed(study, {"s": card, "c": control}).registry
    assert found["s"]["control"]["steps"] == STEPS
    assert found["s"]["series"]["n"] == [0, 1, 2]
    assert "s.seed-1" in found


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.stem)
def test_every_study_of_the_repository_can_be_rehearsed(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("resources", "config", "notebooks"):
        (tmp_path / name).symlink_to(file.parents[len(file.parts) - 1 - file.parts.index("config")])
    stated = yaml.safe_load(file.read_text())
    for block, key in (("worldsense", "released"), ("ewok", "released")):
        (stated.get(block) or {}).pop(key, None)  # neither release is here
    found = read_settings(stated | {"rehearsal": True}, [], {})
    for model in found.study["models"]:
        card = found.registry[model]
        assert card.get("stand_in") or card.get("control") or card["engine"] in ("openai", "rule")


def test_what_is_made_from_a_rehearsal_elsewhere_still_says_so(tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / REHEARSAL_MARK).touch()
    (tmp_path / "r" / "x.txt").touch()
    (tmp_path / "y.txt").touch()
    assert made(1, {"x": tmp_path / "r" / "x.txt"}).details == {"rehearsal": True}
    assert made(1, {"y": tmp_path / "y.txt"}).details == {}


@pytest.mark.parametrize("folder", ["rehearsal", "study"])
def test_no_published_number_is_compared_with_one_of_a_rehearsal(
    folder: str, tmp_path: Path
) -> None:
    place = tmp_path / folder
    place.mkdir()
    if folder == "rehearsal":
        (place / REHEARSAL_MARK).touch()
    items = simulate_items(30, 1, seed=1)
    odds = np.full((1, len(items), 2), 0.5)
    judged = simulate_judgements(items, odds, ["gpt2_xl"], "logprobs", seed=1)
    write_table(judged, Judgements, place / "judgements.parquet", Provenance())
    summaries, out = tmp_path / "summaries.parquet", tmp_path / "reproduction.parquet"
    assert run(f"summarize {place / 'judgements.parquet'} --out {summaries}") == 0
    assert run(f"reproduction check {summaries} --out {out}") == 0
    table = pd.read_parquet(out).query("compared_with == 'ours' and model == 'gpt2_xl'")
    is_compared = table["status"].isin(["within_rounding", "differs"]).any()
    assert is_compared == (folder == "study")
    assert read_provenance(out).details.get("rehearsal", False) == (folder == "rehearsal")


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    """Judgements of two models in a rehearsal's folder."""
    place = tmp_path / "rehearsal" / "judgements.parquet"
    place.parent.mkdir()
    (place.parent / REHEARSAL_MARK).touch()
    items = simulate_items(30, 1, seed=1)
    odds = np.full((2, len(items), 2), 0.5)
    rows = simulate_judgements(items, odds, ["a", "b"], "logprobs", seed=1)
    write_table(rows, Judgements, place, Provenance())
    return place


def test_every_form_of_a_table_and_of_a_figure_says_it_wherever_it_is_written(
    judged: Path, tmp_path: Path
) -> None:
    summaries = tmp_path / "summaries.parquet"
    assert run(f"summarize {judged} --out {summaries}") == 0
    forms = {
        f"table mean_accuracy {summaries}": ["t.csv", "t.tex", "t.md", "t.json"],
        f"figure accuracy_by_domain {summaries}": ["f.csv", "f.svg"],
    }
    for line, names in forms.items():
        assert run(f"{line} --out {' '.join(str(tmp_path / name) for name in names)}") == 0
        for name in names:
            assert "rehearsal" in (tmp_path / name).read_text(), name
    for name in ("t.csv", "f.csv"):
        assert set(pd.read_csv(tmp_path / name)["rehearsal"]) == {"no result"}


def test_comparisons_of_a_rehearsal_say_so_and_are_no_json(
    judged: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(f"compare {judged} --out {tmp_path / 'c.parquet'}") == 0
    assert "None of its numbers is a result" in capsys.readouterr().out
    assert run(f"compare {judged} --out {tmp_path / 'c.json'}") == 2
    assert not (tmp_path / "c.json").exists()


def test_a_link_into_a_rehearsal_is_of_it_and_a_way_through_it_is_not(tmp_path: Path) -> None:
    for name in ("rehearsal/s", "s"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "x.csv").touch()
    (tmp_path / "rehearsal" / REHEARSAL_MARK).touch()
    (tmp_path / "link").symlink_to(tmp_path / "rehearsal" / "s")
    assert is_rehearsed(tmp_path / "link" / "x.csv")
    assert not is_rehearsed(tmp_path / "rehearsal" / ".." / "s" / "x.csv")


def test_answers_of_a_rehearsal_are_not_exported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / REHEARSAL_MARK).touch()
    trials, answers = tmp_path / "trials.parquet", tmp_path / "answers.parquet"
    few = "--sizes 3 --per-cell 1 --problems Infer.trivial --skins tall/short"
    assert run(f"worldsense generate test {few} --out {trials}") == 0
    asked = "--checkpoint solver --engine rule --prompting basic"
    assert run(f"worldsense ask {trials} {asked} --out {answers}") == 0
    assert run(f"worldsense export-results {answers} --out {tmp_path / 'official'}") == 2
    assert "of a rehearsal" in capsys.readouterr().err
    assert run(f"worldsense analyse {trials} {answers} --out {tmp_path / 'official'}") == 2
    assert not (tmp_path / "official").exists()
