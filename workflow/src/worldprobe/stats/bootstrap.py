"""Bootstrap means of dependent values: whole clusters are drawn, and strata with them where they vary too.

Values that share something (templates of one concept pair, trials of one problem) say less than as many independent ones.
Drawing whole clusters keeps what they share together, so the intervals are as wide as they must be.
"""

from __future__ import annotations

import math

import numpy as np

LEVEL = 0.95


def bootstrap_means(
    values: np.ndarray,
    cluster: np.ndarray,
    rng: np.random.Generator,
    n_draws: int,
    stratum: np.ndarray | None = None,
    n_strata: int = 1,
    weight: np.ndarray | None = None,
) -> np.ndarray:
    """Means of values in bootstrap samples of clusters and, where given, of strata (Owen's pigeonhole bootstrap).

    A value weighs by how often its cluster was drawn. With strata (versions, say) the mean is over the means of the drawn
    strata, which are drawn with replacement as well, independently of the clusters. Sums of float32 values that are multiples of
    1/4, as accuracies are, are exact without weights, and so the same in whatever order the BLAS and its threads add.

    Args:
        values: shape (series, n); missing values (NaN) are left out of their series.
        cluster: code of each value's cluster, 0 to the number of clusters - 1, every code in use.
        rng: generator; all series get the same draws.
        n_draws: number of samples.
        stratum: code of each value's stratum, 0 to ``n_strata`` - 1; None: all values are one stratum.
        n_strata: number of strata that are drawn from, also where a stratum has no value.
        weight: weight of each value within its stratum; None: all the same.

    Returns:
        Means, shape (n_draws, series); missing where a sample has no value of the series.

    >>> values, cluster = np.array([[0.0, 0.0, 1.0, 1.0]]), np.array([0, 0, 1, 1])
    >>> sorted({float(mean) for mean in bootstrap_means(values, cluster, np.random.default_rng(0), 50)[:, 0]})
    [0.0, 0.5, 1.0]
    """
    stratum = np.zeros(values.shape[1], int) if stratum is None else stratum
    clusters = draw_counts(rng, n_draws, int(cluster.max()) + 1)
    strata = draw_counts(rng, n_draws, n_strata)
    weight = np.ones(values.shape[1], np.float32) if weight is None else weight.astype(np.float32)
    means = np.full((n_draws, len(values)), np.nan, np.float32)
    for known, series in _by_known_values(values):
        cell = (cluster[known], stratum[known], weight[known])
        means[:, series] = _drawn_means(clusters, strata, cell, values[np.ix_(series, np.flatnonzero(known))])
    return means


def draw_counts(rng: np.random.Generator, n_draws: int, n_units: int) -> np.ndarray:
    """How often each of ``n_units`` is drawn in samples of as many, shape (n_draws, n_units), float32."""
    return rng.multinomial(n_units, np.full(n_units, 1 / n_units), size=n_draws).astype(np.float32)


def on_grid(parts: np.ndarray, n_units: int) -> np.ndarray:
    """Values rounded to a binary grid on which sums of drawn parts are exact, and so the same in whatever order a BLAS adds.

    Args:
        parts: values of units, any shape, float64; rounded by less than one in 2**52 of the largest possible sum.
        n_units: how many units a sample consists of; one unit is drawn so often at most.

    >>> float(on_grid(np.array([0.1, 0.5]), 1000)[0] - 0.1) < 1e-12
    True
    """
    bound = n_units * float(np.abs(parts).max(initial=0))
    if bound == 0:
        return parts
    step = 2.0 ** (math.ceil(math.log2(bound)) - 52)
    return np.asarray(np.round(parts / step) * step)


def percentile_interval(means: np.ndarray) -> np.ndarray:
    """The 2.5% and 97.5% quantiles of every column, linear between order statistics; missing means are left out.

    Args:
        means: shape (draws, series).

    Returns:
        Shape (2, series).
    """
    ends = np.array([(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    is_whole = ~np.isnan(means).any(axis=0)
    if not is_whole.all():
        found = np.full((2, means.shape[1]), np.nan)
        found[:, is_whole] = percentile_interval(means[:, is_whole])
        for column in np.flatnonzero(~is_whole & ~np.isnan(means).all(axis=0)):
            found[:, column] = np.nanquantile(means[:, column], ends)
        return found
    places = ends * (len(means) - 1)
    low = np.floor(places).astype(int)
    high = np.minimum(low + 1, len(means) - 1)
    ordered = np.sort(np.ascontiguousarray(means.T), axis=1)  # whole rows of float32: five times as fast as numpy's partition
    share = places - low
    return (ordered[:, low] * (1 - share) + ordered[:, high] * share).T


def _by_known_values(values: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Which values are known (shape (n,)) and the series with exactly these; series without any value are left out."""
    known = ~np.isnan(values)
    if known.all():
        return [(known[0], np.arange(len(values)))]
    patterns, which = np.unique(known, axis=0, return_inverse=True)
    return [(pattern, np.flatnonzero(which == number)) for number, pattern in enumerate(patterns) if pattern.any()]


def _drawn_means(clusters: np.ndarray, strata: np.ndarray, cell: tuple[np.ndarray, ...], values: np.ndarray) -> np.ndarray:
    """Means of every draw over strata, shape (draws, series).

    Args:
        clusters: how often each cluster was drawn, shape (draws, clusters).
        strata: how often each stratum was drawn, shape (draws, strata).
        cell: code of each value's cluster, code of its stratum, and its weight.
        values: shape (series, n), none missing.
    """
    cluster, stratum, weight = cell
    total = np.zeros((len(clusters), len(values)))
    present = np.zeros((len(clusters), 1))
    for number in range(strata.shape[1]):
        inside = stratum == number
        weights = clusters[:, cluster[inside]] * weight[inside]
        mass = weights.sum(axis=1)[:, None]
        times = np.where(mass > 0, strata[:, [number]], 0).astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            total += np.where(mass > 0, times * (weights @ values[:, inside].T) / mass, 0)
        present += times
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(total / present)
