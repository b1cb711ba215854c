"""Fillings of a version that use what is listed about equally often, so that no name stands for a
version, a domain or a role.

And fillings of parallel forms: the same templates with other fillings and, if wanted, in other
frames. What a model knows is the same in every form; what it has read is in one form at most. So
the spread between forms is the part of a score that hangs on wording, and a form that stands out
may have been learned.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from worldprobe.benchmarks.ewok.materials.fillers import Fillers
from worldprobe.benchmarks.ewok.materials.opened import DESIGN, OpenTemplate

#: What is balanced besides the fillers themselves: names by sex and origin.
BALANCED = ("sex", "western")
#: Values of ``BALANCED``; None: the class has no such column.
Group = tuple[str | None, ...]
T = TypeVar("T")


def domain_number(domain: str) -> int:
    """A number for the seed of a domain, the same in every process."""
    return int.from_bytes(hashlib.sha256(domain.encode()).digest()[:4], "big")


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

            def of_group(group: Group, variable: str = variable) -> tuple[int, int]:
                together = sum(counts[version, variable, group, other] for other in beside)
                return counts[version, variable, group], counts[name, variable, group] + together

            def of_text(text: str, key: str = key) -> tuple[int, int]:
                return counts[name, key, text], counts[text]

            taken = set(fillings.values())
            free = {
                group: left
                for group, texts in self._by_group(key).items()
                if (left := [t for t in texts if t not in taken])
            }
            if not free:
                return None
            group = self._rarest(free, of_group)
            fillings[key] = text = self._rarest(free[group], of_text)
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

    def _rarest(self, choices: Collection[T], count: Callable[[T], tuple[int, ...]]) -> T:
        """The choice with the smallest counts; chance decides between equals."""
        if len(choices) == 1:
            return next(iter(choices))
        lots = self._rng.random(len(choices)).tolist()
        return min(
            zip(choices, lots, strict=True), key=lambda choice: (count(choice[0]), choice[1])
        )[0]


#: Sentences that say nothing and may begin any context; the first frame is the bare context.
FRAMES = (
    "",
    "Consider this.",
    "Imagine the following.",
    "Here is what we know.",
    "Think of this case.",
    "This is the story.",
    "Picture the following.",
    "Take this example.",
)
#: Draws until a filling is given up that repeats an earlier one of its template.
_PATIENCE = 16


class FormSampler:
    """Fillings of one template for several forms.

    A filler that one form has is in no other form of the template, nor in the items that the forms
    stand beside. Where a slot has too few fillers for that, a form takes one that is new in this
    slot, and where there is none, one that another form has; two forms never have the same filling.
    Which form gets which filling is drawn at last, so the forms of a template can be exchanged for
    one another: none is drawn from what others left.

    Args:
        fillers: the fillers.
        template: the template.
        seed: of the forms.
    """

    def __init__(self, fillers: Fillers, template: OpenTemplate, seed: int) -> None:
        self.options = {
            key: list(dict.fromkeys(f.text for f in fillers.options(key))) for key in template.keys
        }
        name = int.from_bytes(hashlib.sha256(template.template_id.encode()).digest()[:8], "big")
        self._rng = np.random.default_rng([seed, name])

    def sample(
        self, count: int, besides: Iterable[dict[str, str]] = ()
    ) -> list[dict[str, str] | None]:
        """The fillings of ``count`` forms; None for those for which there is no other filling.

        Args:
            count: number of forms.
            besides: fillings of the template that the forms are to differ from.
        """
        before = list(besides)
        made: list[dict[str, str] | None] = []
        for _ in range(count):
            tries = (self._draw(before) for _ in range(_PATIENCE))
            made.append(
                next(
                    (filling for filling in tries if filling is not None and filling not in before),
                    None,
                )
            )
            before += [made[-1]] if made[-1] else []
        return [made[place] for place in self._rng.permutation(count)]

    def _draw(self, before: Sequence[dict[str, str]]) -> dict[str, str] | None:
        used = {text for filling in before for text in filling.values()}
        filling: dict[str, str] = {}
        for key in sorted(self.options, key=lambda key: (len(self.options[key]), key)):
            free = [text for text in self.options[key] if text not in filling.values()]
            in_slot = {earlier.get(key) for earlier in before}
            pools = (
                [t for t in free if t not in used],
                [t for t in free if t not in in_slot],
                free,
            )
            pool = next(filter(None, pools), None)
            if pool is None:
                return None
            filling[key] = pool[int(self._rng.integers(len(pool)))]
        return dict(sorted(filling.items()))


def in_frame(template: OpenTemplate, form: int) -> OpenTemplate:
    """The template in the frame of a form: each form has every frame about equally often, and up to
    ``len(FRAMES)`` forms of a template have different ones.

    Args:
        template: the template.
        form: number of the form, from 0.
    """
    start = hashlib.sha256(template.template_id.encode()).digest()[0]
    frame = FRAMES[(start + form) % len(FRAMES)]
    context1, context2, *targets = template.texts
    return template._replace(texts=(f"{frame} {context1}", f"{frame} {context2}", *targets))


def shared_fillers(forms: Collection[dict[str, str] | None]) -> int:
    """How many fillers of a template's forms are in more than one of them."""
    texts = [text for filling in forms if filling for text in set(filling.values())]
    return len(texts) - len(set(texts))
