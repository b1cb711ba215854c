"""Stratified samples: a few units that stand for all."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence

import numpy as np
import pandas as pd


def stratified(
    strata: Sequence[Hashable], keys: Sequence[str], size: int, of_each: bool = True
) -> np.ndarray:
    """Which units are in a sample: at least one of every stratum, otherwise in proportion.

    A digest of a unit's key decides, so the sample is the same everywhere, and a smaller one is
    part of a larger one.

    Args:
        strata: each unit's stratum.
        keys: each unit's name.
        size: number of units, at least 1.
        of_each: whether a lower size than the number of strata becomes this number; otherwise so
            many strata have a unit, whatever their own sizes.

    Returns:
        A mask of the units, shape (n,).

    >>> int(stratified([*"aaaaaabbbc"], [*"0123456789"], 1).sum())
    3
    >>> mask = stratified([*"aaaaaabbbc"], [*"0123456789"], 6)
    >>> [int(mask[part].sum()) for part in (slice(6), slice(6, 9), slice(9, 10))]
    [3, 2, 1]
    >>> int(stratified([*"aaaaaabbbc"], [*"0123456789"], 2, of_each=False).sum())
    2
    """
    units = pd.DataFrame(
        {
            "stratum": pd.factorize(np.fromiter(strata, dtype=object, count=len(strata)))[0],
            "digest": [hashlib.sha256(key.encode()).hexdigest() for key in keys],
        }
    ).sort_values("digest")
    groups = units.groupby("stratum")
    units["turn"] = groups.cumcount() / groups["digest"].transform("size")
    least = groups.ngroups if of_each else 1
    chosen = units.sort_values(["turn", "digest"]).index[: max(size, least)]
    return np.isin(np.arange(len(units)), chosen)
