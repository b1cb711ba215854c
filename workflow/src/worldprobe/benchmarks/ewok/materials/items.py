"""Items: templates with their slots filled, with ids, decision traces and flagged duplicates."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

import pandas as pd

from worldprobe.benchmarks.ewok.materials.fill_fixed import FixedSampler, enough_for
from worldprobe.benchmarks.ewok.materials.fill_independent import IndependentSampler
from worldprobe.benchmarks.ewok.materials.fillers import Fillers
from worldprobe.benchmarks.ewok.materials.rules import Rules
from worldprobe.benchmarks.ewok.materials.sentences import fill
from worldprobe.benchmarks.ewok.materials.slots import DESIGN, TEXTS, Slots
from worldprobe.errors import UserError
from worldprobe.log import LOGGER

_COLUMNS = ("item_id", "domain", "version", "meta_template", "template", *TEXTS, *DESIGN, "fillers", "tags")

Row = tuple[object, ...]


def fill_fixed(domains: Mapping[str, list[Slots]], fillers: Fillers, versions: Sequence[int]) -> list[Row]:
    """One item per template and version, with one constant filling per version and domain.

    A version for which some class has too few fillers loses items; a warning says which and why.
    """
    rows: list[Row] = []
    for domain, templates in domains.items():
        lost: dict[int, int] = {}
        short: dict[str, int] = {}
        for version in versions:
            sampler = FixedSampler(fillers, version, [template.keys for template in templates])
            writer = _Writer(fillers.rules)
            before = len(rows)
            for template in templates:
                fillings = sampler.fill(template.keys)
                if fillings is not None:
                    rows.append(writer.row(template, version, fillings))
            lost[version] = len(templates) - (len(rows) - before)
            short |= sampler.short
        if any(lost.values()):
            versions_lost = ", ".join(f"version {version}: {count}" for version, count in lost.items() if count)
            reasons = ", ".join(
                f"{{{key}}} is met by {n}, enough for {enough_for(n)} versions" for key, n in sorted(short.items())
            )
            LOGGER.warning("%s: templates without an item (%s); %s", domain, versions_lost, reasons or "fillers are used up")
    return rows


def fill_independent(domains: Mapping[str, list[Slots]], fillers: Fillers, per_template: int, seed: int) -> list[Row]:
    """Up to ``per_template`` items per template, each sampled on its own; a warning names the templates that have fewer."""
    rows: list[Row] = []
    short: list[str] = []
    for domain, templates in domains.items():
        for template in templates:
            name = f"{domain}_{template.meta_template}_{template.template}"
            sampler = IndependentSampler(fillers, template.keys, (seed, domain, template.meta_template, template.template))
            fillings = list(sampler.sample(per_template))
            if len(fillings) < per_template:
                short.append(f"{name} ({len(fillings)})")
            rows += [_Writer(fillers.rules).row(template, number, filling) for number, filling in enumerate(fillings)]
    if short:
        LOGGER.warning(
            "%d templates have fewer than %d distinct fillings; all are made: %s", len(short), per_template, ", ".join(short)
        )
    return rows


class _Writer:
    """Writes rows of the items table; texts that recur with the same fillings are filled once."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self._filled: dict[tuple[str, tuple[str, ...], tuple[str, ...]], str] = {}

    def row(self, template: Slots, version: int, fillings: Mapping[str, str]) -> Row:
        """One row, in the order of ``_COLUMNS``."""
        item_id = f"{template.domain}_{template.meta_template}_{template.template}_v{version}"
        words = tuple(fillings.values())
        texts = [self._fill(text, template.keys, words, fillings) for text in template.texts]
        trace = json.dumps(fillings, sort_keys=True, ensure_ascii=False)
        numbers = (template.domain, version, template.meta_template, template.template)
        return (item_id, *numbers, *texts, *template.design, trace, ",".join(template.keys))

    def _fill(self, text: str, keys: tuple[str, ...], words: tuple[str, ...], fillings: Mapping[str, str]) -> str:
        known = (text, keys, words)
        if known not in self._filled:
            self._filled[known] = fill(text, fillings, self.rules)
        return self._filled[known]


def items_table(rows: Sequence[Row]) -> pd.DataFrame:
    """The items table, without ``duplicate_of``.

    Args:
        rows: from ``fill_fixed`` or ``fill_independent``.

    Raises:
        UserError: there is no row.
    """
    if not rows:
        raise UserError(
            "items", "no template has an item.", "Check versions and swaps against the fillers; the log says what is short."
        )
    return pd.DataFrame(rows, columns=_COLUMNS)


def filter_tags(items: pd.DataFrame, pattern: str) -> pd.DataFrame:
    """The items in whose tags a regular expression is found.

    Raises:
        UserError: the pattern is broken, or nothing is left.
    """
    try:
        found = items[[bool(re.search(pattern, tags)) for tags in items["tags"]]]
    except re.error as error:
        raise UserError(f"--filter {pattern}", f"is no regular expression ({error}).", "Correct it.") from error
    if found.empty:
        raise UserError(f"--filter {pattern}", "no item is left.", 'It is searched in the slots, e.g. "agent1:sex=male,object1".')
    return found


def flag_duplicates(items: pd.DataFrame) -> pd.DataFrame:
    """Name, for each item whose four texts another item has, the first such item (by template, then version)."""
    columns = [items[c].tolist() for c in ("domain", "meta_template", "template", "version", "item_id", *TEXTS)]
    first: dict[tuple[str, ...], str] = {}
    for *_, item_id, context1, context2, target1, target2 in sorted(zip(*columns, strict=True)):
        first.setdefault((context1, context2, target1, target2), item_id)
    found = [first[texts] for texts in zip(*columns[5:], strict=True)]
    duplicate_of = [None if name == item_id else name for name, item_id in zip(found, columns[4], strict=True)]
    return items.assign(duplicate_of=pd.Series(duplicate_of, index=items.index, dtype="str"))


def shortfalls(items: pd.DataFrame, templates: pd.DataFrame, asked: int) -> dict[str, int]:
    """Template id -> its number of items, for templates that have fewer than were asked for."""
    made = items["item_id"].str.rpartition("_v")[0].value_counts()
    counts = {template: int(made.get(template, 0)) for template in templates["template_id"]}
    return {template: count for template, count in counts.items() if count < asked}
