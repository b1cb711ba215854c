"""Items in the original's own file format, for tools that were written for it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path

import pandas as pd

from worldprobe.errors import UserError
from worldprobe.files import whole_file

#: The original's names of our columns, in its order; the rest are its ids.
_DESIGN = {
    "ConceptA": "concept_a",
    "ConceptB": "concept_b",
    "Target1": "target1",
    "Target2": "target2",
    "TargetDiff": "target_contrast",
    "Context1": "context1",
    "Context2": "context2",
    "ContextDiff": "context_contrast",
    "ContextType": "context_type",
}
_HEADER = ("MetaTemplateID", "TemplateID", "PairID", "Domain", *_DESIGN, "TemplateName", "TemplateIndex", "ItemTags")


def official_files(items: pd.DataFrame, templates: pd.DataFrame, canary: str | None) -> Iterator[tuple[str, str]]:
    """One CSV file per version and domain: its name (``version-0/testsuite-garden_work.csv``) and its text.

    Args:
        items: the items table.
        templates: the templates they come from, for their place in the original's template files.
        canary: goes first, as the original has it.

    Raises:
        UserError: no items, or templates of others.
    """
    if items.empty:
        raise UserError("items", "the table has no rows.", "Give a table with items.")
    names = items["item_id"].str.rpartition("_v")[0]
    unknown = sorted(set(names) - set(templates["template_id"]))
    if unknown:
        problem = f"{len(unknown)} templates of the items, such as {unknown[0]}, are not in the templates table."
        raise UserError("templates", problem, "Give the templates that the items were filled from.")
    ordered = templates.sort_values(["domain", "meta_template", "template"], kind="stable")
    index = dict(zip(ordered["template_id"], ordered.groupby("domain").cumcount(), strict=True))
    for (version, domain), rows in items.groupby(["version", "domain"], sort=True):
        name = str(domain).replace("-", "_")
        text = io.StringIO()
        if canary:
            text.write(canary + "\n")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(_HEADER)
        for row in rows.sort_values(["meta_template", "template"]).to_dict("records"):
            absent = {"concept_b": "-", "context_contrast": ""}
            cells = [row[ours] if isinstance(row[ours], str) else absent[ours] for ours in _DESIGN.values()]
            template = f"{row['domain']}_{row['meta_template']}_{row['template']}"
            ids = (row["meta_template"], row["template"], "", row["domain"])
            writer.writerow([*ids, *cells, f"template-{name}", index[template], row["tags"]])
        yield f"version-{version}/testsuite-{name}.csv", text.getvalue()


def refuse_protected(canary: str | None, where: object) -> None:
    """Refuse to write anything built from EWoK's own materials as plain text.

    Raises:
        UserError: the items carry EWoK's canary.
    """
    if canary and "ewok canary" in canary.lower():
        raise UserError(
            where,
            "comes from EWoK's own materials, whose terms forbid plain-text files of them.",
            "Write a password-protected archive: --out NAME.zip --password WORD.",
        )


def write_archive(files: Iterable[tuple[str, str]], path: Path, password: str) -> None:
    """Write texts into a ZIP that is encrypted with AES-256 (WinZip's way; 7-Zip and the like open it).

    The salt is drawn afresh, so two archives of the same files differ in their bytes.

    Args:
        files: name in the archive and text.
        path: the archive.
        password: not empty.

    Raises:
        UserError: the place cannot be written.
    """
    import pyzipper

    packed = io.BytesIO()  # on a full disk, pyzipper would end with a traceback of its own
    with pyzipper.AESZipFile(packed, "w", compression=pyzipper.ZIP_DEFLATED, encryption=pyzipper.WZ_AES) as archive:
        archive.setpassword(password.encode())
        for name, text in files:
            archive.writestr(name, text.encode())
    with whole_file(path) as temporary:
        temporary.write_bytes(packed.getvalue())
