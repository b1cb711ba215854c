"""Templates made ready to be filled: swaps applied, and each variable's mentions settled to the keys that draw a filler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd

from worldprobe.benchmarks.ewok.materials.fillers import Fillers
from worldprobe.benchmarks.ewok.materials.placeholders import KEY, key_for, keys, split_restrictions, variable_of
from worldprobe.benchmarks.ewok.materials.rules import Rules
from worldprobe.benchmarks.ewok.materials.swaps import Swap, apply_swap
from worldprobe.benchmarks.ewok.vocabulary import TEXTS

DESIGN = ("concept_a", "concept_b", "context_contrast", "context_type", "target_contrast")
#: What pandas reads as a missing value, and so what the original lost from its tables.
_MISSING_WORDS = frozenset(
    [
        *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>"),
        *("N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
    ]
)


class Slots(NamedTuple):
    """A template ready to be filled.

    Attributes:
        texts: the four texts in the order of ``TEXTS``; every slot in them is one of ``keys``.
        keys: distinct, in code-point order.
        design: the columns ``DESIGN``.
    """

    domain: str
    meta_template: int
    template: int
    texts: tuple[str, ...]
    keys: tuple[str, ...]
    design: tuple[str | None, ...]


def open_slots(templates: pd.DataFrame, fillers: Fillers, swaps: Sequence[Swap] = ()) -> dict[str, list[Slots]]:
    """Domain -> its templates in row order."""
    domains: dict[str, list[Slots]] = {}
    columns = ["domain", "meta_template", "template", *TEXTS, *DESIGN]
    for domain, meta_template, template, *rest in zip(*(templates[c].tolist() for c in columns), strict=True):
        texts = tuple(rest[: len(TEXTS)])
        for swap in swaps:
            texts = tuple(apply_swap(text, swap, fillers.rules) for text in texts)
        texts, slot_keys = settle(texts, fillers)
        design = tuple(_present(value, fillers.rules) for value in rest[len(TEXTS) :])
        domains.setdefault(domain, []).append(Slots(domain, meta_template, template, texts, slot_keys, design))
    return domains


def settle(texts: tuple[str, ...], fillers: Fillers) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Give the mentions of a variable one key with all their restrictions, so that it means one filler in an item.

    Where no filler meets them all (a context about cloth against one about a liquid), each mention keeps a key of its own. The
    original gives every spelling its own key.

    Returns:
        The texts with settled keys, and the distinct keys in code-point order.
    """
    mentioned = dict.fromkeys(key for text in texts for key in keys(text))
    if fillers.rules.loose_variables:
        return texts, tuple(sorted(mentioned))
    by_variable: dict[str, dict[str, list[str]]] = {}
    for mention in mentioned:
        variable, _, written = mention.partition(":")
        by_variable.setdefault(variable, {})[mention] = split_restrictions(written)
    settled = {}
    for variable, mentions in by_variable.items():
        together = key_for(variable, {restriction for restrictions in mentions.values() for restriction in restrictions})
        is_met = len(mentions) == 1 or bool(fillers.options(together))
        for mention, restrictions in mentions.items():
            settled[mention] = together if is_met else key_for(variable, set(restrictions))
    return tuple(KEY.sub(lambda m: f"{{{settled[m[1]]}}}", text) for text in texts), tuple(sorted(set(settled.values())))


def is_ambiguous(slot_keys: Sequence[str]) -> bool:
    """Whether a mention without restriction occurs next to mentions of the same variable that cannot be one filler."""
    variables = [variable_of(key) for key in slot_keys]
    return any(key == variable and variables.count(variable) > 1 for key, variable in zip(slot_keys, variables, strict=True))


def _present(value: object, rules: Rules) -> str | None:
    if not isinstance(value, str) or (rules.missing_words and value in _MISSING_WORDS):
        return None
    return value
