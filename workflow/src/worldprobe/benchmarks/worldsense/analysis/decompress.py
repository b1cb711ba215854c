"""Files of JSON lines, compressed or not, read as a whole and as fast as the processors allow.

The blocks of a bzip2 file depend on nothing but themselves, so they are decompressed side by side: the standard library releases
the interpreter's lock meanwhile. Imports nothing heavy, so that reading starts before the libraries are loaded.
"""

from __future__ import annotations

import bz2
import gzip
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from worldprobe.benchmarks.worldsense.analysis.kept import keep, load, place_of
from worldprobe.errors import UserError

if TYPE_CHECKING:
    import pyarrow as arrow

#: Begins a block, and ends a stream of blocks; 48 bits each, at any bit.
_BLOCK = 0x314159265359
_END = 0x177245385090
_MAGIC_BITS = 48


class Reader:
    """Reads files in the background.

    Args:
        n_threads: how many blocks are decompressed at a time; None: as many as there are processors.
    """

    def __init__(self, n_threads: int | None = None) -> None:
        self.pool = ThreadPoolExecutor(n_threads or os.cpu_count())

    def start(self, path: Path | str, is_kept: bool = False) -> Pending:
        """Start to read a file.

        Args:
            path: of the file.
            is_kept: what it says may be known from an earlier command (see ``kept``): it is then decompressed only when needed.

        Raises:
            UserError: it cannot be read.
        """
        try:
            content = Path(path).read_bytes()
        except OSError as error:
            raise UserError(path, f"cannot be read ({error.strerror}).", "Check the path.") from error
        place = place_of(content) if is_kept else None
        if Path(path).suffix != ".bz2" or (place is not None and place.is_file()):
            return Pending(path, content, [], place)
        return Pending(path, content, [self.pool.submit(bz2.decompress, block) for block in _blocks(content)], place)


class Pending:
    """A file that is being read.

    Attributes:
        path: of the file.
        place: where what it says is kept between commands; None: nowhere.
    """

    def __init__(self, path: Path | str, content: bytes, blocks: list[Future[bytes]], place: Path | None = None) -> None:
        self.path, self.place = path, place
        self._content = content
        self._blocks = blocks

    def wait(self) -> bytes:
        """The text of the file.

        Raises:
            UserError: it cannot be decompressed, or ends early.
        """
        suffix = Path(self.path).suffix
        try:
            if self._blocks:
                return b"".join([block.result() for block in self._blocks])
        except (OSError, ValueError, EOFError):
            pass  # a chance pattern inside a block: read it in sequence
        try:
            if suffix == ".bz2":
                return _decompress(self._content)
            return gzip.decompress(self._content) if suffix == ".gz" else self._content
        except (EOFError, ValueError) as error:
            raise UserError(self.path, "the file ends early; it was cut short.", "Fetch or make it again.") from error
        except (OSError, zlib.error) as error:
            raise UserError(self.path, f"cannot be decompressed ({error}).", "Fetch or make it again.") from error

    def columns(self, names: Sequence[str], parse: Callable[[bytes], arrow.Table | None]) -> arrow.Table | None:
        """The columns of the file, as an earlier command kept them, or else parsed and kept.

        Args:
            names: of the columns; a file may be kept as another kind of file than it is read as now.
            parse: the text of the file -> its columns, or None where it is not to be read this way.

        Raises:
            UserError: as ``wait``.
        """
        table = load(self.place) if self.place else None
        if table is not None and table.column_names == list(names):
            return table
        table = parse(self.wait())
        if table is not None and self.place:
            keep(self.place, table)
        return table


def _decompress(content: bytes) -> bytes:
    """All streams of a bzip2 file; the standard library passes over what follows the first and is none.

    Raises:
        EOFError: a stream ends early.
        OSError: something is not a stream.
    """
    found = []
    while content:
        stream = bz2.BZ2Decompressor()
        found.append(stream.decompress(content))
        if not stream.eof:
            raise EOFError
        content = stream.unused_data
    return b"".join(found)


def _blocks(content: bytes) -> list[bytes]:
    """Each block of a bzip2 file as a file of its own; none where the file is not whole."""
    if not content.startswith(b"BZh"):
        return []
    begins = sorted([(place, _BLOCK) for place in _find(content, _BLOCK)] + [(place, _END) for place in _find(content, _END)])
    if not begins or begins[-1][1] != _END or -(-(begins[-1][0] + _MAGIC_BITS + 32) // 8) != len(content):
        return []
    ends = begins[1:]
    return [_alone(content, begin, end) for (begin, kind), (end, _) in zip(begins, ends, strict=False) if kind == _BLOCK]


def _find(content: bytes, magic: int) -> Iterator[int]:
    """The bits at which a pattern begins."""
    for offset in range(8):  # bits into a byte at which the pattern begins
        inner = 5 if offset else 6  # whole bytes inside the pattern
        needle = ((magic >> offset) & ((1 << 8 * inner) - 1)).to_bytes(inner, "big")
        at = content.find(needle)
        while at >= 0:
            begin = 8 * (at - (offset > 0)) + offset
            if begin >= 0 and _bits(content, begin, _MAGIC_BITS) == magic:
                yield begin
            at = content.find(needle, at + 1)


def _bits(content: bytes, begin: int, number: int) -> int:
    end = begin + number
    last = -(-end // 8)
    return (int.from_bytes(content[begin // 8 : last], "big") >> (8 * last - end)) & ((1 << number) - 1)


def _alone(content: bytes, begin: int, end: int) -> bytes:
    """A block with the head of a file before it, and its own checksum as the file's after it."""
    block = _bits(content, begin, end - begin)
    checksum = _bits(content, begin + _MAGIC_BITS, 32)
    length = end - begin + _MAGIC_BITS + 32
    padding = -length % 8
    whole = ((block << (_MAGIC_BITS + 32)) | (_END << 32) | checksum) << padding
    return b"BZh9" + whole.to_bytes((length + padding) // 8, "big")
