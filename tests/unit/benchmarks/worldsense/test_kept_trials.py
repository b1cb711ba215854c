"""Parsed trials that one analysis keeps for the next: the same numbers, and never those of another file."""

import bz2
import json
from pathlib import Path

import pytest

from worldprobe.benchmarks.worldsense.analysis import answers, decompress, kept, questions
from worldprobe.benchmarks.worldsense.official import write_official
from worldprobe.benchmarks.worldsense.sets import blocks_of, plan_set, stream_set
from worldprobe.benchmarks.worldsense.skins import read_skins
from worldprobe.benchmarks.worldsense.vocabulary import ANSWER_OF
from worldprobe.cli import main


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    path = tmp_path_factory.mktemp("kept") / "trials.jsonl"
    plan = plan_set("test", sizes=[3], per_cell=1)
    write_official(stream_set(plan, blocks_of(plan, read_skins(), ["trips", "race"]), seed=0), path)
    return path.read_bytes().splitlines(keepends=True)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(kept.VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(kept, "LEAST_BYTES", 1)
    return tmp_path / "cache"


def analyse(folder: Path, lines: list[bytes]) -> str:
    """The statistics of right answers to the first half of the trials."""
    (folder / "trials.jsonl.bz2").write_bytes(bz2.compress(b"".join(lines)))
    trials = [json.loads(line) for line in lines]
    rows = [{"Key": trial["Key"], "resp": ANSWER_OF[trial["goldresp_obfusc"]]} for trial in trials[: len(trials) // 2]]
    (folder / "basic___m___results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    line = [str(folder / name) for name in ("trials.jsonl.bz2", "basic___m___results.jsonl")]
    assert main(["worldsense", "analyse", *line, "--out", str(folder / "out")]) == 0
    return (folder / "out" / "statistics.csv").read_text()


def test_the_second_analysis_reads_no_trial_and_gives_the_same_bytes(
    lines: list[bytes], cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = analyse(tmp_path, lines)
    assert len(list(cache.iterdir())) == 2

    def unpack(*_: object) -> None:
        raise AssertionError("was decompressed again")

    monkeypatch.setattr(decompress.bz2, "decompress", unpack)
    monkeypatch.setattr(questions, "_parse", unpack)
    monkeypatch.setattr(answers, "_parse", unpack)
    assert analyse(tmp_path, lines) == first


def test_other_trials_are_not_taken_for_those_that_were_kept(lines: list[bytes], cache: Path, tmp_path: Path) -> None:
    first = analyse(tmp_path, lines)
    fewer = analyse(tmp_path, lines[:-4] if json.loads(lines[-1])["problemname"] != "Compl.normal" else lines[:-3])
    assert fewer != first
    assert len(list(cache.iterdir())) == 4


@pytest.mark.parametrize(
    "damage", [lambda content: content[:-100], lambda content: content[:60] + b"?" + content[61:], lambda _: b""]
)
def test_a_damaged_copy_is_made_again(damage, lines: list[bytes], cache: Path, tmp_path: Path) -> None:
    first = analyse(tmp_path, lines)
    wholes = {copy: copy.read_bytes() for copy in cache.iterdir()}
    for copy, whole in wholes.items():
        copy.write_bytes(damage(whole))
    assert analyse(tmp_path, lines) == first
    assert {copy: copy.read_bytes() for copy in cache.iterdir()} == wholes


def test_nothing_is_kept_where_nothing_may_be_kept(
    lines: list[bytes], cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = analyse(tmp_path, lines)
    for copy in cache.iterdir():
        copy.unlink()
    monkeypatch.setenv(kept.VARIABLE, "")
    assert analyse(tmp_path, lines) == first
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(kept.VARIABLE, str(tmp_path / "file" / "folder"))  # cannot be made
    assert analyse(tmp_path, lines) == first
    monkeypatch.setenv(kept.VARIABLE, str(cache))
    monkeypatch.setattr(kept, "LEAST_BYTES", 1 << 20)
    assert analyse(tmp_path, lines) == first
    assert not list(cache.iterdir())


def test_no_text_of_a_trial_is_kept(lines: list[bytes], cache: Path, tmp_path: Path) -> None:
    analyse(tmp_path, lines)
    found = [kept.load(copy) for copy in cache.iterdir()]
    assert sorted(len(table.column_names) for table in found if table is not None) == [2, 10]
    assert not {"text", "objects", "entities"} & {name for table in found if table is not None for name in table.column_names}


def test_the_latest_files_are_kept(cache: Path, lines: list[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST_FILES", 2)
    for cut in (0, 1, 2):
        whole = [line for line in lines if json.loads(line)["problemname"] in ("Infer.normal", "Infer.trivial")]
        analyse(tmp_path, whole[: len(whole) - 2 * cut])
    assert len(list(cache.iterdir())) == 2


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"text": " "}, "text is empty"),
        ({"objects": ["a"]}, "objects does not name"),
        ({"span": 99}, "span is 99"),
        ({"surplus": 1}, '"surplus" is unknown'),
    ],
)
def test_fields_that_the_analysis_does_not_need_are_checked_too(
    change: dict, says: str, lines: list[bytes], cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = [*lines[:6], json.dumps(json.loads(lines[6]) | change).encode() + b"\n", *lines[7:]]
    (tmp_path / "trials.jsonl.bz2").write_bytes(bz2.compress(b"".join(changed)))
    (tmp_path / "basic___m___results.jsonl").write_text('{"Key": 1, "resp": "TRUE"}\n')
    line = [str(tmp_path / name) for name in ("trials.jsonl.bz2", "basic___m___results.jsonl")]
    assert main(["worldsense", "analyse", *line, "--out", str(tmp_path / "out")]) == 2
    message = capsys.readouterr().err
    assert "line 7" in message
    assert says in message
    assert not cache.exists()


def test_trials_under_the_name_of_results_are_a_message(
    lines: list[bytes], cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    analyse(tmp_path, lines)
    results = tmp_path / "basic___n___results.jsonl.bz2"
    results.write_bytes((tmp_path / "trials.jsonl.bz2").read_bytes())  # kept by now, as trials
    assert main(["worldsense", "analyse", str(tmp_path / "trials.jsonl.bz2"), str(results), "--out", str(tmp_path / "o")]) == 2
    assert "Traceback" not in capsys.readouterr().err
    assert not (tmp_path / "o").exists()
