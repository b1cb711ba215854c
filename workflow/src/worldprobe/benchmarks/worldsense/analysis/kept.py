"""What official files of trials and results say, kept between commands under the digest of each file's bytes.

Decompressing and checking the released test set takes most of an analysis, and the files never change. Kept are the columns that
the analysis needs, without any text of a trial. Another file, or another version of what is kept, has another name; a copy
that is damaged is not used. Imports nothing heavy, so that it can be asked before the libraries are loaded.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as arrow

#: Bumped when the checks or the columns change.
VERSION = 1
#: The folder; empty: nothing is kept.
VARIABLE = "WORLDPROBE_CACHE"
#: Smaller files are read faster than they are worth keeping.
LEAST_BYTES = 1 << 18
#: Of how many files the latest are kept.
MOST_FILES = 64
_DIGEST_BYTES = 32


def place_of(content: bytes) -> Path | None:
    """Where the columns of a file are kept, whether they are there or not; None where they are not to be kept.

    Args:
        content: the bytes of the file as it is, compressed or not.
    """
    folder = os.environ.get(VARIABLE)
    if folder == "" or len(content) < LEAST_BYTES:
        return None
    if folder is None:
        root = os.environ.get("XDG_CACHE_HOME")
        try:
            folder = str((Path(root) if root else Path.home() / ".cache") / "worldprobe")
        except RuntimeError:  # a user without a home
            return None
    return Path(folder) / f"columns-{VERSION}-{hashlib.sha256(content).hexdigest()}.arrow"


def load(place: Path) -> arrow.Table | None:
    """The columns that were kept; None where there are none, or their copy is damaged."""
    from pyarrow import ArrowException, BufferReader, ipc

    with contextlib.suppress(OSError, ArrowException):
        digest, body = (whole := place.read_bytes())[:_DIGEST_BYTES], memoryview(whole)[_DIGEST_BYTES:]
        if hashlib.sha256(body).digest() == digest:
            return ipc.open_file(BufferReader(body)).read_all()
    return None


def keep(place: Path, table: arrow.Table) -> None:
    """Keep the columns of a file that was found right; a folder that cannot be written is passed over."""
    import pyarrow as arrow
    from pyarrow import ipc

    encoded = [
        column.combine_chunks().dictionary_encode() if arrow.types.is_string(column.type) else column for column in table.columns
    ]
    small = arrow.table(encoded, names=table.column_names).combine_chunks()
    sink = arrow.BufferOutputStream()
    with ipc.new_file(sink, small.schema, options=ipc.IpcWriteOptions(compression="zstd")) as stream:
        stream.write_table(small)
    body = sink.getvalue().to_pybytes()
    temporary = place.with_name(f".{place.name}.{os.getpid()}")
    with contextlib.suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            temporary.write_bytes(hashlib.sha256(body).digest() + body)
            temporary.replace(place)
        finally:
            temporary.unlink(missing_ok=True)
        _remove_old(place.parent)


def _remove_old(folder: Path) -> None:
    kept = sorted(folder.glob("columns-*.arrow"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in kept[MOST_FILES:]:
        path.unlink(missing_ok=True)
