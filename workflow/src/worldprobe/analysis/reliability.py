"""Split-half reliability: how far a profile, such as accuracy by domain, would come out alike with
other units of its groups.
"""

from __future__ import annotations

import numpy as np

#: Random splits that are averaged.
N_SPLITS = 200
#: Below it, groups are not said to differ reliably, nor sorted.
RELIABLE = 0.5
#: Groups with several units that a profile needs.
FEWEST_GROUPS = 3


def halve(group: np.ndarray, n_splits: int, rng: np.random.Generator) -> np.ndarray:
    """Random halves of each group's units; the odd one is drawn.

    Args:
        group: code of each unit's group, shape (units,).
        n_splits: number of splits.
        rng: random numbers.

    Returns:
        Whether a unit is in the first half, shape (splits, units).

    >>> halve(np.array([0, 0, 0, 0, 1, 1]), 3, np.random.default_rng(0)).sum(axis=1).tolist()
    [3, 3, 3]
    """
    is_first = np.zeros((n_splits, len(group)), bool)
    for code in np.unique(group):
        members = np.flatnonzero(group == code)
        for split in range(n_splits):
            shuffled = rng.permutation(members)
            is_first[split, shuffled[: (len(members) + int(rng.integers(2))) // 2]] = True
    return is_first


def split_half(
    values: np.ndarray, weight: np.ndarray, group: np.ndarray, seed: int = 0
) -> np.ndarray:
    """Reliability of profiles over groups: the correlation of the groups' means over two random
    halves of the units that have a score, stepped up to all of them (Spearman 1910, Brown 1910,
    British Journal of Psychology 3: 271 and 296).

    It is 2r / (1 + r) with the mean r over ``N_SPLITS`` splits. Profiles whose groups do not differ
    have a mean r of 0, so this is 0 or somewhat less on average, and may be negative.

    Args:
        values: means of units, shape (series, units); missing (NaN) where a unit has no score.
        weight: what each unit is averaged over, its number of items, shape (series, units).
        group: code of each unit's group, 0 to the number of groups - 1, shape (units,).
        seed: of the splits.

    Returns:
        Shape (series,); missing with fewer than three groups of which several units have a score,
        or where a half does not vary.
    """
    reliabilities = np.full(len(values), np.nan)
    drawn: dict[bytes, np.ndarray] = {}
    for number, (series, weights) in enumerate(zip(values, weight, strict=True)):
        is_known = ~np.isnan(series)
        known_values, known_weights, code = series[is_known], weights[is_known], group[is_known]
        if (pattern := is_known.tobytes()) not in drawn:
            drawn[pattern] = halve(code, N_SPLITS, np.random.default_rng([seed, N_SPLITS]))
        halves = drawn[pattern]
        member = code[:, None] == np.unique(code)
        sums, counts = (
            np.stack([(side * part) @ member for side in (halves, ~halves)])
            for part in (known_values * known_weights, known_weights)
        )
        is_whole = (counts > 0).all(axis=(0, 1))
        if is_whole.sum() < FEWEST_GROUPS:
            continue
        first, second = sums[:, :, is_whole] / counts[:, :, is_whole]
        r = correlations(first, second)
        if np.isfinite(r).any():
            reliabilities[number] = step_up(float(np.nanmean(r)))
    return reliabilities


def step_up(r: float) -> float:
    """The reliability of all units from the correlation of two halves (Spearman-Brown).

    >>> round(step_up(0.5), 3), step_up(-0.5), step_up(-1.0)
    (0.667, -1.0, -1.0)
    """
    return max(2 * r / (1 + r), -1.0) if r > -1 else -1.0


def correlations(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Pearson's r of each row; missing where a side does not vary.

    Args:
        first: shape (rows, n).
        second: shape (rows, n).
    """
    a, b = (side - side.mean(axis=1, keepdims=True) for side in (first, second))
    product = (a * a).sum(axis=1) * (b * b).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(product > 1e-18, (a * b).sum(axis=1) / np.sqrt(product), np.nan)
