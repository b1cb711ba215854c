"""Items whose four texts another item has, in a table or while it is written."""

from __future__ import annotations

import hashlib
import itertools
import pickle
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from worldprobe.benchmarks.ewok.contracts import Items
from worldprobe.benchmarks.ewok.materials.filling import Row, items_table
from worldprobe.benchmarks.ewok.vocabulary import TEXTS
from worldprobe.contracts import ROWS_TOGETHER, open_table
from worldprobe.errors import UserError
from worldprobe.files import whole_file
from worldprobe.provenance import Provenance

#: In this order an item is the first of those with the same texts.
_ORDER = ["domain", "meta_template", "template", "version"]


def flag_duplicates(items: pd.DataFrame) -> pd.DataFrame:
    """Name, for each item whose four texts another item has, the first such item (by template, then
    version).
    """
    ordered = items.sort_values(_ORDER)
    first = ordered.groupby(list(TEXTS))["item_id"].transform("first")
    return items.assign(duplicate_of=first.where(first != ordered["item_id"]))


def repeated_versions(items: pd.DataFrame) -> dict[int, int]:
    """Versions whose texts are all those of an earlier version, template by template -> the earlier
    one.
    """
    seen: dict[tuple[object, ...], int] = {}
    repeats = {}
    for version, rows in items.sort_values(["domain", "meta_template", "template"]).groupby(
        "version", sort=True
    ):
        first = seen.setdefault(tuple(rows[list(TEXTS)].to_numpy().ravel()), int(str(version)))
        if first != version:
            repeats[int(str(version))] = first
    return repeats


def write_stream(
    rows: Iterable[Row], path: Path, provenance: Callable[[int], Provenance]
) -> tuple[int, int]:
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
    digests: list[bytes] = []  # of every row's texts
    first: dict[bytes, tuple[Any, ...]] = {}  # digest -> place of the first item with these texts
    taken = iter(rows)
    with whole_file(path) as temporary, tempfile.TemporaryFile(dir=temporary.parent) as spool:
        while batch := list(itertools.islice(taken, ROWS_TOGETHER)):
            frame = items_table(batch)
            pickle.dump(frame, spool)
            keys = frame[_ORDER].itertuples(index=False, name=None)
            for texts, key in zip(frame[list(TEXTS)].to_numpy(), keys, strict=True):
                digest = hashlib.blake2b("\0".join(texts).encode(), digest_size=16).digest()
                digests.append(digest)
                first[digest] = min(key, first.get(digest, key))
        if not digests:
            raise UserError(
                "items",
                "no item is left.",
                "Check filter and swaps against the slots of the templates.",
            )
        spool.seek(0)
        n_duplicates = len(digests) - len(first)
        with open_table(Items, temporary, provenance(n_duplicates)) as write:
            for start in range(0, len(digests), ROWS_TOGETHER):
                frame = pickle.load(spool)
                together = digests[start : start + ROWS_TOGETHER]
                names = pd.Series(["{}_{}_{}_v{}".format(*first[digest]) for digest in together])
                write(frame.assign(duplicate_of=names.where(names != frame["item_id"])))
    return len(digests), n_duplicates
