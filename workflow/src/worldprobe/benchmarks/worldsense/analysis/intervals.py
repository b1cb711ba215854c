"""Intervals of rebalanced means for other skins and abstract problems."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd

from worldprobe.analysis.clusters import Estimates, crossed_means
from worldprobe.analysis.components import VarianceComponent

#: What intervals of means over tuples take as random factors.
OVER = "skins and abstract problems"
_STRATUM = ["problem", "size", "complexity", "query"]


def spread_of_means(
    tuples: pd.DataFrame,
    scores: np.ndarray,
    by: Sequence[str],
    tested: bool = False,
    lowest: np.ndarray | None = None,
) -> Estimates:
    """Intervals of the rebalanced means by a grouping, groups in the order of
    ``statistics.average``.

    Args:
        tuples: with the columns of ``by``, problem, size, complexity, query, skin and core.
        scores: shape (series, tuples); missing (NaN) where a tuple was not answered.
        by: columns of the grouping; tuples where one of them is missing are in no group.
        tested: whether p is wanted, which takes most of the time.
        lowest: the smallest value that each series' mean can have, where the largest is 1; None: of
            differences.

    Returns:
        Arrays of the shape (series, groups); clusters are skins.
    """
    group = _code(tuples, list(by)) if by else np.zeros(len(tuples), int)
    columns = {"skin": ["skin"], "problem": ["problem"], "size": ["problem", "size"]}
    columns |= {"stratum": _STRATUM, "core": [*_STRATUM, "core"]}
    codes = {name: _code(tuples, keys) for name, keys in columns.items()}
    estimates = Estimates.empty((len(scores), int(group.max(initial=-1)) + 1))
    for number in range(estimates.mean.shape[1]):
        inside = np.flatnonzero(group == number)
        here = {name: code[inside] for name, code in codes.items()}
        part = crossed_means(
            scores[:, inside],
            here["skin"],
            stratum=here["size"],
            others=partial(_of_cores, here),
            tested=tested,
            bounds=None if lowest is None else (lowest, 1.0),
            outer=here["problem"],
        )
        estimates.put((slice(None), number), part)
    return estimates


def _of_cores(
    codes: dict[str, np.ndarray], present: np.ndarray, values: np.ndarray, share: np.ndarray
) -> list[VarianceComponent]:
    """The part of the variance that abstract problems add to that between skins."""
    skin, core, stratum = (
        np.unique(codes[name][present], return_inverse=True)[1].reshape(-1)
        for name in ("skin", "core", "stratum")
    )
    parts = (values - _cluster_means(values, stratum)) * share
    both = np.unique(core.astype(np.int64) * (int(skin.max()) + 1) + skin, return_inverse=True)[
        1
    ].reshape(-1)
    n_cores = np.bincount(_first(core, stratum))
    added = sum(
        sign * _within_strata(parts, cluster, stratum)[:, n_cores > 1].sum(axis=1)
        for sign, cluster in ((1, core), (-1, both))
    )
    return [VarianceComponent(np.maximum(added, 0), max(float((n_cores - 1).sum()), 1.0))]


def _within_strata(parts: np.ndarray, cluster: np.ndarray, stratum: np.ndarray) -> np.ndarray:
    """The variance between clusters within each stratum, shape (series, strata)."""
    cluster_stratum = _first(cluster, stratum)
    number = np.bincount(cluster_stratum)
    squares = np.apply_along_axis(
        lambda row: np.bincount(cluster_stratum, np.bincount(cluster, row) ** 2), 1, parts
    )
    return np.asarray(squares * np.where(number > 1, number / np.maximum(number - 1, 1), 0))


def _cluster_means(values: np.ndarray, code: np.ndarray) -> np.ndarray:
    """The mean of each value's class."""
    return np.asarray(
        np.apply_along_axis(
            lambda row: (np.bincount(code, row) / np.bincount(code))[code], 1, values
        )
    )


def _code(tuples: pd.DataFrame, columns: list[str]) -> np.ndarray:
    """The number of each tuple's class, in order; -1 where a column is missing."""
    return tuples.groupby(columns, sort=True, observed=True).ngroup().fillna(-1).to_numpy(int)


def _first(fine: np.ndarray, coarse: np.ndarray) -> np.ndarray:
    """The coarse code of each fine one, which lies in one coarse class only."""
    first = np.zeros(int(fine.max()) + 1, int)
    first[fine] = coarse
    return first
