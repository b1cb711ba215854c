"""The lock that a killed run leaves behind: found, distinguished from a live one, removed."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import socket
from collections.abc import Iterable, Sequence
from pathlib import Path

import psutil

from worldprobe.errors import UserError
from worldprobe.files import write_text

#: The configuration that the Snakefile lays all others over.
BASE = Path("config", "config.yaml")
#: The machine of the latest run, noted as it starts: Snakemake's own lock does not say whose it is.
HOLDER = Path(".snakemake", "worldprobe-run.json")


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


def config_files(words: Sequence[str]) -> list[str]:
    """The configuration files that the command line of a Snakemake names.

    >>> config_files(["snakemake", "--configfile", "a.yaml", "b.yaml", "--cores", "2"]), config_files(["snakemake", "all"])
    (['a.yaml', 'b.yaml'], [])
    """
    found: list[str] = []
    for place, word in enumerate(words):
        if word in ("--configfile", "--configfiles"):
            found += itertools.takewhile(lambda one: not one.startswith("-"), words[place + 1 :])
        elif word.startswith(("--configfile=", "--configfiles=")):
            found.append(word.partition("=")[2])
    return found


def of_other_studies(pids: Iterable[int], files: Sequence[Path | str]) -> dict[int, list[str]]:
    """Of these Snakemakes those that were given other configuration files -> their files.

    Args:
        pids: process ids.
        files: configuration files of a study, besides config/config.yaml.
    """

    def places(names: Iterable[Path | str]) -> list[Path]:
        return [Path(name).resolve() for name in names if Path(name) != BASE]

    found = {}
    for pid in pids:
        with contextlib.suppress(psutil.Error):
            given = config_files(psutil.Process(pid).cmdline())
            if places(given) != places(files):
                found[pid] = given
    return found


def is_locked(folder: Path) -> bool:
    """Whether Snakemake would refuse to start here."""
    locks = folder / ".snakemake" / "locks"
    return locks.is_dir() and any(locks.iterdir())


def sign(folder: Path) -> None:
    """Note that this machine holds the lock.

    Args:
        folder: where this Snakemake, which has just taken the lock, runs.
    """
    write_text(folder / HOLDER, json.dumps({"host": socket.gethostname()}) + "\n")


def held_elsewhere(folder: Path) -> str:
    """The other machine on which the lock was taken, or "" where it was here, or nobody knows."""
    locks = folder / ".snakemake" / "locks"
    try:
        host = str(json.loads((folder / HOLDER).read_bytes())["host"])
        taken = max(path.stat().st_mtime for path in locks.iterdir())
        is_of_this_lock = (folder / HOLDER).stat().st_mtime >= taken
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return host if is_of_this_lock and host != socket.gethostname() else ""


def unlock(folder: Path) -> bool:
    """Remove a lock that nobody holds; True where there was one.

    Raises:
        UserError: a Snakemake of this machine is at work here, or one of another machine took the lock.
    """
    if not is_locked(folder):
        return False
    if pids := running(folder):
        raise UserError(
            folder, f"a Snakemake is running here (process {pids[0]}).", "Wait for it, or stop it with Ctrl-C in its terminal."
        )
    if host := held_elsewhere(folder):
        raise UserError(
            folder,
            f"the lock was taken on {host}, and whether that run is still at work cannot be seen from {socket.gethostname()}.",
            f"Run this command on {host}. If that machine is gone, `snakemake --unlock` removes the lock unasked.",
        )
    shutil.rmtree(folder / ".snakemake" / "locks")
    return True
