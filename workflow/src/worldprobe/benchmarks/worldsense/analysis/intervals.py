"""Intervals of rebalanced means for other skins and abstract problems."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from worldprobe.analysis.clusters import Estimates, near_ends, variance_of_mean
from worldprobe.analysis.components import (
    NO_VARIANCE,
    Components,
    VarianceComponent,
    interval,
    p_value,
)

#: Those of ``contracts.results.STATUSES`` that a mean over tuples can have.
OK, ONE_CLUSTER, NO_SPREAD = "ok", "one_cluster", "no_spread"
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
        tuples: with the columns of ``by``, problem, size, complexity, query, skin, and core where
            it is known.
        scores: shape (series, tuples); missing (NaN) where a tuple was not answered.
        by: columns of the grouping; tuples where one of them is missing are in no group.
        tested: whether p is wanted, which takes most of the time.
        lowest: the smallest value that each series' mean can have, where the largest is 1; None: of
            differences.

    Returns:
        Arrays of the shape (series, groups); clusters are skins.
    """
    group = _code(tuples, list(by)) if by else np.zeros(len(tuples), int)
    codes = {
        name: _code(tuples, columns)
        for name, columns in {"skin": ["skin"], "problem": ["problem"], "stratum": _STRATUM}.items()
    }
    codes["size"] = _code(tuples, ["problem", "size"])
    if "core" in tuples:
        codes["core"] = _code(tuples, [*_STRATUM, "core"])
    shape = (len(scores), int(group.max(initial=-1)) + 1)
    estimates = {
        name: np.full(shape, np.nan)
        for name in ("mean", "std_error", "ci_low", "ci_high", "p", "detectable")
    }
    n_skins, status = np.zeros(shape, int), np.full(shape, NO_SPREAD, object)
    patterns, which = np.unique(~np.isnan(scores), axis=0, return_inverse=True)
    for number, is_known in enumerate(patterns):
        series = np.flatnonzero(which.reshape(-1) == number)
        for group_code in range(shape[1]):
            inside = np.flatnonzero(is_known & (group == group_code))
            if not len(inside):
                continue
            here = {
                name: np.unique(code[inside], return_inverse=True)[1].reshape(-1)
                for name, code in codes.items()
            }
            share = _shares(here["problem"], here["size"])
            values = scores[np.ix_(series, inside)]
            mean = values @ share
            n_skins[series, group_code] = n = int(here["skin"].max()) + 1
            within_size = values - _cluster_means(values, here["size"])
            between, *others = _parts(values, within_size, share, here)
            components = Components(between, others=tuple(others))
            spread = between.variance > NO_VARIANCE
            status[series, group_code] = np.where(spread, OK, NO_SPREAD) if n > 1 else ONE_CLUSTER
            estimates["mean"][series, group_code] = mean
            estimates["std_error"][series[spread], group_code] = np.sqrt(components.variance)[
                spread
            ]
            if n == 1:
                continue
            if lowest is None:
                chosen, drawn = components.only(spread), series[spread]
                ends = interval(mean[spread], chosen)
            else:
                chosen, drawn = near_ends(components, within_size, share, here["skin"]), series
                ends = interval(mean, chosen, (lowest[series], 1.0), n)
            estimates["ci_low"][drawn, group_code], estimates["ci_high"][drawn, group_code] = ends
            if tested:
                chosen, drawn = components.only(spread), series[spread]
                estimates["p"][drawn, group_code] = p_value(mean[spread], chosen)
                estimates["detectable"][drawn, group_code] = chosen.detectable()
    ones = np.ones(shape, int)
    estimates |= {
        "n_versions": ones,
        "enough_versions": 0 * ones,
        "p_versions": ones * np.nan,
        "test": np.where(np.isnan(estimates["p"]), "", "t").astype(object),
        "over_versions": ones < 1,
    }
    return Estimates(**estimates, status=status, n_clusters=n_skins)


def _shares(problem: np.ndarray, size: np.ndarray) -> np.ndarray:
    """The weight of each tuple in the mean: sizes weigh equally in a problem, and problems in the
    mean.
    """
    of_size = np.zeros(int(size.max()) + 1, int)
    of_size[size] = problem
    n_sizes = np.bincount(of_size)
    return np.asarray(1 / (np.bincount(size)[size] * n_sizes[problem] * len(n_sizes)))


def _parts(
    values: np.ndarray, within_size: np.ndarray, share: np.ndarray, codes: dict[str, np.ndarray]
) -> list[VarianceComponent]:
    """The variance between skins, and what abstract problems add."""
    between = variance_of_mean(within_size, share, codes["skin"])
    if "core" not in codes:
        return [between]
    parts = (values - _cluster_means(values, codes["stratum"])) * share
    core, stratum = codes["core"], codes["stratum"]
    both = np.unique(
        core.astype(np.int64) * (int(codes["skin"].max()) + 1) + codes["skin"], return_inverse=True
    )[1].reshape(-1)
    n_cores = np.bincount(_first(core, stratum))
    added = sum(
        sign * _within_strata(parts, cluster, stratum)[:, n_cores > 1].sum(axis=1)
        for sign, cluster in ((1, core), (-1, both))
    )
    return [between, VarianceComponent(np.maximum(added, 0), max(float((n_cores - 1).sum()), 1.0))]


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
