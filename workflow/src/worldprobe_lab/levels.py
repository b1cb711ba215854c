"""Accuracy at each level of families of templates, and slopes over levels (not in the papers)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from worldprobe.analysis.clusters import Estimates, crossed_means
from worldprobe.benchmarks.ewok.analysis.panel import build_panel
from worldprobe.benchmarks.ewok.analysis.summarize import metric_values
from worldprobe.benchmarks.ewok.vocabulary import FAMILY
from worldprobe.errors import UserError

#: Families whose levels are kinds, not amounts: what a slope would be for others is a sum of levels
#: by these weights, less a number. Of ``belief``, who always says where the thing is, or always
#: where it was put, has one half over both kinds of change; of ``distraction``, the second sentence
#: is compared with a neutral one.
KINDS: dict[str, tuple[dict[int, float], float]] = {
    "belief": ({1: 0.5, 2: 0.5}, 0.5),
    "distraction": ({1: -1.0, 2: 1.0}, 0.0),
}
#: Our levels of these: a family of somebody else's with the same name may count something.
_LEVELS = {"belief": range(4), "distraction": range(3)}


def kinds_of(family: str, levels: Iterable[float]) -> tuple[dict[int, float], float] | None:
    """The weights of ``KINDS``; None of a family that is none of ours, or has other levels.

    >>> kinds_of("belief", [0, 1, 2]) == KINDS["belief"], kinds_of("belief", [1, 2, 3, 4])
    (True, None)
    """
    is_ours = {*levels} <= {*_LEVELS.get(family, ())}
    return KINDS[family] if is_ours else None


def measure_families(judgements: pd.DataFrame, items: pd.DataFrame) -> pd.DataFrame:
    """Mean accuracy at each level of each family, and the slope over levels, or the contrast of
    levels that are kinds.

    The levels of a base have the same targets and fillers. So the slope is within bases: of
    accuracy on the level by least squares in each base and version, then their mean; a contrast
    (``KINDS``) likewise. Bases are random factors (``analysis.clusters``); versions are not, as
    each base is filled on its own.

    Args:
        judgements: contracts.Judgements of items of families, of any number of models and eval
            types.
        items: contracts.Items, these items.

    Returns:
        FamilyLevels.

    Raises:
        UserError: an item is of no family.
    """
    panel = build_panel(judgements)
    row_numbers = pd.Index(items["item_id"]).get_indexer(panel.items["item_id"])
    design = items[[*FAMILY, "version"]].iloc[row_numbers].reset_index(drop=True)
    if design["family"].isna().any():
        raise UserError(
            "items", "some are of no family.", "Give items that were built with --families."
        )
    accuracy = metric_values(panel)[0].astype(float)

    def block(
        family: str, level: float, estimates: Estimates, positions: np.ndarray
    ) -> pd.DataFrame:
        counts = {
            "n_items": panel.is_present[:, positions].any(axis=2).sum(axis=1),
            "n_ties": panel.is_tie[:, positions].sum(axis=(1, 2)),
            "n_missing": panel.is_missing[:, positions].sum(axis=(1, 2)),
        }
        columns = {
            name: getattr(estimates, name)
            for name in ("mean", "ci_low", "ci_high", "p", "detectable", "status")
        }
        return panel.series.assign(
            family=family, level=level, **columns, n_bases=estimates.n_clusters, **counts
        )

    tables = []
    for family, rows in design.groupby("family", sort=True):
        base, of_family = pd.factorize(rows["base"])[0], rows.index.to_numpy()
        levels = rows["level"].to_numpy(float)
        for level in np.unique(levels):
            here = of_family[levels == level]
            at_level = crossed_means(
                accuracy[:, here], base[levels == level], tested=False, bounds=(0.0, 1.0)
            )
            tables.append(block(str(family), level, at_level, here))
        within = accuracy[:, of_family], levels, base, rows["version"].to_numpy()
        slopes, owner = slopes_within(*within, kinds_of(str(family), levels))
        tables.append(block(str(family), np.nan, crossed_means(slopes, owner), of_family))
    return pd.concat(tables, ignore_index=True).astype({"level": "Int64"})


def slopes_within(
    values: np.ndarray,
    level: np.ndarray,
    base: np.ndarray,
    version: np.ndarray,
    kinds: tuple[dict[int, float], float] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Least-squares slopes on the level within each base and version that has two levels; or sums
    of levels, where all that have a weight are there.

    Args:
        values: shape (series, n).
        level: of each value, shape (n,).
        base: its base, shape (n,).
        version: its version, shape (n,).
        kinds: weights of levels, and what is taken from their sum.

    Returns:
        The slopes, shape (series, cells), missing where a value of the cell is; and the base of
        each cell.

    >>> slopes_within(
    ...     np.array([[1.0, 0.5, 0.0]]),
    ...     np.array([1.0, 2.0, 3.0]),
    ...     np.zeros(3, int),
    ...     np.zeros(3, int),
    ... )
    (array([[-0.5]]), array([0]))
    """
    slopes, owner = [], []
    cell = (
        pd.DataFrame({"base": base, "version": version})
        .groupby(["base", "version"], sort=True)
        .ngroup()
        .to_numpy()
    )
    for number in range(cell.max() + 1):
        positions = np.flatnonzero(cell == number)
        if kinds is not None:
            weights, constant = (
                np.array([kinds[0].get(at, 0.0) for at in level[positions]]),
                kinds[1],
            )
            is_whole = {*kinds[0]} <= {*level[positions]}
        else:
            from_mean = level[positions] - level[positions].mean()
            is_whole = bool(from_mean.any())
            weights, constant = from_mean / max((from_mean**2).sum(), 1e-300), 0.0
        if is_whole:
            used = np.flatnonzero(weights)
            slopes.append(values[:, positions[used]] @ weights[used] - constant)
            owner.append(base[positions[0]])
    return np.array(slopes).reshape(len(owner), len(values)).T, np.array(owner, dtype=int)
