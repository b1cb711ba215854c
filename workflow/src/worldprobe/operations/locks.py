"""The lock that a killed run leaves behind: found, told apart from a living one, removed."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

import psutil

from worldprobe.errors import UserError


def running(folder: Path) -> list[int]:
    """Process ids of the Snakemakes of this machine that work in a folder.

    This process's own ancestors are left out, and so are the Snakemakes that a cluster's jobs consist of.
    """
    here, mine = folder.resolve(), {os.getpid(), *(parent.pid for parent in psutil.Process().parents())}
    found = []
    for process in psutil.process_iter():
        try:
            words = process.cmdline()
            is_snakemake = any(Path(word).name == "snakemake" for word in words[:2]) or words[1:3] == ["-m", "snakemake"]
            is_job = "--target-jobs" in words
            if is_snakemake and not is_job and process.pid not in mine and Path(process.cwd()).resolve() == here:
                found.append(process.pid)
        except (psutil.Error, OSError):
            continue
    return sorted(found)


def is_on_cluster(pids: Iterable[int]) -> bool:
    """Whether one of these Snakemakes was told to use SLURM."""
    for pid in pids:
        with contextlib.suppress(psutil.Error):
            if any("slurm" in Path(word).name for word in psutil.Process(pid).cmdline()[1:]):
                return True
    return False


def is_locked(folder: Path) -> bool:
    """Whether Snakemake would refuse to start here."""
    locks = folder / ".snakemake" / "locks"
    return locks.is_dir() and any(locks.iterdir())


def unlock(folder: Path) -> bool:
    """Remove a lock that nobody holds; True where there was one.

    Raises:
        UserError: a Snakemake of this machine is at work here.
    """
    if not is_locked(folder):
        return False
    if pids := running(folder):
        raise UserError(
            folder, f"a Snakemake is running here (process {pids[0]}).", "Wait for it, or stop it with Ctrl-C in its terminal."
        )
    shutil.rmtree(folder / ".snakemake" / "locks")
    return True
