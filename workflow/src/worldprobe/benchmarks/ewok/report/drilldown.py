"""From domains down to concepts and items: who fails where, as rows for the page."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from worldprobe.benchmarks.ewok.contracts import Items
from worldprobe.benchmarks.ewok.exports.canaries import is_own
from worldprobe.benchmarks.ewok.selection import domain_order, in_words, language_models, over_versions, pick, trained_models
from worldprobe.contracts import read_provenance, read_table
from worldprobe.errors import UserError
from worldprobe.report.model_names import HUMAN, Roster
from worldprobe.report.page import Cell, cell_of


@dataclass(frozen=True)
class ConceptLine:
    """A concept's accuracy: the mean, then each model's in the order of the columns."""

    name: str
    n_items: int
    cells: list[Cell]


@dataclass(frozen=True)
class Domain:
    """A domain with the models' means and its concepts, those with the lowest mean first."""

    id: str
    name: str
    mean: Cell
    low: float
    high: float
    human: float | None
    concepts: list[ConceptLine]


def find_domains(summaries: pd.DataFrame, roster: Roster, eval_type: str = "logprobs") -> tuple[list[str], list[Domain]]:
    """Names of the models (the columns) and the domains in the order of the models' mean."""
    rows = over_versions(pick(summaries, "domain", eval_type))
    models = roster.in_order(language_models(rows).model)
    counted = trained_models(rows, roster).model.unique()
    concepts = over_versions(pick(summaries, "concept", eval_type)) if (summaries.grouping == "concept").any() else rows.iloc[:0]
    found = []
    for domain in domain_order(rows, roster):
        here = rows[rows.group == domain].set_index("model")["mean"]
        means, human = here.reindex(counted), here.get(HUMAN)
        inside = concepts[concepts.group.str.startswith(f"{domain}/")]
        lines = {
            str(group).split("/", 1)[1]: _concept(part.set_index("model"), models, list(counted), roster)
            for group, part in inside.groupby("group", sort=True)
        }
        order = sorted(lines, key=lambda name: (lines[name][0].step < 0, lines[name][0].value, name))
        found.append(
            Domain(
                id=domain,
                name=in_words(domain),
                mean=cell_of(means.mean(), places=3),
                low=means.min(),
                high=means.max(),
                human=None if human is None or pd.isna(human) else float(human),
                concepts=[
                    ConceptLine(in_words(name), int(inside[inside.group == f"{domain}/{name}"].n.max()), lines[name])
                    for name in order
                ],
            )
        )
    return [roster[model].name for model in models], found


def _concept(rows: pd.DataFrame, models: list[str], counted: list[str], roster: Roster) -> list[Cell]:
    cells = [cell_of(rows["mean"].reindex(counted).mean(), "mean of the models")]
    for model, row in rows.reindex(models).iterrows():
        ends = "" if pd.isna(row.ci_low) else f", 95% interval {row.ci_low:.3f} to {row.ci_high:.3f}, {row.n:.0f} items"
        cells.append(cell_of(row["mean"], f"{roster[str(model)].name}: {row['mean']:.3f}{ends}"))
    return cells


@dataclass(frozen=True)
class Example:
    """One item per domain."""

    domain: str
    item_id: str
    concepts: str
    context1: str
    context2: str
    target1: str
    target2: str


def read_examples(path: Path | str) -> list[Example]:
    """The first direct item of each domain, from an items table of our own materials.

    Raises:
        UserError: the materials do not say that they are ours: their text must not appear in a report.
    """
    if not is_own(read_provenance(path).canary):
        raise UserError(
            "--item-text",
            "these items were not built from worldprobe's own materials, so their text must not be shown.",
            "Leave the option out: EWoK's terms allow its text only inside password-protected archives.",
        )
    items = read_table(path, Items)
    direct = items[items.context_type == "direct"] if (items.context_type == "direct").any() else items
    chosen = direct.sort_values(["domain", "version", "meta_template", "template"]).groupby("domain", sort=True).head(1)
    return [_example(row) for row in chosen.to_dict("records")]


def _example(row: dict[Hashable, Any]) -> Example:
    concepts = " / ".join(concept for concept in (row["concept_a"], row["concept_b"]) if isinstance(concept, str))
    texts = (row["context1"], row["context2"], row["target1"], row["target2"])
    return Example(in_words(row["domain"]), row["item_id"], concepts, *texts)
