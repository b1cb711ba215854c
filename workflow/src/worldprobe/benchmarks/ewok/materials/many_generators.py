"""First draws of many random generators at once: what ``numpy.random.PCG64([*seed, number])`` gives for each number.

Making a generator per item costs more than everything else that an item needs. The arithmetic is that of NumPy's SeedSequence and
PCG64, both of which are fixed for good (NEP 19); a test compares every word with NumPy's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

_MASK = 2**32 - 1
_POOL, _WORDS_OF_STATE = 4, 8
_INIT_A, _MULT_A, _INIT_B, _MULT_B = 0x43B0D7E5, 0x931E8875, 0x8B51F9DD, 0x58F38DED
_MIX_LEFT, _MIX_RIGHT = 0xCA01F9DD, 0x4973F715
_SHIFT = 16
_STEP_HIGH, _STEP_LOW = divmod(47026247687942121848144207491837523525, 2**64)


def first_words(seed: Sequence[int], numbers: Sequence[int], n_words: int) -> np.ndarray:
    """The first 64-bit words of the generators that are seeded with ``[*seed, number]``.

    Args:
        seed: at least four whole numbers, which the generators share.
        numbers: what each generator adds, below 2**32.
        n_words: how many words of each.

    Returns:
        Shape (numbers, n_words), uint64.
    """
    import numpy as np

    with np.errstate(over="ignore"):
        high, low, step_high, step_low = _seeded(_pools(seed, np.asarray(numbers, dtype=np.uint64)))
        words = np.empty((len(high), n_words), dtype=np.uint64)
        for place in range(n_words):
            high, low = _stepped(high, low, step_high, step_low)
            words[:, place] = _rotated(high ^ low, high >> np.uint64(58))
    return words


def _pools(seed: Sequence[int], numbers: np.ndarray) -> list[np.ndarray]:
    """The four words to which a SeedSequence mixes its seeds; 32-bit arithmetic in 64 bits."""
    import numpy as np

    shared = [word for part in seed for word in _in_words(part)]
    constants = _constants(_INIT_A, _MULT_A)
    pool = [_hashed(word, constants) for word in shared[:_POOL]]
    for source in range(_POOL):
        for goal in range(_POOL):
            if source != goal:
                pool[goal] = _mixed(pool[goal], _hashed(pool[source], constants))
    for word in shared[_POOL:]:
        pool = [_mixed(goal, _hashed(word, constants)) for goal in pool]
    return [_mixed_arrays(np.uint64(goal), _hashed_arrays(numbers, constants)) for goal in pool]


def _in_words(number: int) -> list[int]:
    words = [number & _MASK]
    while number := number >> 32:
        words.append(number & _MASK)
    return words


def _constants(start: int, factor: int) -> Iterator[tuple[int, int]]:
    while True:
        after = start * factor & _MASK
        yield start, after
        start = after


def _hashed(value: int, constants: Iterator[tuple[int, int]]) -> int:
    before, after = next(constants)
    value = (value ^ before) * after & _MASK
    return value ^ value >> _SHIFT


def _mixed(one: int, other: int) -> int:
    value = _MIX_LEFT * one - _MIX_RIGHT * other & _MASK
    return value ^ value >> _SHIFT


def _hashed_arrays(values: np.ndarray, constants: Iterator[tuple[int, int]]) -> np.ndarray:
    import numpy as np

    before, after = next(constants)
    values = (values ^ np.uint64(before)) * np.uint64(after) & np.uint64(_MASK)
    return values ^ values >> np.uint64(_SHIFT)


def _mixed_arrays(one: np.uint64, others: np.ndarray) -> np.ndarray:
    import numpy as np

    values = np.uint64(_MIX_LEFT) * one - np.uint64(_MIX_RIGHT) * others & np.uint64(_MASK)
    return values ^ values >> np.uint64(_SHIFT)


def _seeded(pools: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """State and increment of PCG64, each as its upper and lower 64 bits."""
    import numpy as np

    constants = _constants(_INIT_B, _MULT_B)
    halves = [_hashed_arrays(pools[place % _POOL], constants) for place in range(_WORDS_OF_STATE)]
    begin_high, begin_low, step_high, step_low = (
        low | high << np.uint64(32) for low, high in zip(halves[::2], halves[1::2], strict=True)
    )
    one = np.uint64(1)
    step_high, step_low = step_high << one | step_low >> np.uint64(63), step_low << one | one
    high, low = _sum(step_high, step_low, begin_high, begin_low)
    return *_stepped(high, low, step_high, step_low), step_high, step_low


def _stepped(high: np.ndarray, low: np.ndarray, step_high: np.ndarray, step_low: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The next state: times the multiplier, plus the increment, modulo 2**128."""
    import numpy as np

    factor_high, factor_low = np.uint64(_STEP_HIGH), np.uint64(_STEP_LOW)
    product_high = _upper_product(low, factor_low) + high * factor_low + low * factor_high
    return _sum(product_high, low * factor_low, step_high, step_low)


def _upper_product(values: np.ndarray, factor: np.uint64) -> np.ndarray:
    """The upper 64 bits of products of 64-bit numbers."""
    import numpy as np

    mask, half = np.uint64(_MASK), np.uint64(32)
    value_high, value_low, factor_high, factor_low = values >> half, values & mask, factor >> half, factor & mask
    middle = value_high * factor_low + (value_low * factor_low >> half)
    return value_high * factor_high + (middle >> half) + ((middle & mask) + value_low * factor_high >> half)


def _sum(high: np.ndarray, low: np.ndarray, other_high: np.ndarray, other_low: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    lower = low + other_low
    return high + other_high + (lower < low), lower


def _rotated(values: np.ndarray, by: np.ndarray) -> np.ndarray:
    import numpy as np

    return values >> by | values << (np.uint64(64) - by & np.uint64(63))
