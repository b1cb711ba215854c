"""Items written as they are made: any number of them in little memory, the same bytes as of a table that is written at once."""

from __future__ import annotations

import hashlib
import itertools
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as arrow

from worldprobe.benchmarks.ewok.contracts import Items
from worldprobe.benchmarks.ewok.materials.items import COLUMNS, Row
from worldprobe.benchmarks.ewok.vocabulary import TEXTS
from worldprobe.contracts import ROWS_TOGETHER, open_table
from worldprobe.errors import UserError
from worldprobe.files import whole_file
from worldprobe.provenance import Provenance

TAGS = COLUMNS.index("tags")
_PLACE = [COLUMNS.index(name) for name in ("domain", "meta_template", "template", "version")]
_TEXTS = [COLUMNS.index(name) for name in TEXTS]


def write_stream(rows: Iterable[Row], path: Path, provenance: Callable[[int], Provenance]) -> tuple[int, int]:
    """Write the items table; duplicates are known at the end only, so rows wait in an unnamed file.

    Args:
        rows: in the order of the table.
        path: the table.
        provenance: called after the last row with the number of duplicates.

    Returns:
        Number of items, and how many of them have the texts of another.

    Raises:
        UserError: there is no row, or the table cannot be written.
    """
    copies = _Copies()
    with whole_file(path) as temporary, tempfile.TemporaryFile(dir=temporary.parent) as spool:
        for batch in _batches(rows):
            copies.add(batch)
            table = _as_arrow(batch)
            if not spool.tell():
                writer = arrow.ipc.new_stream(spool, table.schema, options=arrow.ipc.IpcWriteOptions(compression="lz4"))
            writer.write_table(table)
        if not copies.n_rows:
            raise UserError("items", "no item is left.", "Check filter and swaps against the slots of the templates.")
        writer.close()
        first = copies.first()
        spool.seek(0)
        with open_table(Items, temporary, provenance(len(first))) as write:
            start = 0
            for table in _tables(spool):
                frame = table.to_pandas()
                names = [first.get(number) for number in range(start, start + len(frame))]
                write(frame.assign(duplicate_of=pd.Series(names, index=frame.index, dtype="str")))
                start += len(frame)
    return copies.n_rows, len(first)


def _as_arrow(rows: list[Row]) -> arrow.Table:
    """``items_table`` without the way through pandas, which costs more than all else that is done with the rows here."""
    kinds = [arrow.int64() if isinstance(value, int) else arrow.large_string() for value in rows[0]]
    return arrow.table([arrow.array(values, kind) for values, kind in zip(zip(*rows, strict=True), kinds, strict=True)], COLUMNS)


def _batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    taken = iter(rows)
    while batch := list(itertools.islice(taken, ROWS_TOGETHER)):
        yield batch


def _tables(spool) -> Iterator[arrow.Table]:  # type: ignore[no-untyped-def]
    """One table per batch that was written."""
    with arrow.ipc.open_stream(spool) as reader:
        for batch in reader:
            yield arrow.Table.from_batches([batch])


class _Copies:
    """Which items have the four texts of another, told by digests: 16 bytes an item instead of its texts."""

    def __init__(self) -> None:
        self.n_rows = 0
        self._digests = bytearray()
        self._templates: dict[tuple[object, ...], int] = {}
        self._template_of, self._version_of = array("l"), array("l")

    def add(self, rows: list[Row]) -> None:
        """The next rows."""
        for row in rows:
            texts = "\0".join(str(row[i]) for i in _TEXTS)
            self._digests += hashlib.blake2b(texts.encode(), digest_size=16).digest()
            *template, version = (row[i] for i in _PLACE)
            self._template_of.append(self._templates.setdefault(tuple(template), len(self._templates)))
            self._version_of.append(int(str(version)))
        self.n_rows += len(rows)

    def first(self) -> dict[int, str]:
        """Row -> id of the first item (by template, then version) with its texts, for every row that is not itself the first."""
        names = sorted(self._templates)
        rank = np.empty(len(names), dtype=int)
        rank[[self._templates[name] for name in names]] = np.arange(len(names))
        templates, versions = (
            rank[np.frombuffer(self._template_of, dtype=np.int_)],
            np.frombuffer(self._version_of, dtype=np.int_),
        )
        halves = np.frombuffer(bytes(self._digests), dtype=np.uint64).reshape(-1, 2)
        order = np.lexsort((versions, templates, halves[:, 1], halves[:, 0]))
        is_new = np.ones(len(order), dtype=bool)
        is_new[1:] = (halves[order[1:]] != halves[order[:-1]]).any(axis=1)
        starts = order[np.maximum.accumulate(np.where(is_new, np.arange(len(order)), 0))]
        found = {}
        for row, begin in zip(order[~is_new].tolist(), starts[~is_new].tolist(), strict=True):
            domain, meta_template, template = names[templates[begin]]
            found[row] = f"{domain}_{meta_template}_{template}_v{versions[begin]}"
        return found
