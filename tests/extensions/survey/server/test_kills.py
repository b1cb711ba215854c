"""Exports and withdrawals, killed at any moment or run at once: whole files or none, and nobody's
answers lost.
"""

from __future__ import annotations

import functools
import multiprocessing
import os
import shlex
import shutil
import signal
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command_line import run
from worldprobe.cli import main

FORKS = multiprocessing.get_context("fork")
#: What a command does to files; it is killed before or after one of these calls, or of a statement
#: of a database.
_CALLS = ("replace", "fsync", "open", "close", "unlink", "rmdir", "mkdir", "chmod")
#: Moments at which each command is killed.
N_MOMENTS = int(os.environ.get("WORLDPROBE_KILLS", "3"))
PID = [f"{number:024x}" for number in range(5)]


def _run(line: str, at: int, seen: multiprocessing.sharedctypes.Synchronized) -> None:
    def count() -> None:
        seen.value += 1
        if seen.value == at:
            os.kill(os.getpid(), signal.SIGKILL)

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            count()
            value = function(*args, **options)
            count()
            return value

        return call

    class Connection(sqlite3.Connection):
        execute = counted(sqlite3.Connection.execute)

    for name in _CALLS:
        setattr(os, name, counted(getattr(os, name)))
    sqlite3.connect = functools.partial(sqlite3.connect, factory=Connection)
    os._exit(main(shlex.split(line)))


def run_apart(line: str, at: int = 0) -> tuple[int, int]:
    """Run a command in a process of its own, killed at its ``at``-th call; its status and how many
    calls it made.
    """
    seen = FORKS.Value("q", 0, lock=False)
    process = FORKS.Process(target=_run, args=(line, at, seen))
    process.start()
    process.join(timeout=60)
    process.kill()
    assert process.exitcode is not None
    return process.exitcode, seen.value


def moments(n_calls: int) -> list[int]:
    return sorted({round(place) for place in np.linspace(1, n_calls, N_MOMENTS)})


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def survey(lab, tmp_path) -> Path:
    """A survey's folder that no process has open: one person who finished, one halfway, one who has
    just begun.
    """
    for number, n_answers in ((1, None), (2, 3), (3, 1)):
        person = lab.person(number)
        person.begin()
        if n_answers is None:
            person.finish(4)
        else:
            for _ in range(n_answers):
                person.answer(person.trial(), 2)
    assert run(f"human backup {lab.folder} --out {tmp_path / 'still'}") == 0
    return tmp_path / "still"


def test_a_killed_export_leaves_a_whole_one_or_none_and_the_survey_as_it_was(
    survey, tmp_path
) -> None:
    out = tmp_path / "export"
    line = f"human export {survey} --out {out}"
    status, n_calls = run_apart(line)
    assert status == 0
    whole = contents(out)
    for at in moments(n_calls):
        shutil.rmtree(out)
        status, _ = run_apart(line, at)
        assert status == -signal.SIGKILL
        assert not out.exists() or contents(out) == whole
        assert out.exists() or run_apart(line)[0] == 0
        assert contents(out) == whole
    assert len(_answers(survey)) == 3


def test_a_killed_withdrawal_is_finished_by_the_same_command_and_nobody_else_loses_an_answer(
    survey, tmp_path
) -> None:
    before = _answers(survey)
    copy = tmp_path / "copy"
    shutil.copytree(survey, copy)
    status, n_calls = run_apart(f"human withdraw {copy} {PID[2]}")
    assert status == 0
    after = _answers(copy)
    assert len(after) == 2
    for at in moments(n_calls):
        shutil.rmtree(copy)
        shutil.copytree(survey, copy)
        status, _ = run_apart(f"human withdraw {copy} {PID[2]}", at)
        assert status == -signal.SIGKILL
        assert _answers(copy) in (before, after), at
        run_apart(
            f"human withdraw {copy} {PID[2]}"
        )  # 2 where the person was deleted before the kill
        assert _answers(copy) == after, at
        assert not any(PID[2].encode() in content for content in contents(copy).values()), at
        assert all(_is_sound(copy / name) for name in ("answers.sqlite", "identities.sqlite")), at


def test_two_withdrawals_and_an_export_at_once_leave_everybody_else(survey, tmp_path) -> None:
    lines = [
        f"human withdraw {survey} {PID[2]}",
        f"human withdraw {survey} {PID[3]}",
        f"human export {survey} --out {tmp_path}/e",
    ]
    processes = [
        FORKS.Process(target=_run, args=(line, 0, FORKS.Value("q", 0, lock=False)))
        for line in lines
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(timeout=60)
    assert all(
        process.exitcode in (0, 2) for process in processes
    )  # 2: busy, and the same command is to be run again
    for line in lines[:2]:
        run_apart(line)
    assert len(_answers(survey)) == 1
    assert not any(
        pid.encode() in content for content in contents(survey).values() for pid in PID[2:4]
    )


def _answers(folder: Path) -> dict[str, int]:
    """Person -> number of answers."""
    connection = sqlite3.connect(folder / "answers.sqlite")
    try:
        rows = connection.execute(
            "SELECT participant, count(answer) FROM sessions JOIN trials USING (session) GROUP BY"
            " participant"
        )
        return dict(rows.fetchall())
    finally:
        connection.close()


def _is_sound(path: Path) -> bool:
    connection = sqlite3.connect(path)
    try:
        return connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    finally:
        connection.close()
