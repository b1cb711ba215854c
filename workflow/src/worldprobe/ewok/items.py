"""Items: templates with their slots filled, with ids, decision traces and flagged duplicates."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import pandas as pd

from worldprobe.errors import UserError
from worldprobe.ewok.fill_fixed import STEP, FixedSampler
from worldprobe.ewok.fill_independent import IndependentSampler
from worldprobe.ewok.fillers import Fillers
from worldprobe.ewok.rules import Rules
from worldprobe.ewok.sentences import fill
from worldprobe.ewok.slots import DESIGN, TEXTS, Slots
from worldprobe.log import LOGGER

_COLUMNS = ("item_id", "domain", "version", "meta_template", "template", *TEXTS, *DESIGN, "fillers", "tags")

Row = tuple[object, ...]


def fill_fixed(domains: Mapping[str, list[Slots]], fillers: Fillers, versions: Sequence[int]) -> list[Row]:
    """One item per template and version, with one constant filling per version and domain.

    A template without an item (its classes have too few fillers for the version) is told in a warning.
    """
    rows: list[Row] = []
    for domain, templates in domains.items():
        for version in versions:
            sampler = FixedSampler(fillers, version, [t.keys for t in templates])
            before = len(rows)
            for template in templates:
                rows += _rows(template, [(version, sampler.fill(template.keys))], fillers.rules)
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
            rows += _rows(template, enumerate(fillings), fillers.rules)
    if short:
        LOGGER.warning("%d templates have fewer than %d items", sum(short.values()), per_template)
    return rows


def _rows(template: Slots, numbered: Iterable[tuple[int, Mapping[str, str] | None]], rules: Rules) -> Iterator[Row]:
    concept_a, concept_b, *contrasts = template.design
    for version, fillings in numbered:
        if fillings is None:
            continue
        texts = [fill(text, fillings, rules) for text in template.texts]
        trace = json.dumps(fillings, sort_keys=True, ensure_ascii=False)
        item_id = f"{template.domain}_{template.meta_template}_{template.template}_v{version}"
        numbers = (template.domain, version, template.meta_template, template.template)
        yield (item_id, *numbers, *texts, concept_a, concept_b, *contrasts, trace, ",".join(template.keys))


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
