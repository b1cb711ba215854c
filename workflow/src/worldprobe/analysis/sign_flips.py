"""The randomisation test of a mean of clusters that have unequal weights: flips of signs.

Where nothing sets two models apart, their labels may be exchanged in any cluster, which turns the
sign of the sum of its differences. So the test (Fisher 1935, The Design of Experiments; for
clusters Canay, Romano & Shaikh 2017, Econometrica 85: 1013) counts the flips of signs after which
the mean is at least as far from 0. Then it holds its level exactly, however unequal clusters are
and whatever makes them vary; Student's t takes the means of clusters as varying alike, and with
small clusters that vary more it finds next to nothing.

The interval has the means that the same test does not reject. A flip is a subset of the clusters,
and it rejects no mean between that of the subset and that of the rest (Hartigan 1969, Journal of
the American Statistical Association 64: 1303), so the ends are quantiles of such means.

Where none of the flips that are drawn comes near, p is not that of these flips, which is all that a
correction for many tests would see, but a bound of the p of all flips: 2 exp(-T² / (2 sum of d²)),
with T the sum of the clusters' sums d (Hoeffding 1963, Journal of the American Statistical
Association 58: 13).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

#: clusters below which no flip of signs has a p below 0.05: 2 of 2^5 are 0.06.
FEWEST = 6
#: flips that are drawn where there are more.
_N_FLIPS = 10_000
#: flips of each of the samples that power is a mean over, and samples.
_N_FLIPS_OF_SAMPLE, _N_SAMPLES = 1_000, 512
#: flips that are counted together.
_BLOCK = 1_000
#: means that differ by less are equal: what is left is rounding.
_PLACES = 12


def can_flip(shares: np.ndarray) -> bool:
    """Whether the test is by flips of signs: clusters have unequal weights, and there are enough.

    Args:
        shares: the weight of each cluster in the mean, summing to 1.
    """
    return len(shares) >= FEWEST and bool(np.ptp(shares) > 1e-9)


def flip_signs(
    sums: np.ndarray, shares: np.ndarray, n_flips: int = _N_FLIPS
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two-sided p that a mean is 0, and the ends of its 95% interval; 0 is outside where p < 0.05.

    All flips where there are ``n_flips`` at most, otherwise so many, drawn with a fixed seed, and
    the one that turns nothing; where that one is alone, Hoeffding's bound, if it is smaller.

    Args:
        sums: weighted sum of each cluster's values, shape (series, clusters), which add up to the
            mean; of ``FEWEST`` clusters or more.
        shares: the weight of each cluster, summing to 1.
        n_flips: the most that are taken.

    Returns:
        Each of the shape (series,).

    >>> p, low, high = flip_signs(np.full((1, 6), 0.1), np.full(6, 1 / 6))
    >>> float(p[0]), float(low[0].round(3)), float(high[0].round(3))
    (0.03125, 0.6, 0.6)
    """
    scale = 2.0 ** (np.ceil(np.log2(max(np.abs(sums).sum(axis=1).max(initial=0), 1e-300))) - 50)
    sums = np.round(sums / scale) * scale  # sums of these are exact, whatever the threads
    shares = np.round(shares * 2.0**50) / 2.0**50
    low, high = [], []
    for flipped in _flips(len(shares), n_flips):
        inside, weight = sums @ flipped.T, flipped @ shares
        outside = (sums.sum(axis=1)[:, None] - inside) / (shares.sum() - weight)
        inside /= weight
        low.append(np.minimum(inside, outside))
        high.append(np.maximum(inside, outside))
    lows, highs = (np.concatenate(ends, axis=1).round(_PLACES) for ends in (low, high))
    total = lows.shape[1] + 1  # the flip that turns nothing rejects no mean
    p = 1 - ((lows > 0).sum(axis=1) + (highs < 0).sum(axis=1)) / total
    if total > n_flips:  # they are drawn
        bound = 2 * np.exp(
            -(sums.sum(axis=1) ** 2) / (2 * np.maximum((sums**2).sum(axis=1), 1e-300))
        )
        p = np.where(p < 1.5 / total, np.minimum(p, bound), p)
    rank = -(-total // 20) - 2  # the first mean that a twentieth of all flips do not reject
    lows.partition(rank)
    highs.partition(total - 2 - rank)
    return p, lows[:, rank], highs[:, total - 2 - rank]


def variances(sums: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The variance of a mean, and the share of it that is due to values within clusters, where that
    of a cluster's sum has one part that goes with its weight and one that goes with its square, by
    the moments of the residuals.

    Args:
        sums: as for ``flip_signs``.
        shares: as there.

    Returns:
        Each of the shape (series,).
    """
    squares = (sums - sums.sum(axis=1, keepdims=True) * shares) ** 2
    observed = np.stack([squares.sum(axis=1), (squares / shares).sum(axis=1)])
    # of residuals, by the part of whole clusters and that of values within them
    parts = np.stack([shares**2, shares])
    of_residuals = parts * (1 - 2 * shares) + shares**2 * parts.sum(axis=1, keepdims=True)
    expected = np.stack([of_residuals.sum(axis=1), (of_residuals / shares).sum(axis=1)])
    whole, within = np.linalg.solve(expected, observed)
    alone = observed[0] / expected[0][:, None]  # where the other one would be below 0
    whole, within = (
        np.where(within < 0, alone[0], np.maximum(whole, 0)),
        np.where(whole < 0, alone[1], np.maximum(within, 0)),
    )
    variance = whole * (shares**2).sum() + within
    return variance, within / np.maximum(variance, 1e-300)


@lru_cache(maxsize=256)
def _rejected(shares: tuple[float, ...], within: float) -> np.ndarray:
    """As ``rejected``."""
    weights = np.array(shares)
    spread = np.sqrt((1 - within) * weights**2 / (weights**2).sum() + within * weights)
    samples = np.random.default_rng(1).standard_normal((_N_SAMPLES, len(weights))) * spread
    return -flip_signs(samples, weights, _N_FLIPS_OF_SAMPLE)[1]


def rejected(shares: np.ndarray, within: np.ndarray) -> np.ndarray:
    """From which true mean on each of many samples rejects 0, in standard errors.

    Args:
        shares: the weight of each cluster, summing to 1.
        within: as ``variances`` gives it, shape (series,).

    Returns:
        Shape (series, samples).
    """
    weights = tuple(shares.tolist())
    return np.stack(
        [_rejected(weights, round(4 * float(share_within)) / 4) for share_within in within]
    )


def _flips(n_clusters: int, n_flips: int) -> Iterator[np.ndarray]:
    """Blocks of flips, shape (flips, clusters), 1 where the sign is turned; the last cluster keeps
    its own, as turning all signs changes nothing.
    """
    if n_clusters - 1 < n_flips.bit_length():
        codes = np.arange(1, 2 ** (n_clusters - 1))
        for block in np.array_split(codes, -(-len(codes) // _BLOCK)):
            yield (block[:, None] >> np.arange(n_clusters) & 1).astype(float)
        return
    rng = np.random.default_rng(0)
    for _ in range(0, n_flips, _BLOCK):
        drawn = rng.integers(0, 2, (_BLOCK, n_clusters), dtype=np.int8).astype(float)
        drawn[:, -1] = 0
        drawn[~drawn.any(axis=1), 0] = 1
        yield drawn
