"""EWoK's items in the layout of its authors."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from worldprobe.benchmarks.ewok.materials.official_files import DESIGN
from worldprobe.errors import UserError

_HEADER = (
    "MetaTemplateID",
    "TemplateID",
    "PairID",
    "Domain",
    *DESIGN,
    "TemplateName",
    "TemplateIndex",
    "ItemTags",
)


def official_files(
    items: pd.DataFrame,
    templates: pd.DataFrame,
    canary: str | None,
    sampled_version: int | None = None,
) -> Iterator[tuple[str, str]]:
    """One CSV file per version and domain: its name (``version-0/testsuite-garden_work.csv``) and
    its text.

    Args:
        items: the items table.
        templates: the templates they come from, for their place in the original's template files.
        canary: goes first, as the original has it.
        sampled_version: the items are samples of the original's sampling mode in this version (our
            seed): all samples of a template follow one another in one file. None: a file per
            version.

    Raises:
        UserError: no items, or templates of others.
    """
    if items.empty:
        raise UserError("items", "the table has no rows.", "Give a table with items.")
    names = items["item_id"].str.rpartition("_v")[0]
    unknown = sorted(set(names) - set(templates["template_id"]))
    if unknown:
        problem = (
            f"{len(unknown)} templates of the items, such as {unknown[0]}, are not in the templates"
            " table."
        )
        raise UserError("templates", problem, "Give the templates that the items were filled from.")
    ordered = templates.sort_values(["domain", "meta_template", "template"], kind="stable")
    index = dict(zip(ordered["template_id"], ordered.groupby("domain").cumcount(), strict=True))
    versions = (
        items["version"]
        if sampled_version is None
        else items["version"].map(lambda _: sampled_version)
    )
    for (version, domain), rows in items.groupby([versions, "domain"], sort=True):
        name = str(domain).replace("-", "_")
        text = io.StringIO()
        if canary:
            text.write(canary + "\n")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(_HEADER)
        for row in rows.sort_values(["meta_template", "template", "version"]).to_dict("records"):
            absent = {"concept_b": "-", "context_contrast": ""}
            cells = [
                row[ours] if isinstance(row[ours], str) else absent[ours]
                for ours in DESIGN.values()
            ]
            template = f"{row['domain']}_{row['meta_template']}_{row['template']}"
            ids = (row["meta_template"], row["template"], "", row["domain"])
            writer.writerow([*ids, *cells, f"template-{name}", index[template], row["tags"]])
        yield f"version-{version}/testsuite-{name}.csv", text.getvalue()


def read_official_files(items_path: Path, templates_path: Path) -> Iterator[tuple[str, str]]:
    """Items in the original's format: name and text of each file.

    Raises:
        UserError: a table cannot be read, or the templates are not those of the items.
    """
    from worldprobe.benchmarks.ewok.analysis.provenances import check_filled_from
    from worldprobe.benchmarks.ewok.contracts import Items, Templates
    from worldprobe.contracts import read_provenance, read_table

    made = read_provenance(items_path)
    items, templates = (
        read_table(items_path, Items),
        read_table(templates_path, Templates),
    )  # their own faults say more
    check_filled_from(templates_path, items_path)
    is_sampled_like_original = (
        made.details.get("compat") and made.details.get("mode") == "independent"
    )
    return official_files(
        items, templates, made.canary, made.seed if is_sampled_like_original else None
    )
