"""Trials of ours leave as a dataset folder; those of the release do not."""

import json
from pathlib import Path

import pytest
import yaml

from command_line import run
from worldprobe.benchmarks.worldsense.contracts import Trials
from worldprobe.contracts import read_provenance, read_table, write_table


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dataset") / "trials.parquet"
    line = "worldsense generate test --per-cell 1 --sizes 3 --problems Infer.trivial"
    assert run(f"{line} --skins people_LeftRight --out {path}") == 0
    return path


def test_trials_are_a_dataset_whose_rows_are_the_table(trials: Path, tmp_path: Path) -> None:
    out = tmp_path / "dataset"
    assert run(f"worldsense export {trials} --format hf --out {out}") == 0
    assert (out / "data" / "test.parquet").read_bytes() == trials.read_bytes()
    front = yaml.safe_load((out / "README.md").read_text().split("---\n")[1])
    assert (front["license"], front["pretty_name"]) == ("mit", "worldprobe trials (test)")
    described = json.loads((out / "croissant.json").read_text())
    columns = [field["source"]["extract"]["column"] for field in described["recordSet"][0]["field"]]
    assert columns == list(Trials.columns)
    assert read_provenance(trials).canary in described["description"]


def test_what_may_be_the_release_is_refused(
    trials: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines, bare = tmp_path / "trials.jsonl", tmp_path / "bare.parquet"
    assert run(f"worldsense export {trials} --out {lines}") == 0
    provenance = read_provenance(trials)
    provenance.canary = None
    write_table(read_table(trials, Trials), Trials, bare, provenance)
    for source in (lines, bare):
        assert run(f"worldsense export {source} --format hf --out {tmp_path / 'out'}") == 2
        assert "may be the release" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
