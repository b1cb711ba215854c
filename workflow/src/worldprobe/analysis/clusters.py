"""Means of values that share random things: an interval and a test that hold for other draws of these things.

A benchmark's values share clusters (pairs of concepts, skins), and often versions too: the fillings of a version are in every
template, so a kind filling moves all of them together. Both are samples of what might have been used, and they cross. The
variance of a mean has a part of each, and a part of each cell:

- clusters: squared sums of each cluster's weighted residuals (Liang & Zeger 1986), without bias and with the degrees of freedom
  of Bell & McCaffrey (2002) where the means of clusters vary alike; with equal clusters these are their number less one;
- versions: the same of the versions' means;
- both contain the variance of the cells, which counts once, as in a two-way analysis of variance.

Few versions tell their variance badly, and plugging it into one t interval (Satterthwaite) is wrong too often: 10 to 14 % of
tests at 5 % with two or three versions. So each part gets its own t quantile, and the squares add up: squared half width = sum of
t(df_i)² x variance_i (Banerjee 1960, Sankhya 22), which never covers less than it says for normal parts. The cells' part counts
with clusters or with versions, whichever is wider. Simulated nulls: tests/performance/comparisons_null.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import stdtr, stdtrit

LEVEL = 0.95
#: a variance of values between -1 and 1 that is smaller is a rounding error.
NO_VARIANCE = 1e-18


@dataclass(frozen=True)
class Part:
    """A part of the variance of a mean.

    Attributes:
        variance: shape (series,).
        df: degrees of freedom.
    """

    variance: np.ndarray
    df: float


@dataclass(frozen=True)
class Estimates:
    """Means of several series; every array has the shape (series,).

    Attributes:
        mean: the mean over strata and versions of the weighted means in them.
        std_error: its standard error.
        ci_low, ci_high: 95% interval; missing with one cluster and where all clusters are alike.
        p: two-sided, that the mean is 0; missing where ``status`` is not ok.
        status: ok; one_version: the interval is about the fillings of this version only, and there is no test; one_cluster:
            nothing says how another would come out; no_spread: all clusters are alike, so their variance is not known; no_values.
        n_clusters, n_versions: that have a value.
    """

    mean: np.ndarray
    std_error: np.ndarray
    ci_low: np.ndarray
    ci_high: np.ndarray
    p: np.ndarray
    status: np.ndarray
    n_clusters: np.ndarray
    n_versions: np.ndarray


def crossed_means(
    values: np.ndarray,
    cluster: np.ndarray,
    version: np.ndarray | None = None,
    stratum: np.ndarray | None = None,
    weight: np.ndarray | None = None,
    others: Sequence[Part] = (),
    tested: bool = True,
) -> Estimates:
    """Means of series of values, with clusters and, where given, versions as crossed random factors.

    Args:
        values: shape (series, n); missing values (NaN) are left out of their series. For a comparison, the differences.
        cluster: label of each value's cluster, shape (n,): what is a sample of more.
        version: label of each value's version, shape (n,), where versions are a sample of more too; None: no such factor. One
            version only is a claim about this version: ``status`` says so.
        stratum: label of each value's stratum, shape (n,), where these are the ones that matter (problems, sizes); None: one.
            Versions and strata weigh equally.
        weight: of each value within its version and stratum, shape (n,), above 0; None: all the same.
        others: further parts of the variance of each mean, where versions are random but not those of these values.
        tested: False leaves p missing, which takes most of the time.

    Returns:
        One estimate per series.
    """
    n_series, n = values.shape
    found = {name: np.full(n_series, np.nan) for name in ("mean", "std_error", "ci_low", "ci_high", "p")}
    status = np.full(n_series, "no_values", object)
    counts = np.zeros((2, n_series), int)
    weight = np.ones(n) if weight is None else weight.astype(float)
    for known, series in _by_known_values(values):
        member = np.unique(cluster[known], return_inverse=True)[1]
        versions, strata = (_codes(labels, known) for labels in (version, stratum))
        further = [Part(part.variance[series], part.df) for part in others]
        one = _estimate(values[np.ix_(series, known)].astype(float), member, versions, strata, weight[known], further, tested)
        for name in found:
            found[name][series] = getattr(one, name)
        status[series], counts[0, series], counts[1, series] = one.status, one.n_clusters, one.n_versions
    return Estimates(**found, status=status, n_clusters=counts[0], n_versions=counts[1])


def _codes(labels: np.ndarray | None, known: np.ndarray) -> np.ndarray | None:
    """Numbers from 0 for the labels of values that are known."""
    return None if labels is None else np.unique(labels[known], return_inverse=True)[1]


def crossed(of_clusters: Part, of_versions: Part, of_cells: np.ndarray) -> list[list[Part]]:
    """The two ways to split a variance: the cells' part counts with the clusters, or with the versions.

    Args:
        of_clusters: the part of the clusters, with that of the cells.
        of_versions: the part of the versions, with that of the cells.
        of_cells: the variance of the cells alone, shape (series,).
    """
    clusters, versions = (Part(np.maximum(part.variance - of_cells, 0), part.df) for part in (of_clusters, of_versions))
    return [[of_clusters, versions], [clusters, of_versions]]


def interval(mean: np.ndarray, ways: Sequence[Sequence[Part]]) -> tuple[np.ndarray, np.ndarray]:
    """The ends of the 95% interval: the widest of several ways to split the variance into parts.

    Args:
        mean: shape (series,).
        ways: each a sequence of parts.
    """
    half = np.sqrt(_squared_half_width(np.full(mean.shape, (1 - LEVEL) / 2), ways))
    return mean - half, mean + half


def p_value(mean: np.ndarray, ways: Sequence[Sequence[Part]]) -> np.ndarray:
    """Two-sided p that a mean is 0: the level at which its interval would end at 0, by bisection of its logarithm.

    Args:
        mean: shape (series,).
        ways: as in ``interval``; at least one part of each series has a variance.
    """
    dfs = [part.df for way in ways for part in way]
    spread = np.sqrt(np.max([np.sum([part.variance for part in way], axis=0) for way in ways], axis=0))
    ratio = np.abs(mean) / spread
    # The quantile of the mixture lies between those of its parts, so p does too.
    low, high = (np.log(np.maximum(stdtr(df, -ratio), 1e-300)) for df in (max(dfs), min(dfs)))
    low, high = low - 1, np.minimum(high + 1, np.log(0.5))
    for _ in range(50):
        middle = (low + high) / 2
        is_inside = _squared_half_width(np.exp(middle), ways) < mean**2
        high, low = np.where(is_inside, middle, high), np.where(is_inside, low, middle)
    return np.minimum(2 * np.exp((low + high) / 2), 1)


def variance_of_mean(residual: np.ndarray, share: np.ndarray, unit: np.ndarray) -> Part:
    """The part of the variance of a mean that is due to one random factor.

    Args:
        residual: values less their mean, shape (series, n).
        share: weight of each value in the mean, shape (n,), summing to 1.
        unit: code of each value's unit, 0 to the number of units - 1, every code in use.
    """
    g = np.bincount(unit, share)
    scale, df = _bell_mccaffrey(g)
    return Part(scale * (sum_by_code(residual * share, unit) ** 2).sum(axis=1), df)


def _estimate(
    values: np.ndarray,
    cluster: np.ndarray,
    version: np.ndarray | None,
    stratum: np.ndarray | None,
    weight: np.ndarray,
    others: Sequence[Part],
    tested: bool,
) -> Estimates:
    """As ``crossed_means``, of codes, where no value is missing."""
    zeros = np.zeros(values.shape[1], int)
    cell = np.unique(np.stack([zeros if codes is None else codes for codes in (version, stratum)]), axis=1, return_inverse=True)
    place = cell[1].reshape(-1)
    cells = sum_by_code(np.ones((1, len(weight))) * weight, place)[0]
    in_version = np.bincount(cell[0][0])  # strata of each version
    share = weight / cells[place] / (in_version[cell[0][0]] * len(in_version))[place]
    mean = (values * share).sum(axis=1)
    n_clusters, n_versions = int(cluster.max()) + 1, 1 if version is None else int(version.max()) + 1
    inner = values - (sum_by_code(values * weight, place) / cells)[:, place]
    of_clusters = variance_of_mean(inner, share, cluster)
    if version is None or n_versions == 1:
        ways = [[of_clusters, *others]]
    else:
        outer = sum_by_code(values * share, version) * n_versions - mean[:, None]
        of_versions = variance_of_mean(outer, np.full(n_versions, 1 / n_versions), np.arange(n_versions))
        of_cells = _variance_of_cells(inner * share, share, cluster, version)
        ways = [[*way, *others] for way in crossed(of_clusters, of_versions, of_cells)]
    std_error = np.sqrt(sum(part.variance for part in ways[0]))
    low, high = interval(mean, ways)
    is_flat = of_clusters.variance < NO_VARIANCE
    status = np.where(is_flat, "no_spread", "one_version" if version is not None and n_versions == 1 else "ok").astype(object)
    if n_clusters == 1:
        status[:] = "one_cluster"
    is_ok = status == "ok"
    p = np.full(len(values), np.nan)
    if tested and is_ok.any():
        p[is_ok] = p_value(mean[is_ok], [[Part(x.variance[is_ok], x.df) for x in way] for way in ways])
    has_interval = is_ok | (status == "one_version")
    std_error, low, high = (np.where(has_interval, x, np.nan) for x in (std_error, low, high))
    number = np.ones(len(values), int)
    return Estimates(mean, std_error, low, high, p, status, number * n_clusters, number * n_versions)


def _variance_of_cells(parts: np.ndarray, share: np.ndarray, cluster: np.ndarray, version: np.ndarray) -> np.ndarray:
    """The variance of a mean that is due to cells of clusters and versions: how far versions differ within clusters.

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
    share_of = np.bincount(cell, share) / np.bincount(cluster, share)[owner]
    left = (sums - totals[:, owner] * share_of) ** 2
    correction = np.where(number > 1, number / np.maximum(number - 1, 1), 0)
    return np.asarray(_bell_mccaffrey(np.bincount(cluster, share))[0] * (left * correction[owner]).sum(axis=1))


