"""The items of the official release: its list, and the items whose targets it exchanged."""

from __future__ import annotations

import numpy as np
import pandas as pd

from worldprobe.benchmarks.ewok.materials.materials import MaterialsFiles
from worldprobe.benchmarks.ewok.materials.original_quirks import Rules
from worldprobe.benchmarks.ewok.vocabulary import OFFICIAL_TEXTS, TEXTS
from worldprobe.errors import UserError
from worldprobe.log import LOGGER

LISTED, REVERSED = "utils/items_in_results.csv", "utils/flagged_reverse.csv"


def apply_release_filter(items: pd.DataFrame, source: MaterialsFiles, rules: Rules) -> pd.DataFrame:
    """Keep the listed items; items are known by their four texts, whatever their ids.

    The list contains reversed items in their final form. We therefore first exchange the targets of
    every template of which some item is flagged (all its versions, as the paper's analysis does),
    then exclude. The original excludes first and exchanges single items, of which none is left by
    then.

    Raises:
        UserError: the materials have no such lists, or no item is left.
    """
    if not rules.exclude_first:
        LOGGER.warning(
            "--release-filter knows items by their exact texts; without --compat many of the"
            " released items are not built"
        )
    listed, flagged = (_read_texts(source, name) for name in (LISTED, REVERSED))
    if rules.exclude_first:
        kept = items[_are_in(items, listed)]
        filtered = exchange_targets(kept, _are_in(kept, flagged))
    else:
        template = [items["domain"], items["meta_template"], items["template"]]
        is_reversed = pd.Series(_are_in(items, flagged), items.index).groupby(template)
        exchanged = exchange_targets(items, is_reversed.transform("any").to_numpy())
        filtered = exchanged[_are_in(exchanged, listed)]
    if filtered.empty:
        raise UserError(
            source.path,
            f"no item of these materials is in {LISTED}, the list of released items.",
            "Leave out --release-filter, or add --compat: it knows items by their exact texts.",
        )
    return filtered


def exchange_targets(items: pd.DataFrame, where: np.ndarray) -> pd.DataFrame:
    """The items with the two targets exchanged in some rows.

    Args:
        items: of which the result is a copy.
        where: which rows, shape (n,).
    """
    exchanged = items.copy()
    swapped = items.loc[where, ["target2", "target1"]].to_numpy()
    exchanged.loc[where, ["target1", "target2"]] = swapped
    return exchanged


def _are_in(items: pd.DataFrame, texts: pd.MultiIndex) -> np.ndarray:
    return pd.MultiIndex.from_frame(items[list(TEXTS)]).isin(texts)


def _read_texts(source: MaterialsFiles, name: str) -> pd.MultiIndex:
    """The four texts of each item that materials list in a file."""
    if name not in source.names:
        raise UserError(
            source.path,
            f"contains no {name}, which the release filter needs.",
            "Leave out --release-filter for these materials.",
        )
    columns = list(OFFICIAL_TEXTS)
    return pd.MultiIndex.from_frame(source.read_list(name, columns)[columns])
