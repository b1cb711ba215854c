"""Where the checkpoints of a training are, which of them is whole, and that one run alone writes them."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout
from safetensors import SafetensorError, safe_open

from worldprobe.errors import UserError

STATE = "trainer_state.json"
LOCK = "lock"


def work_folder(folder: Path, name: str, content: str) -> Path:
    """The folder of one training's checkpoints: another base, file or setting has another one.

    Args:
        folder: of all checkpoints.
        name: the model's.
        content: all that the weights depend on.

    Raises:
        UserError: it cannot be made.
    """
    found = folder / f"{name}-{hashlib.sha256(content.encode()).hexdigest()[:16]}"
    try:
        found.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(folder, f"cannot have checkpoints ({error.strerror}).", "Name another folder: --checkpoints.") from error
    return found


@contextlib.contextmanager
def held(folder: Path) -> Iterator[None]:
    """Keep other runs out of a folder of checkpoints; the system lets go of it when this process ends, however it ends.

    Raises:
        UserError: another run is in it, or nothing can be written there.
    """
    lock = FileLock(folder / LOCK, timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        raise UserError(folder, "another process trains this model just now.", "Wait for it, or end it first.") from error
    except OSError as error:
        raise UserError(folder, f"cannot have checkpoints ({error.strerror}).", "Name another folder: --checkpoints.") from error
    try:
        yield
    finally:
        lock.release()
        if not [path for path in folder.glob("*") if path.name != LOCK]:  # nothing was trained
            shutil.rmtree(folder, ignore_errors=True)


def last_checkpoint(folder: Path) -> Path | None:
    """The last whole checkpoint of a folder; what was cut off while it was written is removed.

    The state is the last file that the first process writes; others may still be writing the state of their random numbers then,
    and a machine that lost its power may have kept the state alone.
    """
    for path in sorted(folder.glob("checkpoint-*"), key=lambda path: -int(path.name.rpartition("-")[2])):
        if _is_whole(path):
            return path
        shutil.rmtree(path, ignore_errors=True)
    return None


def _is_whole(checkpoint: Path) -> bool:
    try:
        json.loads((checkpoint / STATE).read_text(encoding="utf-8"))
        for part in checkpoint.glob("*.safetensors"):
            with safe_open(part, "pt"):
                pass
    except (OSError, ValueError, SafetensorError):
        return False
    return all(zipfile.is_zipfile(part) for part in checkpoint.iterdir() if part.suffix in (".bin", ".pt", ".pth"))
