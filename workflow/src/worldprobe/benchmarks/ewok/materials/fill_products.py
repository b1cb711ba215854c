"""Independent filling as the original does it: all combinations of a template's fillers, shuffled and used in turn."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from worldprobe.benchmarks.ewok.materials.fillers import Fillers
from worldprobe.errors import UserError

if TYPE_CHECKING:
    import numpy as np

#: Combinations that are shuffled at once, in 4 bytes each.
MOST = 2**27
_CHUNK = 1024


class ProductSampler:
    """Fills the templates of one domain, in row order: each template moves the generator for those after it.

    Combinations are kept as their numbers in the full product, which is never written out.

    Args:
        fillers: the fillers.
        version: the original's name of the seed; every domain starts from it.
    """

    def __init__(self, fillers: Fillers, version: int) -> None:
        import numpy as np

        self.fillers = fillers
        self._generator = np.random.RandomState(version)
        self._orders: dict[tuple[str, ...], np.ndarray] = {}

    def sample(self, keys: Sequence[str], count: int) -> Iterator[dict[str, str]]:
        """Up to ``count`` fillings, no filler twice within one; fewer only if there are no more.

        A filler that is listed twice makes two combinations, so two fillings may be the same.

        Args:
            keys: distinct keys in code-point order.
            count: how many fillings.

        Raises:
            UserError: there are too many combinations to list.
        """
        texts = [[filler.text for filler in self.fillers.options(key)] for key in keys]
        order = self._shuffled(tuple(keys), math.prod(map(len, texts)))
        return (dict(zip(keys, filling, strict=True)) for filling in itertools.islice(_in_turn(order, texts), count))

    def _shuffled(self, keys: tuple[str, ...], size: int) -> np.ndarray:
        """The combinations of a set of keys, shuffled again from where the last template with these keys left them."""
        import numpy as np

        if size > MOST:
            slots = ", ".join(f"{{{key}}}" for key in keys)
            problem = f"{size:,} combinations of fillers for {slots}; the original lists them all, and at most {MOST:,} are."
            raise UserError("--mode independent --compat", problem, "Leave out --compat: sampling then lists nothing.")
        if keys not in self._orders:
            self._orders[keys] = np.arange(size, dtype=np.uint32)
        self._generator.shuffle(self._orders[keys])
        return self._orders[keys]


def _in_turn(order: np.ndarray, texts: Sequence[Sequence[str]]) -> Iterator[tuple[str, ...]]:
    """The fillings with these numbers in the product (last key fastest), without those that use a filler twice."""
    import numpy as np

    shape = tuple(map(len, texts))
    for start in range(0, len(order), _CHUNK):
        numbers = order[start : start + _CHUNK]
        picks = zip(*np.unravel_index(numbers, shape), strict=True) if shape else [()]
        for pick in picks:
            filling = tuple(of_key[i] for of_key, i in zip(texts, pick, strict=True))
            if len(set(filling)) == len(filling):
                yield filling
