"""From templates to items: fill, filter, flag duplicates, keep what the release has; versions alone or gathered."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from worldprobe.benchmarks.ewok.materials.check import check_slots
from worldprobe.benchmarks.ewok.materials.compile import compile_templates
from worldprobe.benchmarks.ewok.materials.fillers import KEY, Fillers
from worldprobe.benchmarks.ewok.materials.items import (
    TAGS,
    IndependentRows,
    fill_fixed,
    fill_independent,
    filter_tags,
    flag_duplicates,
    items_table,
    matching_tags,
    shortfalls,
    write_stream,
)
from worldprobe.benchmarks.ewok.materials.materials import Materials, Source
from worldprobe.benchmarks.ewok.materials.original_quirks import Rules
from worldprobe.benchmarks.ewok.materials.slots import Slots, open_slots, parse_swaps
from worldprobe.benchmarks.ewok.vocabulary import OFFICIAL_TEXTS, TEXTS, slot_class
from worldprobe.commented_csv import read_frame
from worldprobe.errors import UserError, did_you_mean
from worldprobe.log import LOGGER, Progress
from worldprobe.provenance import Provenance

LISTED, REVERSED = "utils/items_in_results.csv", "utils/flagged_reverse.csv"


def apply_release_filter(items: pd.DataFrame, source: Source, rules: Rules) -> pd.DataFrame:
    """Keep the listed items; items are known by their four texts, whatever their ids.

    The list contains reversed items in their final form. We therefore first exchange the targets of every template of which some
    item is flagged (all its versions, as the paper's analysis does), then exclude. The original excludes first and exchanges
    single items, of which none is left by then.

    Raises:
        UserError: the materials have no such lists, or no item is left.
    """
    listed = set(_texts(source, LISTED))
    flagged = set(_texts(source, REVERSED))
    if rules.exclude_first:
        kept = _some(items[[texts in listed for texts in _rows(items)]], source)
        return _exchange_targets(kept, [texts in flagged for texts in _rows(kept)])
    names = list(zip(*(items[column].tolist() for column in ("domain", "meta_template", "template")), strict=True))
    templates = {name for name, texts in zip(names, _rows(items), strict=True) if texts in flagged}
    exchanged = _exchange_targets(items, [name in templates for name in names])
    return _some(exchanged[[texts in listed for texts in _rows(exchanged)]], source)


def _some(items: pd.DataFrame, source: Source) -> pd.DataFrame:
    if items.empty:
        problem = f"no item of these materials is in {LISTED}, the list of released items."
        raise UserError(source.path, problem, "Leave out --release-filter, or add --compat: it knows items by their exact texts.")
    return items


def _exchange_targets(items: pd.DataFrame, where: list[bool]) -> pd.DataFrame:
    if not any(where):
        return items
    exchanged = items.copy()
    exchanged.loc[where, ["target1", "target2"]] = items.loc[where, ["target2", "target1"]].to_numpy()
    return exchanged


def _rows(frame: pd.DataFrame) -> Iterator[tuple[str, ...]]:
    return zip(*(frame[text].tolist() for text in TEXTS), strict=True)


def _texts(source: Source, name: str) -> Iterator[tuple[str, ...]]:
    if name not in source.names:
        raise UserError(
            source.path, f"contains no {name}, which the release filter needs.", "Leave out --release-filter for these materials."
        )
    where = f"{source.path}, {name}"
    frame = read_frame(where, source.read(name))
    absent = [column for column in OFFICIAL_TEXTS if column not in frame]
    if absent:
        raise UserError(where, f"has no column {absent[0]}.", f"It needs the columns {', '.join(OFFICIAL_TEXTS)}.")
    return zip(*(frame[column].tolist() for column in OFFICIAL_TEXTS), strict=True)


#: What an items table states about its filling, as details of its provenance.
_SHARED = ("compat", "mode", "swap", "filter", "flags")


@dataclass(frozen=True)
class Filling:
    """How slots are filled.

    Attributes:
        mode: "fixed" (one constant filling per domain and version) or "independent" (each item sampled on its own).
        numbers: versions of the fixed mode; in the independent mode, which of a template's samples, counted from 0.
        seed: of the independent mode.
        swap: other fillers, e.g. ``object->nonword``.
        tag_filter: keep items in whose tags this regular expression is found.
    """

    mode: str = "fixed"
    numbers: Sequence[int] = (0, 1, 2, 3, 4)
    seed: int = 0
    swap: Sequence[str] = ()
    tag_filter: str | None = None


def fill_items(templates: pd.DataFrame, materials: Materials, filling: Filling) -> tuple[pd.DataFrame, dict[str, int]]:
    """All items of the versions asked for, before the release filter and without ``duplicate_of``.

    Args:
        templates: the templates table, compiled from these materials.
        materials: where the fillers come from; free of errors.
        filling: how.

    Returns:
        The items, and for each template that has fewer items than were asked for (before ``tag_filter``) how many it has.

    Raises:
        UserError: templates that no compiler wrote, a slot that no filler can fill, a version without fillers, a bad swap or
            filter, or no item is left.
    """
    slots, fillers = _open_slots(templates, materials, filling)
    if filling.mode == "fixed":
        with Progress("Filling", len(slots) * len(filling.numbers), "domains' versions") as progress:
            rows = fill_fixed(slots, fillers, filling.numbers, progress.advance)
    else:
        with Progress("Sampling", max(filling.numbers) + 1, "samples of each template") as progress:
            rows = fill_independent(slots, fillers, filling.numbers, filling.seed, progress.advance)
    items = items_table(rows)
    made = Counter(items["item_id"].str.rpartition("_v")[0])
    fewer = shortfalls(made, templates, len(filling.numbers))
    if filling.tag_filter:
        items = filter_tags(items, filling.tag_filter)
    return items, fewer


def stream_items(
    templates: pd.DataFrame, materials: Materials, filling: Filling, path: Path, made: Provenance, processes: int = 1
) -> tuple[int, int]:
    """Sample items each on their own and write the table, however long, in little memory; see ``fill_items``.

    Args:
        templates: the templates table, compiled from these materials.
        materials: where the fillers come from; free of errors.
        filling: how; its mode is independent.
        path: the table.
        made: what made it; shortfalls and duplicates are added.
        processes: how many sample; the table is the same for any number.

    Returns:
        Number of items, and how many of them have the texts of another.
    """
    slots, fillers = _open_slots(templates, materials, filling)
    tags = {",".join(template.keys) for rows in slots.values() for template in rows}
    wanted = matching_tags(tags, filling.tag_filter) if filling.tag_filter else tags

    def finish(n_duplicates: int) -> Provenance:
        fewer = shortfalls(rows.counts, templates, len(filling.numbers))
        made.details |= {key: value for key, value in {"fewer_items": fewer, "duplicates": n_duplicates}.items() if value}
        return made

    with Progress("Sampling", max(filling.numbers) + 1, "samples of each template") as progress:
        rows = IndependentRows(slots, fillers, filling.numbers, filling.seed, progress.advance, processes)
        n_items, n_duplicates = write_stream((row for row in rows if row[TAGS] in wanted), path, finish)
    return n_items, n_duplicates


def _open_slots(templates: pd.DataFrame, materials: Materials, filling: Filling) -> tuple[dict[str, list[Slots]], Fillers]:
    """The templates ready to be filled, if they can be."""
    fillers = Fillers(materials.fillers, materials.rules)
    _check_templates(templates, fillers)
    columns = {name: known.columns for name, known in materials.fillers.items()}
    slots = open_slots(templates, fillers, parse_swaps(filling.swap, list(materials.fillers), columns))
    check_slots(slots, fillers, materials.problems)
    materials.problems.raise_first()
    return slots, fillers


def compile_all(materials: Materials) -> pd.DataFrame:
    """All templates of materials that are free of errors.

    Raises:
        UserError: there is none; or as ``compile_templates``.
    """
    templates = compile_templates(materials)
    if templates.empty:
        fix = "`worldprobe materials check` lists what is wrong; contexts need entries, and targets that fit them."
        raise UserError(materials.source.path, "these materials yield no template.", fix)
    return templates


def _check_templates(templates: pd.DataFrame, fillers: Fillers) -> None:
    """Refuse a templates table that no compiler of ours wrote, before its texts become items."""
    where = "templates"
    fix = "Compile the templates again from these materials."
    if templates.empty:
        raise UserError(where, "the table has no rows.", fix)
    rows = zip(*(templates[c].tolist() for c in ("template_id", "domain", "meta_template", "template", *TEXTS)), strict=True)
    for template_id, domain, meta_template, template, *texts in rows:
        if template_id != f"{domain}_{meta_template}_{template}":
            raise UserError(f"{where}, {template_id}", f"is numbered {domain}, {meta_template}, {template}.", fix)
        for text in texts:
            if not text.strip() or re.search("[{}]", KEY.sub("", text)):
                raise UserError(f"{where}, {template_id}", "has an empty text or one whose braces do not match.", fix)
            for key in KEY.findall(text):
                if slot_class(key) not in fillers.classes:
                    problem = f'there is no filler class "{slot_class(key)}" for {{{key}}}'
                    raise UserError(f"{where}, {template_id}", problem + did_you_mean(slot_class(key), fillers.classes), fix)


def finish_items(items: pd.DataFrame, rules: Rules, source: Source | None) -> pd.DataFrame:
    """The items of all versions together, after the release filter, with duplicates flagged.

    Both look across versions: a template is reversed if any of its items is
    flagged, and an item may repeat one of another version.

    Args:
        items: of all versions.
        rules: which behaviours of the original are kept.
        source: materials with the release's lists; None keeps all items.

    Raises:
        UserError: the materials have no such lists, or no item is left.
    """
    if source is not None:
        if not rules.exclude_first:
            LOGGER.warning(
                "--release-filter knows items by their exact texts; without --compat many of the released items are not built"
            )
        items = apply_release_filter(items, source, rules)
    return flag_duplicates(items)


def filling_details(filling: Filling, is_part: bool) -> dict[str, Any]:
    """What an items table states about its filling.

    Args:
        filling: how it was filled.
        is_part: the table is one version (``--version``), to be gathered with others.
    """
    numbers = list(filling.numbers)
    counted = {"per_template": len(numbers)} if filling.mode == "independent" and not is_part else {"versions": numbers}
    options = {"swap": list(filling.swap), "filter": filling.tag_filter}
    return {"mode": filling.mode, **counted, **{key: value for key, value in options.items() if value}}


def gather_provenance(parts: Sequence[tuple[str, Provenance]]) -> Provenance:
    """What the versions' tables have in common, with the versions of all of them.

    Args:
        parts: paths of the tables and their provenance.

    Returns:
        The provenance that filling all these versions at once has, before the release filter and duplicates are counted.

    Raises:
        UserError: tables that do not belong together, a version twice, or a table to which the release filter was applied.
    """
    first_path, first = parts[0]
    for path, part in parts:
        if "mode" not in part.details:
            raise UserError(path, "does not say how it was filled.", "Give tables of `items fill --version N`.")
    numbers: dict[int, str] = {}
    missing: dict[str, int] = {}
    for path, part in parts:
        if "release_filter" in part.details:
            fix = "Fill the versions without it and give it to `items gather`, which sees all versions."
            raise UserError(path, "is already reduced by the release filter.", fix)
        for name, value, wanted in _differences(part, first):
            problem = f"differs from {first_path} in {name}: {value} here, {wanted} there."
            raise UserError(path, problem, "Fill all versions with the same options from the same templates and materials.")
        own = _numbers(part)
        for number in own:
            if number in numbers:
                raise UserError(path, f"contains version {number}, as does {numbers[number]}.", "Give each version once.")
            numbers[number] = path
        for template, count in part.details.get("fewer_items", {}).items():
            missing[template] = missing.get(template, 0) + len(own) - count
    asked = sorted(numbers)
    details = {key: first.details[key] for key in _SHARED if key in first.details}
    is_whole_sample = details["mode"] == "independent" and asked == list(range(len(asked)))
    details |= {"per_template": len(asked)} if is_whole_sample else {"versions": asked}
    if missing:
        details["fewer_items"] = {template: len(asked) - count for template, count in missing.items()}
    return replace(first, details=details)


def _numbers(part: Provenance) -> list[int]:
    return list(part.details.get("versions") or range(part.details.get("per_template", 0)))


def _differences(part: Provenance, first: Provenance) -> list[tuple[str, object, object]]:
    pairs: dict[str, tuple[object, object]] = {f"--{key}": (part.details.get(key), first.details.get(key)) for key in _SHARED}
    pairs |= {"--seed": (part.seed, first.seed), "method": (part.method, first.method)}
    pairs |= {"packages": (part.packages, first.packages), "canary": (bool(part.canary), bool(first.canary))}
    pairs |= {f"the digest of {k}": (part.inputs.get(k), first.inputs.get(k)) for k in sorted({*part.inputs, *first.inputs})}
    return [(name, here, there) for name, (here, there) in pairs.items() if here != there]
