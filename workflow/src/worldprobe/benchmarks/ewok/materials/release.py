"""The release filter of EWoK-core-1.0: only the items for which the paper has results (materials' ``utils`` folder)."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from worldprobe.benchmarks.ewok.materials.rules import Rules
from worldprobe.benchmarks.ewok.materials.source import Source
from worldprobe.benchmarks.ewok.vocabulary import OFFICIAL_TEXTS, TEXTS
from worldprobe.commented_csv import read_frame
from worldprobe.errors import UserError

LISTED, REVERSED = "utils/items_in_results.csv", "utils/flagged_reverse.csv"


def apply_release_filter(items: pd.DataFrame, source: Source, rules: Rules) -> pd.DataFrame:
    """Keep the listed items; items are known by their four texts, whatever their ids.

    The list contains reversed items in their final form. We therefore first exchange the targets of every template of which some
    item is flagged (all its versions, as the paper's analysis does), then exclude. The original excludes first and exchanges
    single items, of which none is left by then.

    Raises:
        UserError: the materials have no such lists, or no item is left.
    """
    listed = set(_texts(source, LISTED))
    flagged = set(_texts(source, REVERSED))
    if rules.exclude_first:
        kept = _some(items[[texts in listed for texts in _rows(items)]], source)
        return _exchange_targets(kept, [texts in flagged for texts in _rows(kept)])
    names = list(zip(*(items[column].tolist() for column in ("domain", "meta_template", "template")), strict=True))
    templates = {name for name, texts in zip(names, _rows(items), strict=True) if texts in flagged}
    exchanged = _exchange_targets(items, [name in templates for name in names])
    return _some(exchanged[[texts in listed for texts in _rows(exchanged)]], source)


def _some(items: pd.DataFrame, source: Source) -> pd.DataFrame:
    if items.empty:
        problem = f"no item of these materials is in {LISTED}, the list of released items."
        raise UserError(source.path, problem, "Leave out --release-filter, or add --compat: it knows items by their exact texts.")
    return items


def _exchange_targets(items: pd.DataFrame, where: list[bool]) -> pd.DataFrame:
    if not any(where):
        return items
    exchanged = items.copy()
    exchanged.loc[where, ["target1", "target2"]] = items.loc[where, ["target2", "target1"]].to_numpy()
    return exchanged


def _rows(frame: pd.DataFrame) -> Iterator[tuple[str, ...]]:
    return zip(*(frame[text].tolist() for text in TEXTS), strict=True)


def _texts(source: Source, name: str) -> Iterator[tuple[str, ...]]:
    if name not in source.names:
        raise UserError(
            source.path, f"contains no {name}, which the release filter needs.", "Leave out --release-filter for these materials."
        )
    where = f"{source.path}, {name}"
    frame = read_frame(where, source.read(name))
    absent = [column for column in OFFICIAL_TEXTS if column not in frame]
    if absent:
        raise UserError(where, f"has no column {absent[0]}.", f"It needs the columns {', '.join(OFFICIAL_TEXTS)}.")
    return zip(*(frame[column].tolist() for column in OFFICIAL_TEXTS), strict=True)
