"""Items: templates with their slots filled, with ids, decision traces and flagged duplicates."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from worldprobe.errors import UserError
from worldprobe.ewok.fill_fixed import STEP, FixedSampler
from worldprobe.ewok.fill_independent import IndependentSampler
from worldprobe.ewok.fillers import Fillers
from worldprobe.ewok.placeholders import all_restrictions, keys
from worldprobe.ewok.rules import Rules
from worldprobe.ewok.sentences import fill
from worldprobe.ewok.swaps import Swap, apply_swap
from worldprobe.log import LOGGER

TEXTS = ("context1", "context2", "target1", "target2")
#: What pandas reads as a missing value, and so what the original lost from its tables.
_MISSING_WORDS = frozenset(
    ("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA", "NULL")
    + ("NaN", "None", "n/a", "nan", "null")
)
_DESIGN = ("concept_a", "concept_b", "context_contrast", "context_type", "target_contrast")
_COLUMNS = ("item_id", "domain", "version", "meta_template", "template", *TEXTS, *_DESIGN, "fillers", "tags")

Row = tuple[object, ...]


class Slots(NamedTuple):
    """A template ready to be filled."""

    domain: str
    meta_template: int
    template: int
    texts: tuple[str, ...]
    keys: tuple[str, ...]
    design: tuple[str | None, ...]


def open_slots(templates: pd.DataFrame, swaps: Sequence[Swap], rules: Rules) -> dict[str, list[Slots]]:
    """Domain -> its templates in row order, with swaps applied and the distinct slot keys found.

    By default a variable has one key per template: its restrictions are those of all four texts together.
    """
    domains: dict[str, list[Slots]] = {}
    columns = [
        "domain",
        "meta_template",
        "template",
        *TEXTS,
        "concept_a",
        "concept_b",
        "context_contrast",
        "context_type",
        "target_contrast",
    ]
    for domain, meta_template, template, *rest in zip(*(templates[c].tolist() for c in columns), strict=True):
        texts = tuple(rest[:4])
        for swap in swaps:
            texts = tuple(apply_swap(text, swap, rules) for text in texts)
        design = tuple(_present(value, rules) for value in rest[4:])
        domains.setdefault(domain, []).append(Slots(domain, meta_template, template, texts, template_keys(texts, rules), design))
    return domains


def template_keys(texts: Iterable[str], rules: Rules) -> tuple[str, ...]:
    """The distinct slot keys of a template's texts, in code-point order.

    >>> template_keys(["{agent1} lifts {object1}.", "{object1:large=true} falls."], Rules())
    ('agent1', 'object1:large=true')
    """
    if rules.loose_variables:
        return tuple(sorted({key for text in texts for key in keys(text)}))
    found = all_restrictions(texts, rules)
    return tuple(sorted(":".join([name, *sorted(restrictions)]) for name, restrictions in found.items()))


def _present(value: object, rules: Rules) -> str | None:
    if not isinstance(value, str) or (rules.missing_words and value in _MISSING_WORDS):
        return None
    return value


def fill_fixed(domains: Mapping[str, list[Slots]], fillers: Fillers, versions: Sequence[int]) -> list[Row]:
    """One item per template and version, with one constant filling per version and domain.

    A template without an item (its classes have too few fillers for the version) is told in a warning.
    """
    rows: list[Row] = []
    for domain, templates in domains.items():
        for version in versions:
            sampler = FixedSampler(fillers, version, [t.keys for t in templates])
            before = len(rows)
            rows += _rows(templates, lambda t, sampler=sampler, version=version: [(version, sampler.fill(t.keys))], fillers.rules)
            lost = len(templates) - (len(rows) - before)
            if lost:
                short = ", ".join(
                    f"{key} (met by {n}, enough for {(n + STEP - 1) // STEP} versions)" for key, n in sampler.short.items()
                )
                LOGGER.warning(
                    "%s, version %d: %d templates have no item; too few fillers: %s", domain, version, lost, short or "see above"
                )
    return rows


def fill_independent(domains: Mapping[str, list[Slots]], fillers: Fillers, per_template: int, seed: int) -> list[Row]:
    """Up to ``per_template`` items per template, each sampled on its own; a shortfall is told in a warning."""
    rows: list[Row] = []
    short: Counter[int] = Counter()
    for domain, templates in domains.items():
        for template in templates:
            sampler = IndependentSampler(fillers, template.keys, (seed, domain, template.meta_template, template.template))
            fillings = list(sampler.sample(per_template))
            if len(fillings) < per_template:
                short[len(fillings)] += 1
                LOGGER.warning(
                    "%s_%d_%d has only %d distinct fillings, fewer than the %d asked for",
                    domain, template.meta_template, template.template, len(fillings), per_template,
                )  # fmt: skip
            rows += _rows([template], lambda _, fillings=fillings: enumerate(fillings), fillers.rules)
    if short:
        LOGGER.warning("%d templates have fewer than %d items", sum(short.values()), per_template)
    return rows


Fillings = Callable[[Slots], Iterable[tuple[int, Mapping[str, str] | None]]]


def _rows(templates: Iterable[Slots], fillings_of: Fillings, rules: Rules) -> Iterator[Row]:
    for t in templates:
        concept_a, concept_b, *contrasts = t.design
        for version, fillings in fillings_of(t):
            if fillings is None:
                continue
            texts = [fill(text, fillings, rules) for text in t.texts]
            trace = json.dumps(fillings, sort_keys=True, ensure_ascii=False)
            item_id = f"{t.domain}_{t.meta_template}_{t.template}_v{version}"
            numbers = (t.domain, version, t.meta_template, t.template)
            yield (item_id, *numbers, *texts, concept_a, concept_b, *contrasts, trace, ",".join(t.keys))


def items_table(rows: Sequence[Row], pattern: str | None = None) -> pd.DataFrame:
    """The items table, without ``duplicate_of``.

    Args:
        rows: from ``fill_fixed`` or ``fill_independent``.
        pattern: a regular expression; only items in whose tags it is found are kept.

    Raises:
        UserError: the pattern is broken, or nothing is left.
    """
    if pattern:
        try:
            search = re.compile(pattern).search
        except re.error as error:
            raise UserError(f"--filter {pattern}", f"is no regular expression ({error}).", "Correct it.") from error
        rows = [row for row in rows if search(str(row[-1]))]
    if not rows:
        raise UserError(
            f"--filter {pattern}" if pattern else "items",
            "no item is left.",
            "Check swap, filter and versions against the fillers.",
        )
    return pd.DataFrame(rows, columns=_COLUMNS)


def flag_duplicates(items: pd.DataFrame) -> pd.DataFrame:
    """Name, for each item whose four texts another item has, the first such item (by template, then version)."""
    ordered = items.sort_values(["domain", "meta_template", "template", "version"], kind="stable")
    first: dict[tuple[str, ...], str] = {}
    texts = zip(*(ordered[c].tolist() for c in TEXTS), strict=True)
    duplicate_of = [
        None if (found := first.setdefault(four, item_id)) == item_id else found
        for item_id, four in zip(ordered["item_id"], texts, strict=True)
    ]
    return ordered.assign(duplicate_of=pd.Series(duplicate_of, index=ordered.index, dtype="str"))
