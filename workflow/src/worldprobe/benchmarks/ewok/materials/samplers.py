"""Choice of the fillers of a template: one constant filling of a version (fixed), all fillers about
equally often (balanced), or each item on its own (independent).

In a balanced version no name stands for a version, a domain or a role.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np

from worldprobe.benchmarks.ewok.materials.fillers import MAGNET, Filler, Fillers
from worldprobe.benchmarks.ewok.materials.opened import DESIGN, OpenTemplate
from worldprobe.benchmarks.ewok.materials.slots import Key
from worldprobe.errors import UserError

#: What is balanced besides the fillers themselves: names by sex and origin.
BALANCED = ("sex", "western")
#: Values of ``BALANCED``; None: the class has no such column.
Group = tuple[str | None, ...]
T = TypeVar("T")


def domain_number(domain: str) -> int:
    """A number for the seed of a domain, the same in every process."""
    return int.from_bytes(hashlib.sha256(domain.encode()).digest()[:4], "big")


#: Versions are windows on the same shuffled fillers that move by this many.
STEP = 2


def enough_for(count: int) -> int:
    """For how many versions so many fillers are enough, where nothing else uses them.

    >>> [enough_for(count) for count in (0, 1, 2, 9)]
    [0, 1, 1, 5]
    """
    return (count + STEP - 1) // STEP


class FixedSampler:
    """Fills the templates of one domain in one version, in row order: what comes first decides what
    is shared.

    Args:
        fillers: the fillers.
        version: from 0.
        key_sets: the key sets of all the domain's templates; fillers that alone meet a restriction
            are kept for it.
    """

    def __init__(self, fillers: Fillers, version: int, key_sets: Sequence[tuple[Key, ...]]) -> None:
        self.fillers, self.rules, self.version = fillers, fillers.rules, version
        #: Slot key -> its number of fillers, where these are too few for the version.
        self.short: dict[str, int] = {}
        alone = [
            options
            for key in set(itertools.chain(*key_sets))
            if len(options := fillers.options(key)) == 1
        ]
        self._used = {MAGNET} if self.rules.one_magnet else {only.text for [only] in alone}
        self._picked: dict[str, list[Filler]] = {}
        self._memo: dict[str, Filler] = {}
        self._outcomes: dict[tuple[str, ...], dict[str, str] | None] = {}

    def fill(self, keys: tuple[Key, ...]) -> Mapping[str, str] | None:
        """Fillings for a key set, or None where some class has too few fillers for this version.

        Args:
            keys: distinct keys in code-point order.
        """
        if keys in self._outcomes and (
            self.rules.failed_stay_failed or self._outcomes[keys] is not None
        ):
            return self._outcomes[keys]
        fillings: dict[str, str] = {}
        for key in keys:
            filler = self._pick(key)
            if filler is None:
                break
            fillings[key] = filler.text
        self._outcomes[keys] = fillings if len(set(fillings.values())) == len(keys) else None
        return self._outcomes[keys]

    def _pick(self, key: Key) -> Filler | None:
        recalled = self._recall(key)
        if recalled is not None:
            return recalled
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

    def _recall(self, key: Key) -> Filler | None:
        if key in self._memo or self.rules.loose_variables:
            return self._memo.get(key)
        earlier = self._picked.get(key.variable, ())
        return next((f for f in earlier if f.meets(key.restrictions)), None)

    def _remember(self, key: Key, filler: Filler) -> None:
        variable = key.variable
        self._memo[key] = filler
        self._picked.setdefault(variable, []).append(filler)
        if self.rules.loose_variables:
            self._memo.setdefault(variable, filler)
            for column, value in filler.columns.items():
                self._memo.setdefault(f"{variable}:{column}={value}", filler)


#: Draws in a row that repeat an earlier item, or a filler within the item, before what is left is
#: listed.
_DRAWS = 64


class IndependentSampler:
    """Distinct fillings of one template; the first k are the same however many are asked for.

    Args:
        fillers: the fillers.
        keys: the template's slot keys.
        seed: the study's seed and the template's coordinates; nothing else moves the sample.
    """

    def __init__(
        self, fillers: Fillers, keys: Sequence[str], seed: tuple[int, str, int, int]
    ) -> None:
        self.keys = tuple(keys)
        self.options = [
            list(dict.fromkeys(filler.text for filler in fillers.options(key))) for key in keys
        ]
        self._sizes = np.tile([len(texts) for texts in self.options], (_DRAWS, 1))
        study, domain, meta_template, template = seed
        self._seed = [study, domain_number(domain), meta_template, template]

    def sample(self, count: int) -> Iterator[dict[str, str]]:
        """Up to ``count`` distinct fillings, no filler twice within one; fewer only if there are no
        more.
        """
        taken: set[tuple[str, ...]] = set()
        free: dict[
            tuple[str, ...], None
        ] = {}  # listed no further than they are asked for, and never twice
        unlisted = (filling for filling in self.all_fillings() if filling not in taken)
        for number in range(count):
            rng = np.random.default_rng([*self._seed, number])
            filling = self._draw(rng, taken)
            if filling is None:  # few are left: little more than those taken need be listed
                most = 16 * (len(taken) + _DRAWS)
                free |= dict.fromkeys(itertools.islice(unlisted, max(most - len(free), 0)))
                few = list(itertools.islice(free, most))
                if not few:
                    return
                filling = few[int(rng.integers(len(few)))]
            taken.add(filling)
            free.pop(filling, None)
            yield dict(zip(self.keys, filling, strict=True))

    def all_fillings(self) -> Iterator[tuple[str, ...]]:
        """Every filling, one by one, in the order of the options."""
        for filling in itertools.product(*self.options):
            if len(set(filling)) == len(filling):
                yield filling

    def _draw(
        self, rng: np.random.Generator, taken: Collection[tuple[str, ...]]
    ) -> tuple[str, ...] | None:
        """A filling that is not taken, if some draws find one."""
        if all(self.options):
            for pick in rng.integers(self._sizes).tolist() if self.options else [()]:
                filling = tuple([texts[i] for texts, i in zip(self.options, pick, strict=True)])
                if len(set(filling)) == len(filling) and filling not in taken:
                    return filling
        return None


#: Combinations that are shuffled at once, in 4 bytes each.
MOST = 2**27
_CHUNK = 1024


class ProductSampler:
    """Fills the templates of one domain, in row order: each template moves the generator for those
    after it.

    Combinations are kept as their numbers in the full product, which is never written out.

    Args:
        fillers: the fillers.
        version: the original's name of the seed; every domain starts from it.
    """

    def __init__(self, fillers: Fillers, version: int) -> None:
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
        return (
            dict(zip(keys, filling, strict=True))
            for filling in itertools.islice(_in_turn(order, texts), count)
        )

    def _shuffled(self, keys: tuple[str, ...], size: int) -> np.ndarray:
        """The combinations of a set of keys, shuffled again from where the last template with these
        keys left them.
        """
        if size > MOST:
            slots = ", ".join(f"{{{key}}}" for key in keys)
            problem = (
                f"{size:,} combinations of fillers for {slots}; the original lists them all, and at"
                f" most {MOST:,} are."
            )
            raise UserError(
                "--mode independent --compat",
                problem,
                "Leave out --compat: sampling then lists nothing.",
            )
        if keys not in self._orders:
            self._orders[keys] = np.arange(size, dtype=np.uint32)
        self._generator.shuffle(self._orders[keys])
        return self._orders[keys]


def _in_turn(order: np.ndarray, texts: Sequence[Sequence[str]]) -> Iterator[tuple[str, ...]]:
    """The fillings with these numbers in the product (last key fastest), without those that use a
    filler twice.
    """
    shape = tuple(map(len, texts))
    for start in range(0, len(order), _CHUNK):
        numbers = order[start : start + _CHUNK]
        picks = zip(*np.unravel_index(numbers, shape), strict=True) if shape else [()]
        for pick in picks:
            filling = tuple(of_key[i] for of_key, i in zip(texts, pick, strict=True))
            if len(set(filling)) == len(filling):
                yield filling


class BalancedSampler:
    """Fills the templates of one domain, version after version, each template with fillings of its
    own.

    A slot first takes a group of fillers (sex x origin, where the class has these columns): one
    that the variable has had least often in the version; of these, one that it has had least often
    in this template's other versions, with the template's concepts and design features and beside
    the groups of the item's other variables, all added up. Of the group it takes the filler that
    the template has had least often in this slot, of these the one that the domain has had least
    often, and chance decides between equals. Clinical trials balance their arms like this
    (minimization: Pocock and Simon, Biometrics 1975); the random part that they add is not needed
    where nobody guesses ahead.

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

    def fill(self, template: OpenTemplate, version: int) -> Mapping[str, str] | None:
        """Fillings of a template, no filler twice; None where there are too few.

        Args:
            template: the domain's templates come in row order, and again for each version from 0.
            version: its number.
        """
        name, counts = template.template_id, self._counts
        fillings: dict[str, str] = {}
        beside: list[Hashable] = list(
            zip(DESIGN, template.design, strict=False)
        )  # without the marks
        for key in sorted(template.keys, key=lambda key: (len(self.fillers.options(key)), key)):
            variable = key.variable
            taken = set(fillings.values())
            free = {
                group: left
                for group, texts in self._by_group(key).items()
                if (left := [t for t in texts if t not in taken])
            }
            if not free:
                return None
            group = self._rarest(
                {group: self._rarity(group, variable, name, version, beside) for group in free}
            )
            fillings[key] = text = self._rarest(
                {text: (counts[name, key, text], counts[text]) for text in free[group]}
            )
            counts.update(
                [(version, variable, group), (name, variable, group), (name, key, text), text]
            )
            counts.update((version, variable, group, other) for other in beside)
            beside.append((variable, group))
        return fillings

    def _by_group(self, key: str) -> Mapping[Group, list[str]]:
        """The texts that may fill a key, by group."""
        if key not in self._groups:
            groups = self._groups.setdefault(key, {})
            for text, filler in {
                filler.text: filler for filler in self.fillers.options(key)
            }.items():
                groups.setdefault(
                    tuple(filler.columns.get(column) for column in BALANCED), []
                ).append(text)
        return self._groups[key]

    def _rarity(
        self, group: Group, variable: str, template: str, version: int, beside: Sequence[Hashable]
    ) -> tuple[int, int]:
        """Counts of a group in a slot: over the version; and over the template, with those beside
        the same fillers and features of the design.
        """
        counts = self._counts
        together = sum(counts[version, variable, group, other] for other in beside)
        return counts[version, variable, group], counts[template, variable, group] + together

    def _rarest(self, counts: Mapping[T, tuple[int, ...]]) -> T:
        """The choice with the smallest counts; chance decides between equals."""
        if len(counts) == 1:
            return next(iter(counts))
        lots = self._rng.random(len(counts)).tolist()
        return min(
            zip(counts, lots, strict=True), key=lambda choice: (counts[choice[0]], choice[1])
        )[0]
