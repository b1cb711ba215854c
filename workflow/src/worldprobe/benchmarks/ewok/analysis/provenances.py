"""Do tables belong together? Item ids are coordinates: the same id is another text after a swap or in other materials.

So tables are held together by what their provenance says they were computed from, not by ids alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from worldprobe.benchmarks.ewok.contracts import Judgements
from worldprobe.contracts import read_provenance, read_tables
from worldprobe.errors import UserError
from worldprobe.files import digest_file

#: name of the items table among a provenance's inputs.
ITEMS = "items"
FIX = "Give tables that were computed from the same items table, or recompute them."


def read_judgements(paths: Sequence[Path], columns: Sequence[str], others: Sequence[Path] = ()) -> pd.DataFrame:
    """Read judgements of the same items as one frame.

    Args:
        paths: judgements tables.
        columns: columns to read.
        others: further tables that must be of the same items, e.g. surface features.

    Raises:
        UserError: a file is not a judgements table, or the tables were computed from different items.
    """
    judgements = read_tables(paths, Judgements, columns)
    check_same_items([*paths, *others])
    return judgements


def check_same_items(paths: Sequence[Path]) -> None:
    """Raise UserError where the tables' provenance says that they were computed from different items tables.

    A table whose provenance does not name its items (imported results) is not compared.
    """
    first: tuple[Path, str] | None = None
    for path in paths:
        digest = read_provenance(path).inputs.get(ITEMS)
        if digest is None:
            continue
        if first is not None and digest != first[1]:
            raise UserError(path, f"was computed from other items than {first[0]}.", FIX)
        first = first or (path, digest)


def check_items(items: Path, paths: Sequence[Path]) -> None:
    """Raise UserError where a table's provenance says that it was computed from another items table than this file."""
    digest = digest_file(items)
    for path in paths:
        found = read_provenance(path).inputs.get(ITEMS)
        if found not in (None, digest):
            raise UserError(path, f"was computed from other items than those in {items}.", FIX)
