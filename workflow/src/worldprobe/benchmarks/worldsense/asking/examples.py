"""Solved examples (paper, Section 5.3): drawn by a seed, never of the question's tuple, balanced over gold answers."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from worldprobe.benchmarks.worldsense.vocabulary import ANSWER_OF, answers_of
from worldprobe.errors import UserError

#: What examples have in common with the question, apart from the skin.
SHARED = ("problem", "size", "complexity", "wording")


class Pool:
    """Trials from which examples are drawn.

    Args:
        trials: solved trials, whole tuples.
        seed: of all draws; the trials of a tuple have the same examples.
        domains: skin -> domain.
    """

    def __init__(self, trials: pd.DataFrame, seed: int, domains: Mapping[str, str]) -> None:
        self.seed, self.domains = seed, domains
        self.cells: dict[tuple[Any, ...], dict[str, dict[str, dict[str, str]]]] = defaultdict(lambda: defaultdict(dict))
        columns = [*SHARED, "skin", "tuple_id", "gold", "text"]
        for *shared, skin, tuple_id, gold, text in trials[columns].itertuples(index=False, name=None):
            self.cells[tuple(shared)][skin].setdefault(tuple_id, {})[ANSWER_OF[gold]] = text

    def draw(self, number: int, other_domain: bool, cell: tuple[Any, ...], skin: str, tuple_id: str) -> list[tuple[str, str]]:
        """Text and answer of each example, in the order in which they are shown.

        Args:
            number: how many.
            other_domain: they have one other skin, of another domain; else the question's own.
            cell: the question's problem, size, complexity and wording.
            skin: the question's skin.
            tuple_id: the question's tuple.

        Raises:
            UserError: the pool has too few tuples of this kind, or the skin's domain is not known.
        """
        digest = hashlib.sha256(repr((self.seed, other_domain, cell, skin, tuple_id)).encode()).digest()
        rng = np.random.default_rng(np.frombuffer(digest, dtype=np.uint32))
        skins = self.cells.get(cell, {})
        right = [one for one in sorted(skins) if self._is_right(one, skin, other_domain)]
        enough = [one for one in right if len(skins[one]) - (tuple_id in skins[one]) >= number]
        if not enough:
            kind = "a skin of another domain" if other_domain else f"the skin {skin}"
            problem, size, complexity, wording = cell
            what = f"{problem}, size {size}, complexity {complexity}, {wording}"
            few = f"has fewer than {number} other tuples of {what}, with {kind}."
            raise UserError(
                "--examples", few, "Name a larger set, for example one that `worldsense generate` makes with another seed."
            )
        tuples = skins[enough[int(rng.integers(len(enough)))]]
        others = [one for one in tuples if one != tuple_id]
        chosen = [others[i] for i in rng.choice(len(others), size=number, replace=False)]
        answers = list(rng.permutation(answers_of(str(cell[0]))))
        golds = [str(answers[i % len(answers)]) for i in range(number)]
        rng.shuffle(golds)
        return [(tuples[one][gold], gold) for one, gold in zip(chosen, golds, strict=True)]

    def _is_right(self, skin: str, asked: str, other_domain: bool) -> bool:
        if not other_domain:
            return skin == asked
        return skin in self.domains and asked in self.domains and self.domains[skin] != self.domains[asked]
