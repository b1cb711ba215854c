"""``attempt``: a command whose results a study can do without says why they are missing."""

import subprocess
import sys
from pathlib import Path

import pytest

from command_line import run
from worldprobe.missing import Missing, present, read_missing, write_missing


@pytest.fixture
def listing(tmp_path: Path) -> str:
    """A file that a command copies, in the place of a download."""
    path = tmp_path / "sources.yaml"
    place = "resources/downloads/there.txt"
    path.write_text(f"there:\n  url: https://example.org/there\n  path: {place}\n  licence: ours\n")
    return str(path)


def attempt(folder: Path, words: str) -> int:
    fetch = f"fetch nowhere --sources {folder}/sources.yaml --out {folder}/out.txt"
    return run(f"attempt mine --stage fetch {words} -- {fetch}")


def test_a_command_that_fails_is_tried_again_and_says_why_the_last_time(
    tmp_path: Path, listing: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert attempt(tmp_path, "--tries-left 2") == 2
    assert not (tmp_path / "out.txt").exists()
    assert attempt(tmp_path, "--tries-left 1") == 0
    missing = read_missing(tmp_path / "out.txt")
    assert missing
    assert missing[::2] == ("mine", "fetch")
    assert "nowhere" in missing.reason or "no such" in missing.reason
    assert "error: " in capsys.readouterr().err, "the log says all of it"


def test_one_that_was_ended_every_time_is_given_up(tmp_path: Path, listing: str) -> None:
    assert attempt(tmp_path, "--tries-left 0") == 0
    assert "killed" in read_missing(tmp_path / "out.txt").reason


def test_without_a_last_time_it_fails_as_any_command_does(tmp_path: Path, listing: str) -> None:
    assert attempt(tmp_path, "") == 2
    assert not (tmp_path / "out.txt").exists()


@pytest.mark.parametrize("as_folder", [False, True])
def test_what_needs_something_missing_is_missing_for_the_same_reason(
    tmp_path: Path, listing: str, as_folder: bool
) -> None:
    why = Missing("model", "has no weights", "ask")
    write_missing(tmp_path / "weights", why, as_folder)
    (tmp_path / "other").write_text("here")
    assert attempt(tmp_path, f"--inputs {tmp_path}/other {tmp_path}/weights") == 0
    assert read_missing(tmp_path / "out.txt") == why
    given = [tmp_path / "other", tmp_path / "weights"]
    assert present(given) == ([tmp_path / "other"], [why])


def test_every_result_says_it(tmp_path: Path, listing: str) -> None:
    command = f"judge items --a-out {tmp_path}/a --out {tmp_path}/b {tmp_path}/c"
    assert run(f"attempt mine --tries-left 0 -- {command}") == 0
    assert all(read_missing(tmp_path / name) for name in "abc")
    command = f"fetch x --note {tmp_path}/note --out {tmp_path}/file"
    assert run(f"attempt mine --tries-left 0 -- {command}") == 0
    assert read_missing(tmp_path / "note")
    assert not (tmp_path / "file").exists(), "a file that all studies share"


def test_a_command_that_is_interrupted_is_not_given_up(tmp_path: Path) -> None:
    code = (
        "import worldprobe.cli.study as study; from worldprobe.cli import main;"
        "study.fetch = None\nimport worldprobe.cli as cli\n"
        "def run(_): raise KeyboardInterrupt\ncli.run, kept = run, cli.run\n"
        "import sys; sys.exit(study.attempt('mine', ['fetch', '--out', 'x'], tries_left=1))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True)
    assert done.returncode
    assert not (tmp_path / "x").exists()
