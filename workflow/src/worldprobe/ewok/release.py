"""The release filter of EWoK-core-1.0: only the items for which the paper has results (materials' ``utils`` folder)."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

import pandas as pd

from worldprobe.errors import UserError
from worldprobe.ewok.rules import Rules
from worldprobe.ewok.source import Source

LISTED, REVERSED = "utils/items_in_results.csv", "utils/flagged_reverse.csv"
_TEXTS = ("Context1", "Context2", "Target1", "Target2")


def apply_release_filter(items: pd.DataFrame, source: Source, rules: Rules) -> pd.DataFrame:
    """Keep the listed items; items are known by their four texts, whatever their ids.

    The lists hold the reversed items in their final form. We therefore exchange their targets first; the original excluded
    first, and so lost them.

    Raises:
        UserError: the materials have no such lists.
    """
    listed = set(_texts(source, LISTED))
    reversed_items = set(_texts(source, REVERSED))

    def exchange(frame: pd.DataFrame) -> pd.DataFrame:
        flagged = [texts in reversed_items for texts in _rows(frame)]
        frame = frame.copy()
        frame.loc[flagged, ["target1", "target2"]] = frame.loc[flagged, ["target2", "target1"]].to_numpy()
        return frame

    def keep(frame: pd.DataFrame) -> pd.DataFrame:
        return frame[[texts in listed for texts in _rows(frame)]]

    return exchange(keep(items)) if rules.exclude_first else keep(exchange(items))


def _rows(frame: pd.DataFrame) -> Iterator[tuple[str, str, str, str]]:
    return zip(frame["context1"], frame["context2"], frame["target1"], frame["target2"], strict=True)


def _texts(source: Source, name: str) -> Iterator[tuple[str, ...]]:
    if name not in source.names:
        raise UserError(
            source.path, f"holds no {name}, which the release filter needs.", "Leave out --release-filter for these materials."
        )
    lines = source.read(name).decode("utf-8-sig").splitlines(keepends=True)
    reader = csv.reader(io.StringIO("".join(line for i, line in enumerate(lines) if i or not line.startswith("#"))))
    header = next(reader)
    try:
        columns = [header.index(column) for column in _TEXTS]
    except ValueError as error:
        raise UserError(name, f"lacks a column: {error}.", f"It needs the columns {', '.join(_TEXTS)}.") from error
    for row in reader:
        yield tuple(row[column] for column in columns)
