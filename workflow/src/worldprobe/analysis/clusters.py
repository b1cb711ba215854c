"""Means of values that share random things: an interval and a test that hold for other draws of
these things.

A benchmark's values share clusters (pairs of concepts, skins), and often versions too: the fillings
of a version are in every template, so a kind filling moves all of them together. Both are samples
of what might have been used, and they cross. The variance of a mean has a part of each, and a part
of each cell:

- clusters: squared sums of each cluster's weighted residuals (Liang & Zeger 1986), without bias and
  with the degrees of freedom of Bell & McCaffrey (2002) where the means of clusters vary alike;
  with equal clusters these are their number less one;
- versions: the same of the versions' means;
- both contain the variance of the cells, which counts once, as in a two-way analysis of variance.

Each part has degrees of freedom of its own, which ``analysis.components`` makes an interval and a
test of. Simulated in ``docs/simulations/intervals.py`` and ``comparisons.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import fdtrc

from worldprobe.analysis.components import (
    NO_VARIANCE,
    Components,
    VarianceComponent,
    enough_versions,
    interval,
    p_value,
)
from worldprobe.analysis.sign_flips import can_flip, flip_signs, variances

#: Of so many series, sums are added one series after the other, in the same order: a sparse matrix
#: takes longer to make.
FEW_SERIES = 100
#: The smallest value that a mean can have, of each series or of all, and the largest.
Bounds = tuple[np.ndarray | float, float]
#: Places of known values, these, shape (series, n), and their weights in the mean -> further parts
#: of the variance of each mean.
Parts = Callable[[np.ndarray, np.ndarray, np.ndarray], Sequence[VarianceComponent]]


@dataclass(frozen=True)
class Estimates:
    """Means of several series; every array has the shape (series,).

    Attributes:
        mean: the mean over strata and versions of the weighted means in them.
        std_error: its standard error.
        ci_low, ci_high: 95% interval; missing with one cluster and, without bounds, where all
            clusters are alike.
        p: two-sided, that the mean is 0; missing where ``status`` is not ok.
        test: what p and the interval are by: ``t``, or ``sign_flips``; empty where p is missing.
        detectable: the smallest true mean that the test finds in 80% of samples such as this one;
            missing where p is.
        enough_versions: with how many versions half of this would be found; 0: with none, or
            versions are not random.
        status: ok; one_version: the interval is about the fillings of this version only, and there
            is no test; one_cluster: nothing says how another would come out; no_spread: all
            clusters are alike, so their variance is not known, and an interval within bounds is
            that of as many independent values as there are clusters; no_values.
        n_clusters, n_versions: that have a value.
        p_versions: that versions do not differ, by the F test of versions against their cells with
            clusters; missing where there are no two versions.
        over_versions: whether the interval is for other versions too.
    """

    mean: np.ndarray
    std_error: np.ndarray
    ci_low: np.ndarray
    ci_high: np.ndarray
    p: np.ndarray
    test: np.ndarray
    detectable: np.ndarray
    enough_versions: np.ndarray
    status: np.ndarray
    n_clusters: np.ndarray
    n_versions: np.ndarray
    p_versions: np.ndarray
    over_versions: np.ndarray

    @classmethod
    def empty(cls, shape: int | tuple[int, ...]) -> Estimates:
        """Those of series without values, or of series in groups."""
        fills: dict[str, tuple[Any, type]] = {
            "test": ("", object),
            "status": ("no_values", object),
            "over_versions": (False, bool),
            **dict.fromkeys(("enough_versions", "n_clusters", "n_versions"), (0, int)),
        }
        return cls(
            **{
                field.name: np.full(shape, *fills.get(field.name, (np.nan, float)))
                for field in fields(cls)
            }
        )

    def put(self, series: Any, part: Estimates) -> None:
        """Write the estimates of some series into these.

        Args:
            series: their numbers here, or what else indexes the arrays.
            part: of these series alone.
        """
        for field in fields(self):
            getattr(self, field.name)[series] = getattr(part, field.name)


def crossed_means(
    values: np.ndarray,
    cluster: np.ndarray,
    version: np.ndarray | None = None,
    stratum: np.ndarray | None = None,
    weight: np.ndarray | None = None,
    others: Sequence[VarianceComponent] | Parts = (),
    tested: bool = True,
    bounds: Bounds | None = None,
    is_random: np.ndarray | None = None,
    outer: np.ndarray | None = None,
) -> Estimates:
    """Means of series of values, with clusters and, where given, versions as crossed random
    factors.

    Args:
        values: shape (series, n); missing values (NaN) are left out of their series. For a
            comparison, the differences.
        cluster: label of each value's cluster, shape (n,): the random factor.
        version: label of each value's version, shape (n,), where versions are a random factor too;
            None: no such factor. One version only is a claim about this version: ``status`` says
            so.
        stratum: label of each value's stratum, shape (n,), where these are the ones that matter
            (problems, sizes); None: one. Versions and strata weigh equally.
        weight: of each value within its version and stratum, shape (n,) or (series, n), above 0,
            the same in series with the same known values; None: all the same.
        others: further parts of the variance of each mean, where versions are random but not those
            of these values, or what computes them.
        tested: False leaves p missing, which takes most of the time.
        bounds: the smallest and the largest possible value, of each series or of all, where
            intervals are to stay within them.
        is_random: with versions, in which series they are a random factor, shape (series,), as an
            F test says; in the others they are strata. None: in all, by design.
        outer: without versions, label of what each value's stratum lies in, shape (n,): these weigh
            equally, whatever the number of their strata.

    Returns:
        One estimate per series.
    """
    n_series, n = values.shape
    estimates = Estimates.empty(n_series)
    weight = np.broadcast_to(np.ones(n) if weight is None else weight, values.shape)
    for present, series in _by_known_values(values):
        shared = weight[series[0], present].astype(float)
        member = np.unique(cluster[present], return_inverse=True)[1]
        versions, *strata = (_codes(labels, present) for labels in (version, outer, stratum))
        ends = None if bounds is None else (np.broadcast_to(bounds[0], n_series)[series], bounds[1])
        chosen = values[np.ix_(series, present)].astype(float)
        random = None if is_random is None else is_random[series]
        share, inner = _weighed(chosen, shared, versions, *strata)
        further = (
            others(present, chosen, share)
            if callable(others)
            else [VarianceComponent(other.variance[series], other.df) for other in others]
        )
        estimates.put(
            series,
            _estimate(chosen, inner, member, versions, share, further, tested, ends, random),
        )
    return estimates


def _codes(labels: np.ndarray | None, present: np.ndarray) -> np.ndarray | None:
    """Numbers from 0 for the labels of values that are known."""
    return None if labels is None else np.unique(labels[present], return_inverse=True)[1]


def _weighed(
    values: np.ndarray,
    weight: np.ndarray,
    version: np.ndarray | None,
    outer: np.ndarray | None,
    stratum: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray]:
    """The weight of each value in the mean, and values less the mean of their stratum in their
    version.
    """
    zeros = np.zeros(values.shape[1], int)
    version = outer if version is None else version
    cell = np.unique(
        np.stack([zeros if codes is None else codes for codes in (version, stratum)]),
        axis=1,
        return_inverse=True,
    )
    cell_code = cell[1].reshape(-1)
    cells = np.bincount(cell_code, weight)
    in_version = np.bincount(cell[0][0])  # strata of each version
    share = weight / cells[cell_code] / (in_version[cell[0][0]] * len(in_version))[cell_code]
    return share, values - (sum_by_code(values * weight, cell_code) / cells)[:, cell_code]


def variance_of_mean(
    residual: np.ndarray, share: np.ndarray, unit: np.ndarray
) -> VarianceComponent:
    """The part of the variance of a mean that is due to one random factor.

    Args:
        residual: values less their mean, shape (series, n).
        share: weight of each value in the mean, shape (n,), summing to 1.
        unit: code of each value's unit, 0 to the number of units - 1, every code in use.
    """
    g = np.bincount(unit, share)
    scale, df = bell_mccaffrey(g)
    return VarianceComponent(scale * (sum_by_code(residual * share, unit) ** 2).sum(axis=1), df)


def near_ends(
    components: Components, residual: np.ndarray, share: np.ndarray, unit: np.ndarray
) -> Components:
    """The same with the degrees of freedom of the clusters that the fourth moment of their sums
    leaves (Valliant & Rust 2010).

    Args:
        components: of the variance of means.
        residual: values less their mean, shape (series, n).
        share: weight of each value in the mean, shape (n,), summing to 1.
        unit: code of each value's cluster.
    """
    squares = sum_by_code(residual * share, unit) ** 2
    whole = squares.sum(axis=1) ** 2
    spread = np.maximum(
        (squares**2).sum(axis=1) - whole / squares.shape[1], 1e-60
    )  # of the sum of squares
    df = np.clip(2 * whole / spread, 1, components.clusters.df)
    return replace(components, clusters=VarianceComponent(components.clusters.variance, df))


def _estimate(
    values: np.ndarray,
    inner: np.ndarray,
    cluster: np.ndarray,
    version: np.ndarray | None,
    share: np.ndarray,
    others: Sequence[VarianceComponent],
    tested: bool,
    bounds: Bounds | None,
    is_random: np.ndarray | None,
) -> Estimates:
    """As ``crossed_means``, of codes and what ``_weighed`` gives, where no value is missing."""
    mean = (values * share).sum(axis=1)
    n_clusters, n_versions = (
        int(cluster.max()) + 1,
        1 if version is None else int(version.max()) + 1,
    )
    number = np.ones(len(values), int)
    is_over = number * (n_versions > 1) == 1 if is_random is None else is_random & (n_versions > 1)
    of_clusters = variance_of_mean(inner, share, cluster)
    components, p_versions = (
        Components(of_clusters, others=tuple(others), is_pretested=is_random is not None),
        np.full(len(values), np.nan),
    )
    if version is not None and n_versions > 1:
        outer = sum_by_code(values * share, version) * n_versions - mean[:, None]
        of_versions = variance_of_mean(
            outer, np.full(n_versions, 1 / n_versions), np.arange(n_versions)
        )
        of_cells = _variance_of_cells(inner * share, share, cluster, version)
        components = replace(components, versions=of_versions, cells=of_cells)
        df = (n_versions - 1) * bell_mccaffrey(np.bincount(cluster, share))[1]
        with np.errstate(divide="ignore", invalid="ignore"):
            p_versions = np.where(
                of_cells > NO_VARIANCE,
                fdtrc(n_versions - 1, df, of_versions.variance / of_cells),
                np.nan,
            )
    as_tested = components if components.versions is None else components.random_in(is_over)
    std_error = np.sqrt(as_tested.variance)
    low, high = interval(
        mean,
        as_tested if bounds is None else near_ends(as_tested, inner, share, cluster),
        bounds,
        n_clusters,
        bounds is not None
        and not others
        and len(share) == n_clusters
        and np.ptp(share) < 1e-12
        and _are_ends(values, bounds),
    )
    is_flat = of_clusters.variance < NO_VARIANCE
    is_about_one = is_random is None and version is not None and n_versions == 1
    status = np.where(is_flat, "no_spread", "one_version" if is_about_one else "ok").astype(object)
    if n_clusters == 1:
        status[:] = "one_cluster"
    is_ok = status == "ok"
    p, detectable = np.full(len(values), np.nan), np.full(len(values), np.nan)
    enough, test = np.zeros(len(values), int), np.full(len(values), "", object)
    if tested and is_ok.any():
        p[is_ok], test[is_ok] = p_value(mean[is_ok], as_tested.only(is_ok)), "t"
        shares = np.bincount(cluster, share)
        is_by_design = version is not None and is_random is None
        if can_flip(shares) and not (others or is_by_design):
            sums, flipped = sum_by_code(values * share, cluster), is_ok & ~is_over
            test[flipped] = "sign_flips"
            p[flipped], low[flipped], high[flipped] = flip_signs(sums[flipped], shares)
            variance, within = variances(sums, shares)
            clusters = replace(
                of_clusters, variance=np.where(is_over, of_clusters.variance, variance)
            )
            components = replace(
                components,
                clusters=clusters,
                cells=components.cells / inflation(shares),
                inflation=inflation(shares),
                shares=shares,
                within=within,
            )
        of_tested = components.only(is_ok)
        detectable[is_ok] = of_tested.detectable()
        if n_versions > 1:
            enough[is_ok] = enough_versions(of_tested, n_versions, detectable[is_ok] / 2)
    is_spread = is_ok | (status == "one_version")
    std_error = np.where(is_spread, std_error, np.nan)
    has_interval = is_spread | ((status == "no_spread") & (bounds is not None))
    low, high = (np.where(has_interval, end, np.nan) for end in (low, high))
    counts = (number * n_clusters, number * n_versions)
    return Estimates(
        *(mean, std_error, low, high, p, test, detectable, enough, status),
        *(*counts, p_versions, is_over),
    )


def _are_ends(values: np.ndarray, bounds: Bounds) -> np.ndarray:
    """In which series all values are the smallest or the largest one, shape (series,)."""
    low = np.broadcast_to(bounds[0], len(values))[:, None]
    return np.asarray(((values == low) | (values == bounds[1])).all(axis=1))


def _variance_of_cells(
    parts: np.ndarray, share: np.ndarray, cluster: np.ndarray, version: np.ndarray
) -> np.ndarray:
    """The variance of a mean that is due to cells of clusters and versions: how far versions differ
    within clusters.

    Args:
        parts: residuals of the versions' means by weight, shape (series, n).
        share: weight of each value in the mean, shape (n,).
        cluster: code of each value's cluster, shape (n,).
        version: code of each value's version, shape (n,).
    """
    n_versions = int(version.max()) + 1
    pair, cell = np.unique(cluster * n_versions + version, return_inverse=True)
    owner = pair // n_versions
    sums, totals, number = sum_by_code(parts, cell), sum_by_code(parts, cluster), np.bincount(owner)
    cell_share = np.bincount(cell, share) / np.bincount(cluster, share)[owner]
    left = (sums - totals[:, owner] * cell_share) ** 2
    correction = np.where(number > 1, number / np.maximum(number - 1, 1), 0)
    return np.asarray(
        bell_mccaffrey(np.bincount(cluster, share))[0] * (left * correction[owner]).sum(axis=1)
    )


def inflation(g: np.ndarray) -> float:
    """How many times its size the variance of values within clusters is estimated as, by the scale
    that is right where the means of clusters vary alike.

    Args:
        g: weights of the clusters, summing to 1.

    >>> round(inflation(np.full(5, 0.2)), 6)
    1.0
    """
    return float((1 - (g**2).sum()) * bell_mccaffrey(g)[0])


def bell_mccaffrey(g: np.ndarray) -> tuple[float, float]:
    """Scale without bias, and degrees of freedom, of the sum of (g_i (x_i - sum of g_j x_j))² over
    units that vary alike.

    Args:
        g: weights of the units, summing to 1.

    >>> [round(x, 6) for x in bell_mccaffrey(np.full(5, 0.2))]
    [1.25, 4.0]
    """
    if len(g) == 1:
        return 0.0, 1.0
    b, square = g**2, float((g**2).sum())
    expected = float((b * (1 - 2 * g + square)).sum())
    b0, b1, b2 = (float((b * g**power).sum()) for power in range(3))
    spread = square**2 * b0**2 + 2 * b0 * b2 + 2 * b1**2 - 4 * square * b0 * b1
    spread += float((b**2 * ((1 + square - 2 * g) ** 2 - (square - 2 * g) ** 2)).sum())
    return square / expected, max(expected**2 / spread, 1.0)


def sum_by_code(values: np.ndarray, code: np.ndarray) -> np.ndarray:
    """Sums of values with the same code, shape (series, codes), added in order whatever the
    threads.
    """
    n = len(code)
    if len(values) <= FEW_SERIES:
        n_codes = int(code.max()) + 1
        sums = [np.bincount(code, row, n_codes) for row in values]
        return np.stack(sums, axis=1).T  # as the product below lies in memory
    member = sparse.csr_matrix((np.ones(n), (np.arange(n), code)), (n, int(code.max()) + 1))
    return np.asarray(values @ member)


def _by_known_values(values: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Places of the values that are known, and the series with exactly these; series without any
    value are left out.
    """
    is_known = ~np.isnan(values)
    if not values.shape[1]:
        return []
    if is_known.all():
        return [(np.arange(values.shape[1]), np.arange(len(values)))]
    patterns, which = np.unique(is_known, axis=0, return_inverse=True)
    which = which.reshape(-1)
    return [
        (np.flatnonzero(pattern), np.flatnonzero(which == i))
        for i, pattern in enumerate(patterns)
        if pattern.any()
    ]
