"""The fast reader of many lines and the reader of single lines accept the same, and read the same."""

import json
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worldprobe.benchmarks.worldsense.skins.skins import read_skins
from worldprobe.benchmarks.worldsense.trials import official
from worldprobe.benchmarks.worldsense.trials.official import parse_lines, read_official, write_official
from worldprobe.benchmarks.worldsense.trials.sets import blocks_of, plan_set, stream_set
from worldprobe.errors import UserError


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("official") / "trials.jsonl"
    frames = []
    for name in ("test", "ood-query"):
        plan = plan_set(name, per_cell=1)
        frames += stream_set(plan, blocks_of(plan, read_skins()), seed=0)
    write_official(frames, path)
    return path


@pytest.fixture
def lines(file: Path) -> bytes:
    return file.read_bytes()


def read_slowly(path: Path, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    with monkeypatch.context() as patch:
        patch.setattr(official, "parse_lines", lambda lines: None)
        return read_official(path)


def test_both_readers_read_the_same(lines: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert parse_lines(lines) is not None
    path = tmp_path / "trials.jsonl"
    path.write_bytes(lines)
    whole = read_official(path)
    pd.testing.assert_frame_equal(whole, read_slowly(path, monkeypatch))
    monkeypatch.setattr(official, "BLOCK_SIZE", 4000)
    pd.testing.assert_frame_equal(read_official(path), whole)
    path.write_bytes(lines.replace(b"\n", b"\r\n\n"))  # unusual, and right
    pd.testing.assert_frame_equal(read_official(path).drop(columns="line"), whole.drop(columns="line"))


def test_names_that_json_escapes_are_read_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: bytes) -> None:
    trials = [json.loads(line) for line in lines.splitlines()[:2]]
    for trial in trials:
        trial["objects"] = [f'{name} "é\\" \t€\U0001f600' for name in trial["objects"]]
    path = tmp_path / "trials.jsonl"
    path.write_text("".join(json.dumps(trial, ensure_ascii=number > 0) + "\n" for number, trial in enumerate(trials)))
    pd.testing.assert_frame_equal(read_official(path), read_slowly(path, monkeypatch))


VALUES = [None, True, -1, 0, 2, 3, 9, 2**63, 1.0, "", " ", "a", "3", "(0, 1)", "[(0, 1)]", [], ["a"], ["a", "a", "b"], {}]
PIECES = [b"", b"\n", b"{", b"}", b'"', b",", b"\\", b"\xff", b"\0", b"}\n{", b"\\ud800", b"1", b" "]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_what_the_fast_reader_accepts_the_other_accepts_too(file: Path, data) -> None:
    chosen = file.read_bytes().splitlines(keepends=True)[:12]
    place = data.draw(st.integers(0, 11))
    if data.draw(st.booleans()):
        trial = json.loads(chosen[place])
        trial[data.draw(st.sampled_from([*trial, "other"]))] = data.draw(st.sampled_from(VALUES))
        chosen[place] = json.dumps(trial).encode() + b"\n"
    else:
        at = data.draw(st.integers(0, len(chosen[place]) - 1))
        chosen[place] = (
            chosen[place][:at] + data.draw(st.sampled_from(PIECES)) + chosen[place][at + data.draw(st.integers(0, 1)) :]
        )
    changed = b"".join(chosen)
    with pytest.MonkeyPatch.context() as patch:
        fast = read(changed)
        patch.setattr(official, "parse_lines", lambda lines: None)
        assert fast == read(changed)


def read(lines: bytes) -> list | str:
    """The trials, or the message."""
    try:
        return list(official._read_block(lines, 1, "file").itertuples(index=False, name=None))
    except UserError as error:
        return error.lines()
