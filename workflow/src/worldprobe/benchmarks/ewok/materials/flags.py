"""Readers' verdicts on templates, and what they do to items."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from pathlib import Path

import pandas as pd

from worldprobe.benchmarks.ewok.materials.marks import digest_templates
from worldprobe.benchmarks.ewok.materials.release_filter import exchange_targets
from worldprobe.benchmarks.ewok.vocabulary import TEXTS
from worldprobe.commented_csv import read_frame
from worldprobe.errors import UserError, did_you_mean

VERDICTS = ("keep", "exclude", "reverse")


#: What the reader sees; the last two columns are the reader's.
COLUMNS = (
    *(
        "template_id",
        "key",
        "domain",
        "concept_a",
        "concept_b",
        "context_type",
        "context_contrast",
        "target_contrast",
    ),
    *TEXTS,
    *("verdict", "comment"),
)


FLAG_COLUMNS = ("template_id", "key", "verdict", "comment")


def read_sheet(path: Path, templates: pd.DataFrame) -> pd.DataFrame:
    """The verdicts of a filled spreadsheet, or of the flags made from one: a row for each template
    excluded or reversed.

    Args:
        path: of the sheet, as `materials review` wrote it; columns may have been added or
            reordered.
        templates: the templates that it was written for.

    Returns:
        The columns ``FLAG_COLUMNS``, sorted by template.

    Raises:
        UserError: a column that is missing or given twice, a row of another length, an unknown
            verdict or template, a template twice, or texts that have changed.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(
            path,
            f"cannot be read ({error.strerror}).",
            "Give the filled spreadsheet, saved as CSV.",
        ) from error
    sheet = read_frame(path, content, ("template_id", "key", "verdict"))
    keys = template_keys(templates)
    seen: dict[str, int] = {}
    flags = []
    for line, row in zip(sheet.index, sheet.to_dict("records"), strict=True):
        if not any(str(cell).strip() for cell in row.values()):
            continue  # spreadsheets save empty rows below the last one
        template_id, verdict = row["template_id"], row["verdict"].strip().lower()
        _check_row(path, line, row, keys, verdict)
        if template_id in seen:
            raise UserError(
                f"{path}, line {line}",
                f"is about {template_id}, as is line {seen[template_id]}.",
                "Keep one row.",
            )
        seen[template_id] = line
        if verdict in ("exclude", "reverse"):
            flags.append((template_id, row["key"], verdict, row.get("comment", "")))
    return pd.DataFrame(flags, columns=list(FLAG_COLUMNS)).sort_values(
        "template_id", ignore_index=True
    )


def _check_row(
    path: Path, line: int, row: Mapping[Hashable, str], keys: dict[str, str], verdict: str
) -> None:
    where, template_id = f"{path}, line {line}", row["template_id"]
    if verdict and verdict not in VERDICTS:
        near = did_you_mean(verdict, VERDICTS, f"; write {', '.join(VERDICTS)}, or nothing.")
        raise UserError(
            where,
            f'the verdict "{verdict}" is not known{near}',
            "Correct the verdict; an empty one keeps the item.",
        )
    fix = "Write a new sheet from the present materials, and copy the verdicts that still hold."
    if template_id not in keys:
        raise UserError(where, f'there is no template "{template_id}".', fix)
    if keys[template_id] != row["key"]:
        raise UserError(
            where, f"the texts of {template_id} have changed since the sheet was written.", fix
        )


def apply_flags(items: pd.DataFrame, flags: pd.DataFrame) -> pd.DataFrame:
    """The items without those of excluded templates, and with the targets of reversed templates
    exchanged.

    Raises:
        UserError: no item is left.
    """
    verdict = dict(zip(flags["template_id"], flags["verdict"], strict=True))
    verdicts = items["item_id"].str.rpartition("_v")[0].map(verdict)
    kept = items[(verdicts != "exclude").to_numpy()]
    if kept.empty:
        raise UserError("--flags", "all items are excluded.", "Keep some templates.")
    return exchange_targets(kept, (verdicts[kept.index] == "reverse").to_numpy())


def template_keys(templates: pd.DataFrame) -> dict[str, str]:
    """Template id -> key."""
    return dict(zip(templates["template_id"], digest_templates(templates), strict=True))
