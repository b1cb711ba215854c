"""From open templates to rows of items: which fillers each template has in each version."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from worldprobe.benchmarks.ewok.materials.fillers import Fillers
from worldprobe.benchmarks.ewok.materials.opened import DESIGN, MARKS, OpenTemplate
from worldprobe.benchmarks.ewok.materials.samplers import (
    BalancedSampler,
    FixedSampler,
    IndependentSampler,
    ProductSampler,
    enough_for,
)
from worldprobe.benchmarks.ewok.materials.slots import fill
from worldprobe.benchmarks.ewok.vocabulary import TEXTS
from worldprobe.errors import UserError
from worldprobe.log import LOGGER

COLUMNS = (
    "item_id",
    "domain",
    "version",
    "meta_template",
    "template",
    *TEXTS,
    *DESIGN,
    *MARKS,
    "fillers",
    "tags",
)

Row = tuple[object, ...]


@dataclass(frozen=True)
class Filling:
    """How slots are filled.

    Attributes:
        mode: "fixed" (one constant filling per domain and version), "balanced" (a version uses all
            fillers about equally often) or "independent" (each item sampled on its own).
        numbers: versions; in the independent mode, which of a template's samples, counted from 0.
        seed: of the balanced and the independent mode.
        swap: other fillers, e.g. ``object->nonword``.
        tag_filter: keep items in whose tags this regular expression is found.
        limit: keep the items of so many templates, see ``subsets.in_share``.
    """

    mode: str = "fixed"
    numbers: Sequence[int] = (0, 1, 2, 3, 4)
    seed: int = 0
    swap: Sequence[str] = ()
    tag_filter: str | None = None
    limit: int | None = None


def fill_rows(
    domains: Mapping[str, list[OpenTemplate]], fillers: Fillers, filling: Filling
) -> Iterator[Row]:
    """The rows of all templates in all versions, as its mode says.

    A version for which some class has too few fillers loses items; a warning says which and why.

    Args:
        domains: from ``open_templates``.
        fillers: the fillers.
        filling: how.

    Raises:
        UserError: a version for which no slot has a filler left.
    """
    if filling.mode == "fixed":
        return _fixed(domains, fillers, filling.numbers)
    if filling.mode == "balanced":
        return _balanced(domains, fillers, filling.numbers, filling.seed)
    return _independent(domains, fillers, filling.numbers, filling.seed)


def _fixed(
    domains: Mapping[str, list[OpenTemplate]], fillers: Fillers, versions: Sequence[int]
) -> Iterator[Row]:
    """One constant filling per version and domain."""
    _refuse_exhausted(domains, fillers, versions)
    for domain, templates in domains.items():
        lost: Counter[int] = Counter()
        short: dict[str, int] = {}
        for version in versions:
            sampler = FixedSampler(fillers, version, [template.keys for template in templates])
            for template in templates:
                fillings = sampler.fill(template.keys)
                if fillings is None:
                    lost[version] += 1
                else:
                    yield item_row(template, version, fillings, fillers)
            short |= sampler.short
        _warn_of_lost_items(domain, lost, short)


def _refuse_exhausted(
    domains: Mapping[str, list[OpenTemplate]], fillers: Fillers, versions: Sequence[int]
) -> None:
    """Versions move through the fillers; beyond the largest class every slot is empty, however far
    one counts.
    """
    slot_keys = {
        key for templates in domains.values() for template in templates for key in template.keys
    }
    enough = max((enough_for(len(fillers.options(key))) for key in slot_keys), default=None)
    if enough is not None and versions and max(versions) >= enough:
        beyond = min(version for version in versions if version >= enough)
        raise UserError(
            f"version {beyond}",
            "no filler is left for it: the largest set of fillers for a slot is enough for"
            f" {enough} versions.",
            f"Use versions 0-{max(enough - 1, 0)}, or add fillers.",
        )


def _warn_of_lost_items(domain: str, lost: Counter[int], short: Mapping[str, int]) -> None:
    reasons = ", ".join(
        f"{{{key}}} is met by {n}, enough for {enough_for(n)} versions"
        for key, n in sorted(short.items())
    )
    if lost:
        LOGGER.warning(
            "%s: templates without an item (%s); %s",
            domain,
            ", ".join(f"version {version}: {count}" for version, count in sorted(lost.items())),
            reasons or "fillers are used up",
        )


def _balanced(
    domains: Mapping[str, list[OpenTemplate]], fillers: Fillers, versions: Sequence[int], seed: int
) -> Iterator[Row]:
    """Each template with fillings of its own; a version uses what is listed about equally often,
    and depends on those before it.
    """
    for domain, templates in domains.items():
        sampler = BalancedSampler(fillers, domain, seed)
        lost: Counter[int] = Counter()
        for version in range(max(versions, default=-1) + 1):
            for template in templates:
                fillings = sampler.fill(template, version)
                if version not in versions:
                    continue
                if fillings is None:
                    lost[version] += 1
                else:
                    yield item_row(template, version, fillings, fillers)
        _warn_of_lost_items(domain, lost, {})


def _independent(
    domains: Mapping[str, list[OpenTemplate]], fillers: Fillers, numbers: Sequence[int], seed: int
) -> Iterator[Row]:
    """Each item sampled on its own, in the order of the items table: sample by sample, template by
    template; a sample depends on those before it.

    In the original a template's sample depends on those of the domain before it, and the seed is
    called version.
    """
    count = max(numbers, default=-1) + 1
    samples = [
        sample
        for templates in domains.values()
        for sample in _sample(templates, fillers, count, seed)
    ]
    samples.sort(key=lambda sample: sample[0][:3])
    for number in range(count):
        for template, sample in samples:
            fillings = next(sample, None)
            if fillings is not None and number in numbers:
                yield item_row(template, number, fillings, fillers)


def templates_in_order(domains: Mapping[str, list[OpenTemplate]]) -> list[OpenTemplate]:
    """The templates in the order of the items table."""
    return sorted(
        (template for rows in domains.values() for template in rows),
        key=lambda template: template[:3],
    )


def _sample(
    templates: Sequence[OpenTemplate], fillers: Fillers, count: int, seed: int
) -> Iterator[tuple[OpenTemplate, Iterator[Mapping[str, str]]]]:
    """A domain's templates with the fillings of each."""
    if fillers.rules.listed_products:
        products = ProductSampler(fillers, seed)
        # Taken at once: templates with the same slots share one order, which each of them shuffles.
        yield from [
            (template, iter(list(products.sample(template.keys, count)))) for template in templates
        ]
        return
    for template in templates:
        coordinates = (seed, template.domain, template.meta_template, template.template)
        yield template, IndependentSampler(fillers, template.keys, coordinates).sample(count)


