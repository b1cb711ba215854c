"""Notes on files that could not be made: each says why, and stands where the file would.

A job that has failed as often as it may writes it, so that the run goes on: what is made of it says
so too, and what compares models names those that are missing.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from worldprobe.files import write_text

#: How such a file begins.
_MARK = '{"worldprobe": "missing"'
#: The file in a folder that stands for it.
_IN_FOLDER = "missing.json"
#: What failed: fetching something, or asking or training a model.
Stage = Literal["fetch", "ask"]


class Missing(NamedTuple):
    """Something that could not be had.

    Attributes:
        name: of the model, file or baseline.
        reason: in one line.
        stage: what failed.
    """

    name: str
    reason: str
    stage: Stage


def write_missing(path: Path, missing: Missing, as_folder: bool = False) -> None:
    """Write why something is missing in its place.

    Args:
        path: its place.
        missing: what it is.
        as_folder: whether a folder would have been there.
    """
    facts = {"worldprobe": "missing", **missing._asdict()}
    marker = path / _IN_FOLDER if as_folder else path
    marker.parent.mkdir(parents=True, exist_ok=True)
    write_text(marker, f"{json.dumps(facts, ensure_ascii=False)}\n")


def read_missing(path: Path | str) -> Missing | None:
    """Why the file or folder of a path is missing; None where it is what it should be, or nothing
    is there.
    """
    path = Path(path)
    marker = path / _IN_FOLDER if path.is_dir() else path
    try:
        with marker.open("rb") as file:
            if file.read(len(_MARK)) != _MARK.encode():
                return None
        facts = json.loads(marker.read_text(encoding="utf-8"))
        return Missing(facts["name"], facts["reason"], facts["stage"])
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, KeyError):  # a note that somebody edited: whoever reads the file says so
        return None


def present(paths: Iterable[Path]) -> tuple[list[Path], list[Missing]]:
    """Those files of some that are there, and what the others say."""
    there, missing = [], []
    for path in paths:
        note = read_missing(path)
        if note is None:
            there.append(path)
        else:
            missing.append(note)
    return there, missing


def missing_below(folders: Iterable[Path]) -> Iterator[tuple[Path, Missing]]:
    """All files below some folders that stand for something missing; what cannot be read stands
    for nothing.
    """
    for folder in folders:
        for directory, _, names in os.walk(folder):
            for name in sorted(names):
                path = Path(directory, name)
                with contextlib.suppress(OSError):  # a link to nothing, another user's file
                    if path.stat().st_size < 10_000 and (note := read_missing(path)):
                        yield path, note


def forget_missing(paths: Iterable[Path]) -> None:
    """Remove what stands for something missing, so that the next run makes it; of a folder also
    what its command or Snakemake left in it.

    Args:
        paths: of ``missing_below``.
    """
    for path in paths:
        if path.name == _IN_FOLDER:
            shutil.rmtree(path.parent)
        else:
            path.unlink()
