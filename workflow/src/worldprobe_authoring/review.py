"""Materials as their authors see them: a new domain's start, a concept's templates filled once,
verdicts by spreadsheet.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Hashable, Mapping
from pathlib import Path

import pandas as pd

from worldprobe.benchmarks.ewok.materials.compile import compile_templates
from worldprobe.benchmarks.ewok.materials.filling import Filling
from worldprobe.benchmarks.ewok.materials.flags import COLUMNS, FLAG_COLUMNS, template_keys
from worldprobe.benchmarks.ewok.materials.items import fill_items
from worldprobe.benchmarks.ewok.materials.materials import Materials
from worldprobe.benchmarks.ewok.vocabulary import TEXTS
from worldprobe.errors import UserError, did_you_mean
from worldprobe.files import write_text
from worldprobe.paths import RESOURCES


def fill_once(templates: pd.DataFrame, materials: Materials, seed: int) -> pd.DataFrame:
    """One randomly filled item for each template that has one, with the template's id.

    Args:
        templates: compiled from these materials.
        materials: free of errors.
        seed: of the fillings.
    """
    items, _ = fill_items(templates, materials, Filling("independent", [0], seed))
    return items.assign(template_id=items["item_id"].str.rpartition("_v")[0])


def preview_concept(
    materials: Materials, concept: str, domain: str | None, seed: int, limit: int | None
) -> str:
    """The templates that ask about a concept, as text for a terminal.

    Args:
        materials: free of errors.
        concept: its name.
        domain: look in this domain only; None: in all.
        seed: of the fillings.
        limit: the most templates to show; None: all.

    Raises:
        UserError: no such domain or concept.
    """
    domains = {d.name: d for d in materials.domains}
    if domain is not None and domain not in domains:
        near = did_you_mean(domain, domains, f"; there are {', '.join(sorted(domains))}.")
        raise UserError(
            f"--domain {domain}",
            f"there is no such domain{near}",
            "Name a domain of the materials.",
        )
    searched = [domains[domain]] if domain else list(materials.domains)
    names = {name for d in searched for name in d.concepts}
    if concept not in names:
        where = f"in {domain}" if domain else "in these materials"
        problem = f'there is no concept "{concept}" {where}{did_you_mean(concept, names)}'
        raise UserError(
            "CONCEPT", problem, "Give the name of a concept, in quotes if it has several words."
        )
    templates = compile_templates(materials)
    asks = (templates["concept_a"] == concept) | (templates["concept_b"] == concept)
    matches = templates[asks & templates["domain"].isin([d.name for d in searched])]
    if matches.empty:
        raise UserError(
            "CONCEPT",
            f'no template asks about "{concept}".',
            "Write contexts for it, and targets that suit it.",
        )
    shown = matches if limit is None else matches.head(limit)
    items = fill_once(shown, materials, seed).set_index("template_id")
    blocks = [
        _block(row, items.loc[row["template_id"]])
        for row in shown.to_dict("records")
        if row["template_id"] in items.index
    ]
    rest = (
        f"\n\n{len(matches) - len(shown)} more templates; --limit shows more."
        if len(shown) < len(matches)
        else ""
    )
    return "\n\n".join(blocks) + rest


def _block(template: Mapping[Hashable, object], item: pd.Series) -> str:
    concept_b = template["concept_b"]
    pair = (
        f"{template['concept_a']} / {concept_b}"
        if isinstance(concept_b, str)
        else str(template["concept_a"])
    )
    contrast = (
        template["context_contrast"]
        if isinstance(template["context_contrast"], str)
        else "unlabelled"
    )
    features = f"{template['context_type']} context, {contrast}; {template['target_contrast']}"
    lines = [f"{template['template_id']}  {pair}  ({features})"]
    names = {"context1": "C1", "context2": "C2", "target1": "T1", "target2": "T2"}
    lines += [f"  {names[text]}  {item[text]}" for text in TEXTS]
    return "\n".join(lines)


def review_sheet(templates: pd.DataFrame, examples: pd.DataFrame, canary: str | None) -> str:
    """The spreadsheet as CSV: one row per template with a filled example and empty cells for
    verdict and comment.

    Args:
        templates: a templates table.
        examples: one item of each template, with the column ``template_id``.
        canary: goes first, as a comment line.
    """
    keys = template_keys(templates)
    designs = templates.set_index("template_id")
    rows = []
    for item in examples.to_dict("records"):
        template_id = item["template_id"]
        design = designs.loc[template_id]
        features = [design[c] if isinstance(design[c], str) else "" for c in COLUMNS[2:8]]
        rows.append(
            [template_id, keys[template_id], *features, *(item[text] for text in TEXTS), "", ""]
        )
    return _written(COLUMNS, rows, canary)


def flags_text(flags: pd.DataFrame, canary: str | None) -> str:
    """The flags as CSV, for `items build --flags`."""
    return _written(FLAG_COLUMNS, flags[list(FLAG_COLUMNS)].to_numpy().tolist(), canary)


def _written(header: tuple[str, ...], rows: list[list[str]], canary: str | None) -> str:
    text = io.StringIO()
    if canary:
        text.write(canary.rstrip("\n") + "\n")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


#: What a new domain begins with, its names in braces.
_START = RESOURCES / "new_domain"


def start_domain(folder: Path, name: str, canary: str | None) -> list[Path]:
    """Write concepts, targets and contexts of a new domain into a folder of materials, and names
    where it has none.

    Args:
        folder: of materials in EWoK's layout; made where there is none.
        name: such as ``garden-work``.
        canary: comment lines that the other files begin with.

    Returns:
        The files that were written.

    Raises:
        UserError: a name that is not ``word-word``, or files that are there already.
    """
    if not re.fullmatch("[A-Za-z0-9]+-[A-Za-z0-9]+", name):
        fix = 'Write two words of letters a-z and digits, joined by a hyphen, e.g. "garden-work".'
        raise UserError(f"NAME {name}", "is not a name for a domain.", fix)
    values = {
        "name": name,
        "label": name.partition("-")[0].lower(),
        "canary": f"{canary}\n" if canary else "",
    }
    texts = {
        folder / f"{path.stem}s" / f"{path.stem}-{name}.yml": (
            path.read_text(encoding="utf-8").format(**values)
        )
        for path in sorted(_START.glob("*.yml"))
    }
    for path in texts:
        for other in sorted(path.parent.glob("*")):
            if other.name.lower() == path.name.lower():
                problem = (
                    "is there already."
                    if other.name == path.name
                    else f"differs from {path.name} only in capitals."
                )
                raise UserError(other, problem, "Choose another name, or remove the file.")
    names = folder / "fillers" / "filler-agent.csv"
    if not names.exists():
        texts[names] = values["canary"] + (_START / names.name).read_text(encoding="utf-8")
    for path, text in texts.items():
        write_text(path, text)
    return list(texts)
