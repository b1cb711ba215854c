"""Fillings of a version that use what is listed about equally often, so that no name stands for a version, a domain or a role."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping
from typing import TypeVar

import numpy as np

from worldprobe.benchmarks.ewok.materials.slots import DESIGN, Fillers, Slots, variable_of

#: What is balanced besides the fillers themselves: names by sex and origin.
BALANCED = ("sex", "western")
#: Values of ``BALANCED``; None: the class has no such column.
Group = tuple[str | None, ...]
T = TypeVar("T")


def domain_number(domain: str) -> int:
    """A number for the seed of a domain, the same in every process."""
    return int.from_bytes(hashlib.sha256(domain.encode()).digest()[:4], "big")


class BalancedSampler:
    """Fills the templates of one domain, version after version, each template with fillings of its own.

    A slot first takes a group of fillers (sex x origin, where the class has these columns): one that the variable has had least
    often in the version; of these, one that it has had least often in this template's other versions, with the template's
    concepts and design features and beside the groups of the item's other variables, all added up. Of the group it takes the
    filler that the template has had least often in this slot, of these the one that the domain has had least often, and chance
    decides between equals. Clinical trials balance their arms like this (minimization: Pocock and Simon, Biometrics 1975); the
    random part that they add is not needed where nobody guesses ahead.

    Args:
        fillers: the fillers.
        domain: its name.
        seed: decides between equals.
    """

    def __init__(self, fillers: Fillers, domain: str, seed: int) -> None:
        self.fillers = fillers
        self._rng = np.random.default_rng([seed, domain_number(domain)])
        self._counts: Counter[Hashable] = Counter()
        self._groups: dict[str, dict[Group, list[str]]] = {}

    def fill(self, template: Slots, version: int) -> Mapping[str, str] | None:
        """Fillings of a template, no filler twice; None where there are too few.

        Args:
            template: the domain's templates come in row order, and again for each version from 0.
            version: its number.
        """
        name, counts = template.template_id, self._counts
        fillings: dict[str, str] = {}
        beside: list[Hashable] = list(zip(DESIGN, template.design, strict=False))  # without the marks
        for key in sorted(template.keys, key=lambda key: (len(self.fillers.options(key)), key)):
            variable = variable_of(key)

            def of_group(group: Group, variable: str = variable) -> tuple[int, int]:
                together = sum(counts[version, variable, group, other] for other in beside)
                return counts[version, variable, group], counts[name, variable, group] + together

            def of_text(text: str, key: str = key) -> tuple[int, int]:
                return counts[name, key, text], counts[text]

            taken = set(fillings.values())
            free = {group: left for group, texts in self._by_group(key).items() if (left := [t for t in texts if t not in taken])}
            if not free:
                return None
            group = self._rarest(free, of_group)
            fillings[key] = text = self._rarest(free[group], of_text)
            counts.update([(version, variable, group), (name, variable, group), (name, key, text), text])
            counts.update((version, variable, group, other) for other in beside)
            beside.append((variable, group))
        return fillings

    def _by_group(self, key: str) -> Mapping[Group, list[str]]:
        """The texts that may fill a key, by group."""
        if key not in self._groups:
            groups = self._groups.setdefault(key, {})
            for text, filler in {filler.text: filler for filler in self.fillers.options(key)}.items():
                groups.setdefault(tuple(filler.columns.get(column) for column in BALANCED), []).append(text)
        return self._groups[key]

    def _rarest(self, choices: Collection[T], count: Callable[[T], tuple[int, ...]]) -> T:
        """The choice with the smallest counts; chance decides between equals."""
        if len(choices) == 1:
            return next(iter(choices))
        lots = self._rng.random(len(choices)).tolist()
        return min(zip(choices, lots, strict=True), key=lambda choice: (count(choice[0]), choice[1]))[0]
