"""Whole files or none: everything we write is written next to its final place, then renamed into
it. And web addresses.
"""

from __future__ import annotations

import contextlib
import contextvars
import errno
import functools
import glob
import hashlib
import json
import os
import re
import shutil
import socket
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from worldprobe.errors import MachineError, UserError

#: Errors of the disk while a file is written; any other OSError is a mistake of ours and keeps its
#: traceback.
_DISK_ERRORS = {errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EFBIG, errno.EIO}
#: Bytes of a file from which on its date stands for its content, where many files are looked at
#: often.
_LARGE = 1_000_000
#: Lists the files of a folder that a command wrote, so that the same command may replace it.
MANIFEST = ".worldprobe.json"
#: What is in a folder besides its files: the manifest, and the date that Snakemake notes in folders
#: that a rule writes.
_NOTES = {MANIFEST, ".snakemake_timestamp"}


@dataclass
class _Batch:
    """Files that are written but kept back."""

    paths: set[Path]
    renames: list[Callable[[], None]] = field(default_factory=list)
    leftovers: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)


_batch: contextvars.ContextVar[_Batch | None] = contextvars.ContextVar("_batch", default=None)


@contextlib.contextmanager
def whole_files(paths: Collection[Path | str]) -> Iterator[None]:
    """Keep back these files and folders while they are written; at the end of the block all take
    their places, or none.

    Inside the block they cannot be read at their final places yet. Anything else is written at
    once.

    Args:
        paths: the files and folders that belong together.

    Raises:
        UserError: a file or folder cannot take its place.
    """
    batch = _Batch({Path(path).resolve() for path in paths})
    token = _batch.set(batch)
    try:
        with batch.leftovers:
            yield
            for rename in batch.renames:
                rename()
    finally:
        _batch.reset(token)


