"""A lock is removed only where nobody can hold it: neither a Snakemake of this machine nor one of
another.
"""

import os
import socket
from pathlib import Path

import pytest

from worldprobe.errors import UserError
from worldprobe.operations import status
from worldprobe.operations.status import next_steps


@pytest.fixture
def locked(tmp_path: Path) -> Path:
    """A folder with the lock of a run that was killed."""
    place = tmp_path / ".snakemake" / "locks"
    place.mkdir(parents=True)
    (place / "0.input.lock").touch()
    return tmp_path


def sign_on(host: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(socket, "gethostname", lambda: host)
        status.sign(folder)


def test_a_lock_of_this_machine_is_removed(locked: Path) -> None:
    status.sign(locked)
    assert status.unlock(locked)
    assert not status.is_locked(locked)


def test_a_lock_that_nobody_signed_is_removed(locked: Path) -> None:
    assert status.unlock(locked)


def test_a_lock_of_another_machine_stays_and_its_host_is_named(
    locked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sign_on("login2", locked, monkeypatch)
    with pytest.raises(UserError, match="taken on login2") as error:
        status.unlock(locked)
    assert "Run this command on login2" in error.value.lines()
    assert status.is_locked(locked)
    assert next_steps([], locked, [], [], True) == [
        "A run that began on login2 holds the lock. If it has ended: `worldprobe unlock` there."
    ]


def test_a_note_of_an_earlier_run_says_nothing_about_a_later_lock(
    locked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sign_on("login2", locked, monkeypatch)
    os.utime(locked / status.HOLDER, (0, 0))
    assert status.unlock(locked)
