"""Items of all templates: filled, kept in part, and finished with what is known across versions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from worldprobe.benchmarks.ewok.materials.compile import of_families
from worldprobe.benchmarks.ewok.materials.duplicates import flag_duplicates, write_stream
from worldprobe.benchmarks.ewok.materials.fillers import FillersOfTemplates
from worldprobe.benchmarks.ewok.materials.filling import (
    COLUMNS,
    Filling,
    Row,
    fill_families,
    fill_rows,
    items_table,
)
from worldprobe.benchmarks.ewok.materials.materials import Materials, MaterialsFiles
from worldprobe.benchmarks.ewok.materials.opened import ready_templates
from worldprobe.benchmarks.ewok.materials.original_quirks import Rules
from worldprobe.benchmarks.ewok.materials.release_filter import apply_release_filter
from worldprobe.benchmarks.ewok.materials.subsets import filter_tags, in_share, matching_tags
from worldprobe.benchmarks.ewok.vocabulary import FAMILY
from worldprobe.log import LOGGER, Progress
from worldprobe.provenance import Provenance

_PLACE = ["domain", "meta_template", "template"]


def fill_items(
    templates: pd.DataFrame, materials: Materials | FillersOfTemplates, filling: Filling
) -> tuple[pd.DataFrame, dict[str, int]]:
    """All items of the versions asked for, before the release filter and without ``duplicate_of``.

    Args:
        templates: the templates table, compiled from these materials.
        materials: where the fillers come from, or these alone; free of errors.
        filling: how.

    Returns:
        The items, and for each template that has fewer items than were asked for (before
        ``tag_filter``) how many it has.

    Raises:
        UserError: templates that no compiler wrote, a slot that no filler can fill, a version
            without fillers, a bad swap or filter, or no item is left.
    """
    opened, fillers = ready_templates(templates, materials, filling.swap)
    is_of_families = of_families(templates)
    rows = (
        fill_families(opened, fillers, filling.numbers, filling.seed)
        if is_of_families
        else fill_rows(opened, fillers, filling)
    )
    items = items_table(_counted(rows, templates, filling))
    if is_of_families:
        items = items.merge(
            templates[[*_PLACE, *FAMILY]], on=_PLACE, how="left", validate="many_to_one"
        )
    elif filling.mode == "independent":
        items = items.sort_values([*_PLACE, "version"], ignore_index=True)
    made = Counter(items["item_id"].str.rpartition("_v")[0])
    fewer = _shortfalls(made, templates, filling)
    if filling.tag_filter:
        items = filter_tags(items, filling.tag_filter)
    if filling.limit:
        items = items[in_share(items, filling.limit)].reset_index(drop=True)
    return items, fewer


def stream_items(
    templates: pd.DataFrame,
    materials: Materials | FillersOfTemplates,
    filling: Filling,
    path: Path,
    made: Provenance,
) -> tuple[int, int]:
    """Sample items each on their own and write the table, however long, in little memory; see
    ``fill_items``.

    Args:
        templates: the templates table, compiled from these materials.
        materials: where the fillers come from; free of errors.
        filling: how; its mode is independent.
        path: the table.
        made: what made it; shortfalls and duplicates are added.

    Returns:
        Number of items, and how many of them have the texts of another.
    """
    opened, fillers = ready_templates(templates, materials, filling.swap)
    tags = {",".join(template.keys) for rows in opened.values() for template in rows}
    wanted = matching_tags(tags, filling.tag_filter) if filling.tag_filter else tags
    counts: Counter[str] = Counter()

    def kept() -> Iterator[Row]:
        for row in _counted(fill_rows(opened, fillers, filling), templates, filling):
            counts[str(row[0]).rpartition("_v")[0]] += 1
            if row[COLUMNS.index("tags")] in wanted:
                yield row

    def finish(n_duplicates: int) -> Provenance:
        fewer = _shortfalls(counts, templates, filling)
        facts = {"fewer_items": fewer, "duplicates": n_duplicates}
        made.details |= {key: value for key, value in facts.items() if value}
        return made

    return write_stream(kept(), path, finish)


def _counted(rows: Iterator[Row], templates: pd.DataFrame, filling: Filling) -> Iterator[Row]:
    """The rows, with the progress shown."""
    with Progress("Filling", len(templates) * len(filling.numbers)) as progress:
        for row in rows:
            progress.advance()
            yield row


def _shortfalls(made: Counter[str], templates: pd.DataFrame, filling: Filling) -> dict[str, int]:
    """Template id -> its number of items, for templates that have fewer than were asked for."""
    asked = len(filling.numbers)
    fewer = {template: made[template] for template in templates["template_id"]}
    fewer = {template: count for template, count in fewer.items() if count < asked}
    if fewer and filling.mode == "independent":
        LOGGER.warning(
            "%d templates have fewer than %d distinct fillings; all of them are used: %s",
            len(fewer),
            asked,
            ", ".join(f"{template} ({count})" for template, count in fewer.items()),
        )
    return fewer


def finish_items(items: pd.DataFrame, rules: Rules, source: MaterialsFiles | None) -> pd.DataFrame:
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
    return flag_duplicates(items if source is None else apply_release_filter(items, source, rules))
