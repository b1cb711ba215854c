"""Independent filling: each item of a template is sampled on its own, without ever listing all combinations."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Sequence

from worldprobe.benchmarks.ewok.materials.fillers import Fillers

#: Draws in a row that repeat an earlier item, or a filler within the item, before what is left is listed.
_PATIENCE = 64
_HALF = 2**32 - 1


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

        taken: set[tuple[str, ...]] = set()
        for number in range(count):
            filling = self._draw_at_once(number, taken) or self._draw(np.random.default_rng([*self._seed, number]), taken)
            if filling is None:
                return
            taken.add(filling)
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

    def _draw_at_once(self, number: int, taken: set[tuple[str, ...]]) -> tuple[str, ...] | None:
        """What ``_draw`` returns if its first draw will do, else None: the same numbers (Lemire's method) without a generator."""
        import numpy as np

        raw = np.random.PCG64([*self._seed, number]).random_raw
        picks, half = [], None
        for texts in self.options:
            if len(texts) < 2:
                if not texts:
                    return None
                picks.append(texts[0])
                continue
            if half is None:
                word = int(raw())
                draw, half = word & _HALF, word >> 32
            else:
                draw, half = half, None
            product = draw * len(texts)
            if product & _HALF < len(texts):  # may have to be drawn again
                return None
            picks.append(texts[product >> 32])
        filling = tuple(picks)
        return filling if len(set(filling)) == len(filling) and filling not in taken else None

    def _draw(self, rng, taken: set[tuple[str, ...]]) -> tuple[str, ...] | None:  # type: ignore[no-untyped-def]
        if all(self.options):
            for _ in range(_PATIENCE):
                picks = rng.integers([len(texts) for texts in self.options]) if self.options else ()
                filling = tuple(texts[i] for texts, i in zip(self.options, picks, strict=True))
                if len(set(filling)) == len(filling) and filling not in taken:
                    return filling
        # So many repetitions mean that few fillings are left: little more than those taken need be listed.
        left = (filling for filling in self.all_fillings() if filling not in taken)
        few = list(itertools.islice(left, 16 * (len(taken) + _PATIENCE)))
        return few[int(rng.integers(len(few)))] if few else None
