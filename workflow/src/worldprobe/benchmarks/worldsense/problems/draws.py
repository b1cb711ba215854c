"""Draws without replacement: the i-th of all different tuples of a cell, skin and wording, without listing them.

A keyed permutation of 0..n-1 (a Feistel network, walked until it stays in range) turns i into the number of a tuple, and
the number's digits are its choices: so no tuple is drawn twice, nothing drawn is kept in memory, and any process can make
any part of a set.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from math import factorial, perm

_MASK = (1 << 64) - 1
ROUNDS = 4


@lru_cache(maxsize=1 << 14)
def round_keys(*names: object) -> tuple[int, ...]:
    """Keys of a permutation, from whatever names it (the seed first)."""
    digest = hashlib.blake2b("\0".join(map(str, names)).encode(), digest_size=8 * ROUNDS).digest()
    return tuple(int.from_bytes(digest[8 * i : 8 * i + 8], "little") | 1 for i in range(ROUNDS))


def permute(i: int, n: int, keys: tuple[int, ...]) -> int:
    """The i-th value of a keyed permutation of 0..n-1.

    Raises:
        ValueError: i is not one of 0..n-1; the walk would never come back to them.

    >>> sorted(permute(i, 10, round_keys(0, "demo")) for i in range(10)) == list(range(10))
    True
    """
    if not 0 <= i < n:
        raise ValueError(f"draw {i} of {n}")
    half = max(1, ((n - 1).bit_length() + 1) // 2)
    low = (1 << half) - 1
    while True:
        left, right = i >> half, i & low
        for key in keys:
            mixed = ((right + 1) * key) & _MASK
            left, right = right, left ^ ((mixed ^ mixed >> 29) * 0xBF58476D1CE4E5B9 >> 32 & low)
        i = left << half | right
        if i < n:
            return i


def count_arrangements(n: int, k: int) -> int:
    """Ordered choices of k things of n."""
    return perm(n, k)


@lru_cache(maxsize=1 << 15)
def arrangement(number: int, n: int, k: int) -> tuple[int, ...]:
    """The ordered choice of k of 0..n-1 with a number below ``count_arrangements(n, k)``.

    >>> [arrangement(i, 3, 2) for i in range(3)]
    [(0, 1), (1, 0), (2, 0)]
    """
    left = list(range(n))
    chosen = []
    for place in range(k):
        number, digit = divmod(number, n - place)
        chosen.append(left.pop(digit))
    return tuple(chosen)


def count_orders(k: int) -> int:
    """Orders of k things."""
    return factorial(k)