def _bell_mccaffrey(g: np.ndarray) -> tuple[float, float]:
    """Scale without bias, and degrees of freedom, of the sum of (g_i (x_i - sum of g_j x_j))² over units that vary alike.

    Args:
        g: weights of the units, summing to 1.

    >>> [round(x, 6) for x in _bell_mccaffrey(np.full(5, 0.2))]
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


def _squared_half_width(tail: np.ndarray, ways: Sequence[Sequence[Part]]) -> np.ndarray:
    """Of intervals that leave out ``tail`` on either side, shape (series,)."""
    return np.max([sum(stdtrit(part.df, tail) ** 2 * part.variance for part in way) for way in ways], axis=0)


def sum_by_code(values: np.ndarray, code: np.ndarray) -> np.ndarray:
    """Sums of values with the same code, shape (series, codes), added in order whatever the threads."""
    n = len(code)
    member = sparse.csr_matrix((np.ones(n), (np.arange(n), code)), (n, int(code.max()) + 1))
    return np.asarray(values @ member)


def _by_known_values(values: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Places of the values that are known, and the series with exactly these; series without any value are left out."""
    known = ~np.isnan(values)
    if known.all():
        return [(np.arange(values.shape[1]), np.arange(len(values)))]
    patterns, which = np.unique(known, axis=0, return_inverse=True)
    which = which.reshape(-1)
    return [(np.flatnonzero(pattern), np.flatnonzero(which == i)) for i, pattern in enumerate(patterns) if pattern.any()]