def fill_families(
    domains: Mapping[str, list[OpenTemplate]], fillers: Fillers, numbers: Sequence[int], seed: int
) -> Iterator[Row]:
    """Items of families: each base is sampled on its own, and all its levels have the same fillers.

    Args:
        domains: from ``open_templates``, of templates of families alone.
        fillers: the fillers.
        numbers: which of each base's samples, counted from 0.
        seed: the study's.
    """
    for domain, templates in domains.items():
        for unit, levels in itertools.groupby(templates, lambda template: template.meta_template):
            base = list(levels)
            keys = sorted({key for level in base for key in level.keys})
            sampler = IndependentSampler(fillers, keys, (seed, domain, unit, 0))
            for number, filling in enumerate(sampler.sample(max(numbers) + 1)):
                if number in numbers:
                    for level in base:
                        fillings: dict[str, str] = {key: filling[key] for key in level.keys}
                        yield item_row(level, number, fillings, fillers)


def item_row(
    template: OpenTemplate, version: int, fillings: Mapping[str, str], fillers: Fillers
) -> Row:
    """One row, in the order of ``COLUMNS``."""
    numbers = (template.domain, version, template.meta_template, template.template)
    texts = (fill(text, fillings, fillers.rules, fillers.columns) for text in template.texts)
    trace = json.dumps({key: fillings[key] for key in sorted(fillings)}, ensure_ascii=False)
    return (
        f"{template.template_id}_v{version}",
        *numbers,
        *texts,
        *template.design,
        trace,
        ",".join(template.keys),
    )


def items_table(rows: Iterable[Row]) -> pd.DataFrame:
    """The items table, without ``duplicate_of``.

    Args:
        rows: in the order of ``COLUMNS``.

    Raises:
        UserError: there is no row.
    """
    listed = list(rows)
    if not listed:
        raise UserError(
            "items",
            "no template has an item.",
            "Check versions and swaps against the fillers; the log says which are too few.",
        )
    # Where no row has one, these would not be text.
    return pd.DataFrame(listed, columns=COLUMNS).astype(
        {"concept_b": "str", "context_contrast": "str"}
    )
