"""Whole files or none: every output of ours is written beside its place and renamed into it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

from worldprobe.errors import UserError


@contextlib.contextmanager
def whole_file(path: Path | str) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; on success it becomes ``path``, on failure it is removed.

    The temporary name holds host and process, so two writers on a shared disk cannot meet: the later rename wins whole.

    Raises:
        UserError: the folder cannot be written.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{socket.gethostname()}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(temporary, "wb"):
            pass
    except OSError as error:
        raise UserError(
            path, f"cannot be written ({error.strerror}).", "Free the disk or choose a folder you may write."
        ) from error
    try:
        yield temporary
        os.replace(temporary, path)
    except OSError as error:
        if error.errno in (28, 30, 122):  # no space, read-only, quota
            raise UserError(
                path, f"cannot be written ({error.strerror}).", "Free the disk, then run the same command again."
            ) from error
        raise
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


@contextlib.contextmanager
def whole_folder(path: Path | str) -> Iterator[Path]:
    """Yield a temporary folder beside ``path``; on success it takes the place of ``path``, on failure it is removed.

    What a killed process of this machine left there is removed first.

    Raises:
        UserError: the folder cannot be written, or ``path`` is a file.
    """
    path = Path(path)
    if path.exists() and not path.is_dir():
        raise UserError(path, "is a file; a folder is to be written here.", "Name a folder.")
    begin = f".{path.name}.{socket.gethostname()}."
    temporary = path.with_name(f"{begin}{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for left in path.parent.glob(f"{begin}*.part"):
            number = left.name.removeprefix(begin).removesuffix(".part")
            if number.isdigit() and not _is_running(int(number)):
                shutil.rmtree(left, ignore_errors=True)
        temporary.mkdir()
    except OSError as error:
        raise UserError(
            path, f"cannot be written ({error.strerror}).", "Free the disk or choose a folder you may write."
        ) from error
    try:
        yield temporary
        old = temporary.with_name(f"{temporary.name}.old")
        if path.exists():
            os.replace(path, old)
        os.replace(temporary, path)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def write_text(path: Path | str, text: str) -> None:
    """Write UTF-8 text as a whole file."""
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def digest_file(path: Path | str) -> str:
    """SHA-256 of a file's bytes, or of all files of a folder by relative name, in hexadecimal."""
    path = Path(path)
    if path.is_dir():
        digest = hashlib.sha256()
        for member in sorted(p for p in path.rglob("*") if p.is_file()):
            digest.update(f"{member.relative_to(path).as_posix()}\0{digest_file(member)}\n".encode())
        return digest.hexdigest()
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