@contextlib.contextmanager
def whole_file(path: Path | str) -> Iterator[Path]:
    """Yield a temporary path next to ``path``; on success it becomes ``path``, on failure it is
    removed.

    The bytes are on disk before the file takes its name. The temporary name contains host and
    process, so two writers on a shared disk cannot collide: the later rename wins whole. What
    killed processes of this machine left there is removed. A link stays one: what it leads to is
    replaced.

    Raises:
        UserError: the file cannot be written here.
    """
    check_place(path)
    path = _behind_link(path)
    temporary = _temporary(path)
    with _disk_errors(path, always=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(path)
        with open(temporary, "wb"):
            pass

    def rename() -> None:
        with _disk_errors(path, always=True):
            os.replace(temporary, path)
            _synchronize(path.parent)

    yield from _fill_and_keep(path, temporary, rename)


@contextlib.contextmanager
def whole_folder(path: Path | str, command: str, source: str | None = None) -> Iterator[Path]:
    """Yield a temporary folder next to ``path``; on success it takes the place of ``path``, on
    failure it is removed.

    An existing folder is replaced only if it is empty, or the same command wrote it, from the same
    source, and nothing was added or edited since: the folder contains a manifest of its files. A
    link stays one: what it leads to is replaced.

    Args:
        path: the folder.
        command: the command that writes it, e.g. ``controls write-corpus``.
        source: what it is made from, see ``source_of``; None for what is made again in seconds.

    Raises:
        UserError: the folder cannot be written, ``path`` is a file, or the folder contains anything
            else.
    """
    check_place(path, is_folder=True, command=command, source=source)
    path = _behind_link(path)
    temporary = _temporary(path)
    with _disk_errors(path, always=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(path)
        temporary.mkdir()

    def rename() -> None:
        old = temporary.with_name(f"{temporary.name}.old")
        with _disk_errors(path, always=True):
            check_place(
                path, is_folder=True, command=command, source=source
            )  # it may have changed while we were computing
            if path.exists():
                os.replace(path, old)
            os.replace(temporary, path)
            _synchronize(path.parent)
        shutil.rmtree(old, ignore_errors=True)

    def finish() -> None:
        states = {name: _state(temporary / name) for name in sorted(_members(temporary))}
        noted = {"command": command, **({"source": source} if source else {}), "files": states}
        text = json.dumps(noted, indent=1, ensure_ascii=False)
        (temporary / MANIFEST).write_text(text + "\n", encoding="utf-8")

    yield from _fill_and_keep(path, temporary, rename, finish)


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


def _fill_and_keep(
    path: Path,
    temporary: Path,
    rename: Callable[[], None],
    finish: Callable[[], None] = lambda: None,
) -> Iterator[Path]:
    """Let the caller write the temporary file or folder; rename it at once, or with all others of
    ``whole_files``.
    """
    batch = _batch.get()
    is_kept_back = False
    try:
        with _own_names(path, temporary), _disk_errors(path):
            yield temporary
            finish()
            for member in [*(temporary.rglob("*") if temporary.is_dir() else []), temporary]:
                _synchronize(member)
        if batch is None or path.resolve() not in batch.paths:
            rename()
        else:
            batch.renames.append(rename)
            batch.leftovers.callback(_remove, temporary)
            is_kept_back = True
    finally:
        if not is_kept_back:
            _remove(temporary)


def source_of(*parts: object) -> str:
    """A short digest of what a folder is made from: digests of inputs, and settings.

    >>> source_of("items", {"seed": 1}) == source_of("items", {"seed": 2})
    False
    """
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:16]


def check_place(
    path: Path | str, is_folder: bool = False, command: str = "", source: str | None = None
) -> None:
    """Check that a file, or a folder, may be written here, without writing anything.

    Args:
        path: where it is to be written.
        is_folder: a folder is to be written.
        command: the command that writes the folder.
        source: what it writes the folder from; None: not known yet, or of no matter.

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
        if (
            path.exists() and not path.is_dir() and not path.is_file()
        ):  # e.g. /dev/null, which a rename would replace
            raise UserError(
                path, "is a device, pipe or socket, not a regular file.", "Give the path of a file."
            )
        if is_folder:
            if path.is_file():
                raise UserError(
                    path,
                    "is a file, but a folder is to be written here.",
                    "Give the path of a folder.",
                )
            if path.is_dir():
                _check_folder(path, command, source)
        elif path.is_dir():
            raise UserError(
                path, "is a folder, but a file is to be written here.", "Give the path of a file."
            )
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


def _check_folder(path: Path, command: str, source: str | None) -> None:
    """Refuse to replace a folder that this command did not write, or from something else, or in
    which something was changed.
    """
    members = _members(path)
    if not members:
        return
    fix = "Choose a new or empty folder, or remove this one yourself."
    try:
        manifest = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
        author, ours = str(manifest["command"]), dict(manifest["files"])
    except (OSError, ValueError, TypeError, KeyError):
        raise UserError(
            path, "is not empty and was not written by this command; it would be replaced.", fix
        ) from None
    if author != command:
        raise UserError(
            path, f"was written by another command ({author}); it would be replaced.", fix
        )
    if surplus := sorted(members - ours.keys() - _NOTES):
        raise UserError(
            path,
            f"also contains {surplus[0]}, which this command did not write; it would be deleted.",
            fix,
        )
    if edited := [
        name for name in sorted(members & ours.keys()) if _state(path / name) != ours[name]
    ]:
        raise UserError(
            path,
            f"contains {edited[0]}, which was edited since this command wrote it; it would be"
            " replaced.",
            fix,
        )
    if source is not None and manifest.get("source") != source:
        problem = (
            "was written by the same command, but from other inputs or with other settings; it"
            " would be replaced."
        )
        raise UserError(path, problem, fix)


def _state(path: Path) -> str:
    """What shows that a file was edited: its content, of a large one its size."""
    size = path.stat().st_size if path.is_file() else 0
    return digest_file(path)[:16] if path.is_file() and size <= _LARGE else f"{size} bytes"


def _members(folder: Path) -> set[str]:
    """All files and empty folders in a folder, by relative name."""
    found = set()
    for parent, folders, names in os.walk(folder):
        place = Path(parent).relative_to(folder)
        found |= {(place / name).as_posix() for name in names}
        if not folders and not names and place != Path():
            found.add(place.as_posix())
    return found


def _behind_link(path: Path | str) -> Path:
    """The path, or where it leads if it is a link."""
    return Path(path).resolve() if Path(path).is_symlink() else Path(path)


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.{socket.gethostname()}.{os.getpid()}.part")


def _remove_leftovers(path: Path) -> None:
    """Remove what killed processes of this machine left next to ``path``."""
    begin = f".{path.name}.{socket.gethostname()}."
    for left in path.parent.glob(f"{glob.escape(begin)}*.part*"):
        number = left.name.removeprefix(begin).partition(".")[0]
        if not (number.isdigit() and (int(number) == os.getpid() or _is_running(int(number)))):
            if left.name.endswith(".part.old") and not path.exists():
                os.replace(left, path)  # killed between the two renames of a folder
            else:
                _remove(left)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()


def _synchronize(path: Path) -> None:
    """Force a file or a folder's list of names onto the disk, so that a power cut leaves no empty
    file behind the rename.
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # a file system that cannot
            raise
    finally:
        os.close(handle)


@contextlib.contextmanager
def _own_names(path: Path, temporary: Path) -> Iterator[None]:
    """Let errors about a file in the temporary folder name the file that it was to become."""
    try:
        yield
    except UserError as error:
        if not Path(error.where).is_relative_to(temporary):
            raise
        raise UserError(
            path / Path(error.where).relative_to(temporary), error.problem, error.fix
        ) from error


@contextlib.contextmanager
def _disk_errors(path: Path, always: bool = False) -> Iterator[None]:
    """Turn a full disk, a quota or a read-only place into a message.

    Args:
        path: what is being written.
        always: every OSError is one of writing.
    """
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        cause: BaseException | None = (
            error  # libraries raise errors of their own while they close a file on a full disk
        )
        while cause is not None:
            told = re.search(
                r"\(os error (\d+)\)", str(cause)
            )  # of a library in Rust, such as safetensors
            disk = (
                cause if isinstance(cause, OSError) else OSError(int(told[1]), "") if told else None
            )
            if disk is not None and (always or disk.errno in _DISK_ERRORS):
                raise _unwritable(path, disk) from error
            cause = cause.__cause__ or cause.__context__
        raise


def _unwritable(path: Path, error: OSError) -> UserError:
    reason = os.strerror(error.errno) if error.errno else str(error)
    return MachineError(
        path,
        f"cannot be written ({reason}).",
        "Free some disk space, or choose a place where you may write.",
    )


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
    found = (path for path in folder.rglob("*") if path.is_file())
    return sorted(
        path
        for path in found
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
