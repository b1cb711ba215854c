"""Whole files or none: everything we write is written next to its final place, then renamed into
it. And web addresses.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import functools
import glob
import hashlib
import os
import platform
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from worldprobe.errors import MachineError, UserError
from worldprobe.log import LOGGER

if TYPE_CHECKING:
    from filelock import FileLock

#: Errors of the disk while a file is written; any other OSError is a mistake of ours and keeps its
#: traceback.
_DISK_ERRORS = {errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EFBIG, errno.EIO}
#: Bytes of a file from which on its date stands for its content, where many files are looked at
#: often.
_LARGE = 1_000_000
#: This computer, in the names of temporary folders.
_HERE = re.sub(r"[^\w-]", "_", platform.node())[:40] or "unnamed"
#: A day: what writers of other computers left is removed when it is older.
_OLD_SECONDS = 86_400
#: As long is waited for another process: it may download and convert a large model.
PATIENCE_SECONDS = 7_200.0
#: After so long it is said what is waited for.
_SILENT_SECONDS = 5.0


def take_lock(path: Path, patience: float, mode: int = 0o644) -> FileLock:
    """The lock of a file; it ends with the process, however that ends.

    Args:
        path: the file, which is made.
        patience: seconds that are waited for a process that holds it.
        mode: the file's permissions.

    Raises:
        TimeoutError: another process holds it, and nobody waits.
        MachineError: one holds it for too long, or the disk has no locks, as some network disks.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(path, mode=mode)
    try:
        try:
            lock.acquire(timeout=min(patience, _SILENT_SECONDS))
        except Timeout:
            if not patience:
                raise
            LOGGER.info("waiting for %s, which another process holds", path)
            lock.acquire(timeout=patience)
    except Timeout as error:
        if not patience:
            raise
        problem = f"has been held by another process for {patience:.0f} seconds."
        fix = "End that process. If there is none, a computer stopped: remove the file."
        raise MachineError(path, problem, fix) from error
    except (OSError, NotImplementedError) as error:
        problem = f"cannot be locked ({getattr(error, 'strerror', None) or error})."
        fix = "Remove it, or use a disk with locks: TMPDIR and XDG_CACHE_HOME name folders."
        raise MachineError(path, problem, fix) from error
    return lock


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file, so that one process at a time does what is in the block.

    Raises:
        UserError: as ``take_lock``, or nothing can be written there.
    """
    check_place(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = take_lock(path, PATIENCE_SECONDS)
    try:
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def whole_file(path: Path | str) -> Iterator[Path]:
    """Yield a temporary path next to ``path``; on success it becomes ``path``, on failure it is
    removed.

    A link stays one: what it leads to is replaced.

    Raises:
        UserError: the file cannot be written here.
    """
    check_place(path)
    with _beside(path) as (temporary, target):
        temporary.touch()
        yield temporary
        os.replace(temporary, target)


@contextlib.contextmanager
def whole_folder(path: Path | str) -> Iterator[Path]:
    """Yield a temporary folder next to ``path``; on success it becomes ``path``, on failure it is
    removed.

    A folder that contains anything is never replaced. A link stays one: where it leads to is
    written.

    Raises:
        UserError: the folder cannot be written, ``path`` is a file, or the folder is not empty.
    """
    check_place(path, is_folder=True)
    with _beside(path) as (temporary, target):
        temporary.mkdir()
        yield temporary
        check_place(path, is_folder=True)  # it may have changed while we were computing
        os.replace(temporary, target)


@contextlib.contextmanager
def _beside(path: Path | str) -> Iterator[tuple[Path, Path]]:
    """A path in a temporary folder next to ``path``, and where it belongs; what is left of it goes.

    Raises:
        UserError: the disk is full, or refuses to be written.
    """
    target = Path(path).resolve() if Path(path).is_symlink() else Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        prefix = f".{target.name[:100]}."
        _remove_leftovers(target.parent, prefix)
        with tempfile.TemporaryDirectory(
            prefix=f"{prefix}{_HERE}.", suffix=".part", dir=target.parent
        ) as scratch:
            held = os.open(scratch, os.O_RDONLY)
            try:
                with contextlib.suppress(OSError):  # a file system without locks
                    fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                yield Path(scratch) / target.name, target
            finally:
                os.close(held)
    except OSError as error:
        if error.errno not in _DISK_ERRORS:
            raise
        raise _unwritable(target, error) from error


def _remove_leftovers(folder: Path, prefix: str) -> None:
    """Remove what writers that were killed left: those that are at work hold their folders.

    Some network disks do not tell one computer what another one holds; what others left is removed
    when it is old.
    """
    for left in folder.glob(f"{glob.escape(prefix)}*.part"):
        with contextlib.suppress(OSError):
            is_ours = left.name.startswith(f"{prefix}{_HERE}.")
            if not is_ours and time.time() - left.stat().st_mtime < _OLD_SECONDS:
                continue
            held = os.open(left, os.O_RDONLY)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(left)
            finally:
                os.close(held)


def write_members(folder: Path, members: Iterable[tuple[str, bytes]]) -> None:
    """Write files into a folder that ``whole_folder`` yields.

    Args:
        folder: the folder.
        members: relative name and content of each file.
    """
    for name, content in members:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def check_place(path: Path | str, is_folder: bool = False) -> None:
    """Check that a file, or a folder, may be written here, without writing anything.

    Args:
        path: where it is to be written.
        is_folder: a folder is to be written.

    Raises:
        UserError: the path has no name, is something else, or cannot be written.
    """
    path = Path(path)
    if path.name in ("", ".."):
        raise UserError(
            f'"{path}"',
            "is not the name of a file or folder to write.",
            "Give a path that ends in a name.",
        )
    try:
        if path.exists() and not path.is_dir() and not path.is_file():
            # e.g. /dev/null, which a rename would replace
            problem = "is a device, pipe or socket, not a regular file."
            raise UserError(path, problem, "Give the path of a file.")
        if path.exists() and path.is_dir() != is_folder:
            kind, wanted = ("folder", "file") if path.is_dir() else ("file", "folder")
            problem = f"is a {kind}, but a {wanted} is to be written here."
            raise UserError(path, problem, f"Give the path of a {wanted}.")
        if is_folder and path.is_dir() and any(path.iterdir()):
            problem = "is not empty; what it contains would be replaced."
            raise UserError(path, problem, "Choose a new folder, or remove this one yourself.")
        nearest = path.absolute().parent
        while not os.path.lexists(nearest):
            nearest = nearest.parent
        if not nearest.is_dir():
            kind = "file" if nearest.exists() else "link that leads nowhere"
            raise UserError(
                path, f"cannot be written: {nearest} is a {kind}.", "Give a path in a folder."
            )
        if os.statvfs(nearest).f_flag & os.ST_RDONLY:
            raise _unwritable(path, OSError(errno.EROFS, ""))
        if not os.access(nearest, os.W_OK | os.X_OK):
            raise MachineError(
                path,
                f"cannot be written: no permission to write in {nearest}.",
                "Choose a folder that you may write in.",
            )
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> UserError:
    reason = os.strerror(error.errno) if error.errno else str(error)
    return MachineError(
        path,
        f"cannot be written ({reason}).",
        "Free some disk space, or choose a place where you may write.",
    )


def write_text(path: Path | str, text: str) -> None:
    """Write UTF-8 text as a whole file."""
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def digest_file(path: Path | str) -> str:
    """SHA-256 of a file's bytes, or of the files of a folder (``files_below``) by relative name, in
    hexadecimal.

    Raises:
        UserError: a file is missing or cannot be read.
    """
    path = Path(path)
    try:
        if path.is_dir():
            digest = hashlib.sha256()
            for member in files_below(path):
                digest.update(
                    f"{member.relative_to(path).as_posix()}\0{digest_file(member)}\n".encode()
                )
            return digest.hexdigest()
        with open(path, "rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise UserError(
            path, f"cannot be read ({reason}).", "Check the path and your permission to read it."
        ) from error


def files_below(folder: Path) -> list[Path]:
    """The files in a folder and its folders, sorted; not hidden ones, which editors, Snakemake and
    file managers leave.
    """
    files = (path for path in folder.rglob("*") if path.is_file())
    return sorted(
        path
        for path in files
        if not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )


def digest_state(paths: Iterable[Path | str]) -> str:
    """A short digest that differs once any of some files does: of small files' content, of large
    ones' size and date.

    Args:
        paths: files, and folders, which mean ``files_below``; what does not exist counts for
            nothing.
    """
    digest = hashlib.sha256()
    for path in paths:
        for member in (
            map(str, files_below(Path(path))) if os.path.isdir(path) else [str(path).rstrip("/")]
        ):
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                facts = os.stat(member)
                state = (
                    f"{facts.st_size} {facts.st_mtime_ns}"
                    if facts.st_size > _LARGE
                    else _content(member, facts.st_mtime_ns)
                )
                digest.update(
                    f"{os.path.basename(member)}\0{state}\n".encode(errors="surrogateescape")
                )
    return digest.hexdigest()[:12]


@functools.cache
def _content(path: str, _date: int) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def read_text(path: Path | str, fix: str) -> str:
    """A file's text.

    Args:
        path: the file.
        fix: what to do where it cannot be read.

    Raises:
        UserError: no such file, a folder, no permission, or text that is not UTF-8.
    """
    try:
        return Path(path).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise UserError(path, "there is no such file.", fix) from error
    except OSError as error:
        raise UserError(path, f"cannot be read ({error.strerror}).", fix) from error
    except UnicodeDecodeError as error:
        raise UserError(path, "is not UTF-8 text.", fix) from error


#: Characters that end an address or begin a part in which passwords and keys are written.
SECRET_MARKS = "@?#"


def check_address(url: str, where: str, secret_hint: str, example: str) -> SplitResult:
    """The parts of a web address that contains nothing but scheme, host, port and path.

    Args:
        url: the address.
        where: the option or key that gave it, for messages.
        secret_hint: how to fix an address that contains more.
        example: a right address, for messages.

    Raises:
        UserError: it contains @, ? or # (nothing of it is printed then), or is not a valid address.
    """
    if any(mark in url for mark in SECRET_MARKS):
        raise UserError(where, "contains more than an address: one of @, ? and #.", secret_hint)
    fix = f"Give an address such as {example}."
    if any(not "!" <= letter <= "~" for letter in url):
        raise UserError(
            where, f"{url!r} contains a space, a control character or a letter outside ASCII.", fix
        )
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname
    except ValueError as error:
        raise UserError(
            f"{where} {url}", "is not a valid web address: its host or port cannot be read.", fix
        ) from error
    if parts.scheme not in ("http", "https") or not host or port == 0:
        raise UserError(f"{where} {url}", "is not a valid web address.", fix)
    return parts


def refuse_checkout(path: Path, what: str) -> None:
    """Refuse a place in a git repository that git does not ignore: its content would be a commit
    away from everybody.

    Args:
        path: a file or folder, which need not exist.
        what: why that must not be, as a clause.

    Raises:
        UserError: it is such a place.
    """
    real_path = path.resolve()
    root = next(
        (parent for parent in (real_path, *real_path.parents) if (parent / ".git").exists()), None
    )
    if root is None:
        return
    command = ["git", "-C", str(root), "check-ignore", "--quiet", str(real_path)]
    if (
        shutil.which("git") is None
        or subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode
    ):
        problem = f"is in a git repository, and git does not ignore it; {what}."
        raise UserError(path, problem, "Choose a folder elsewhere, or add it to .gitignore.")
