"""How slots are filled: constant per version (fixed), each item on its own (independent), or as the original sampled."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from worldprobe.benchmarks.ewok.materials.fillers import MAGNET, Filler, Fillers, restrictions_of, variable_of
from worldprobe.errors import UserError

if TYPE_CHECKING:
    import numpy as np

#: Versions are windows on the same shuffled fillers that move by this many.
STEP = 2


def enough_for(count: int) -> int:
    """For how many versions so many fillers are enough, where nothing else uses them.

    >>> [enough_for(count) for count in (0, 1, 2, 9)]
    [0, 1, 1, 5]
    """
    return (count + STEP - 1) // STEP


class FixedSampler:
    """Fills the templates of one domain in one version, in row order: what comes first decides what is shared.

    Args:
        fillers: the fillers.
        version: from 0.
        key_sets: the key sets of all the domain's templates; fillers that alone meet a restriction are kept for it.
    """

    def __init__(self, fillers: Fillers, version: int, key_sets: Sequence[tuple[str, ...]]) -> None:
        self.fillers, self.rules, self.version = fillers, fillers.rules, version
        self.short: dict[str, int] = {}
        self._picked: dict[str, list[Filler]] = {}
        self._memo: dict[str, Filler] = {}
        self._outcomes: dict[tuple[str, ...], dict[str, str] | None] = {}
        if self.rules.one_magnet:
            self._used = {MAGNET}
        else:
            options = (fillers.options(key) for key in dict.fromkeys(key for keys in key_sets for key in keys))
            self._used = {only[0].text for only in options if len(only) == 1}

    def fill(self, keys: tuple[str, ...]) -> Mapping[str, str] | None:
        """Fillings for a key set, or None where some class has too few fillers for this version.

        Args:
            keys: distinct keys in code-point order.
        """
        if keys in self._outcomes and (self.rules.failed_stay_failed or self._outcomes[keys] is not None):
            return self._outcomes[keys]
        fillings: dict[str, str] | None = {}
        for key in keys:
            filler = self._pick(key)
            if filler is None:
                fillings = None
                break
            assert fillings is not None
            fillings[key] = filler.text
        if fillings is not None and len(set(fillings.values())) < len(fillings):
            fillings = None
        self._outcomes[keys] = fillings
        return fillings

    def _pick(self, key: str) -> Filler | None:
        known = self._recall(key)
        if known is not None:
            return known
        options = self.fillers.options(key)
        if self.fillers.is_magnet(key) or (not self.rules.one_magnet and len(options) == 1):
            # Kept for this key alone: elsewhere the variable stays free.
            if options:
                self._memo[key] = options[0]
            return options[0] if options else None
        start = STEP * self.version
        filler = next((f for f in options[start:] if f.text not in self._used), None)
        if filler is None:
            self.short[key] = len(options)
            return None
        self._used.add(filler.text)
        self._remember(key, filler)
        return filler

    def _recall(self, key: str) -> Filler | None:
        if key in self._memo or self.rules.loose_variables:
            return self._memo.get(key)
        restrictions = restrictions_of(key)
        return next((f for f in self._picked.get(variable_of(key), ()) if f.meets(restrictions)), None)

    def _remember(self, key: str, filler: Filler) -> None:
        variable = variable_of(key)
        self._memo[key] = filler
        self._picked.setdefault(variable, []).append(filler)
        if self.rules.loose_variables:
            self._memo.setdefault(variable, filler)
            for column, value in filler.columns.items():
                self._memo.setdefault(f"{variable}:{column}={value}", filler)


#: Draws in a row that repeat an earlier item, or a filler within the item, before what is left is listed.
_PATIENCE = 64
_FEW = 4


class IndependentSampler:
    """Distinct fillings of one template; the first k are the same however many are asked for.

    Args:
        fillers: the fillers.
        keys: the template's slot keys.
        seed: the study's seed and the template's coordinates; nothing else moves the sample.
    """

    def __init__(self, fillers: Fillers, keys: Sequence[str], seed: tuple[int, str, int, int]) -> None:
        self.keys = tuple(keys)
        self.options = [list(dict.fromkeys(filler.text for filler in fillers.options(key))) for key in keys]
        study, domain, meta_template, template = seed
        self._seed = [study, int.from_bytes(hashlib.sha256(domain.encode()).digest()[:4], "big"), meta_template, template]

    def sample(self, count: int) -> Iterator[dict[str, str]]:
        """Up to ``count`` distinct fillings, no filler twice within one; fewer only if there are no more."""
        import numpy as np

        left = _Left(self.all_fillings)
        for number in range(count):
            filling = self._draw(np.random.default_rng([*self._seed, number]), left)
            if filling is None:
                return
            left.take(filling)
            yield dict(zip(self.keys, filling, strict=True))

    def all_fillings(self) -> Iterator[tuple[str, ...]]:
        """Every filling, one by one, in the order of the options."""
        chosen: list[str] = []

        def extend(depth: int) -> Iterator[tuple[str, ...]]:
            if depth == len(self.options):
                yield tuple(chosen)
                return
            for text in self.options[depth]:
                if text not in chosen:
                    chosen.append(text)
                    yield from extend(depth + 1)
                    chosen.pop()

        return extend(0)

    @cached_property
    def _sizes(self) -> list[np.ndarray]:
        """How many options each key has, once for each draw, shape (draws, keys): a few draws, which mostly do, and the rest.

        How many are made together does not move what is drawn.
        """
        import numpy as np

        sizes = [len(texts) for texts in self.options]
        return [np.tile(sizes, (draws, 1)) for draws in (_FEW, _PATIENCE - _FEW)]

    def _draw(self, rng, left: _Left) -> tuple[str, ...] | None:  # type: ignore[no-untyped-def]
        if all(self.options):
            for sizes in self._sizes:
                for pick in rng.integers(sizes).tolist() if self.options else [()]:
                    filling = tuple([texts[i] for texts, i in zip(self.options, pick, strict=True)])
                    if len(set(filling)) == len(filling) and filling not in left.taken:
                        return filling
        few = left.first(16 * (len(left.taken) + _PATIENCE))
        return few[int(rng.integers(len(few)))] if few else None


class _Left:
    """The fillings that are still free, in order, listed no further than they are asked for and never twice.

    So many repeated draws that they are asked for mean that few are left: little more than those taken need be listed.

    Args:
        list_all: gives every filling, in order; called when the first are asked for.
    """

    def __init__(self, list_all: Callable[[], Iterator[tuple[str, ...]]]) -> None:
        self.list_all = list_all
        self.taken: set[tuple[str, ...]] = set()
        self._unlisted: Iterator[tuple[str, ...]] | None = None
        self._listed: dict[tuple[str, ...], None] = {}

    def first(self, count: int) -> list[tuple[str, ...]]:
        """The first ``count`` that are free, or as many as there are."""
        for filling in itertools.islice(self._unlisted_and_free(), max(count - len(self._listed), 0)):
            self._listed[filling] = None
        return list(itertools.islice(self._listed, count))

    def take(self, filling: tuple[str, ...]) -> None:
        """It is free no longer."""
        self.taken.add(filling)
        self._listed.pop(filling, None)

    def _unlisted_and_free(self) -> Iterator[tuple[str, ...]]:
        if self._unlisted is None:
            self._unlisted = self.list_all()
        return (filling for filling in self._unlisted if filling not in self.taken)


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
