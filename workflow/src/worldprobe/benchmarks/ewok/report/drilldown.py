"""From domains down to concepts: who fails where, as rows for the page."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd

from worldprobe.benchmarks.ewok.selection import domain_order, in_words, language_models, over_versions, pick
from worldprobe.report.model_names import HUMAN, Roster
from worldprobe.report.style import AROUND_CHANCE, between, is_dark

#: Cells are coloured in so many steps, one CSS class each.
STEPS = 20


@dataclass(frozen=True)
class Cell:
    """An accuracy as shown: its text, its colour step, its exact value for sorting and what hovering says."""

    text: str
    step: int
    value: float
    hint: str


@dataclass(frozen=True)
class ConceptLine:
    """A concept's accuracy per model, in the order of the columns."""

    name: str
    n_items: int
    mean: Cell
    cells: list[Cell]


@dataclass(frozen=True)
class Domain:
    """A domain with the models' mean, the best model and its concepts, the hardest first."""

    id: str
    name: str
    mean: float
    best: float
    best_model: str
    human: float | None
    n_items: int
    concepts: list[ConceptLine]


def find_domains(summaries: pd.DataFrame, roster: Roster, eval_type: str = "logprobs") -> tuple[list[str], list[Domain]]:
    """Names of the models (the columns) and the domains from the easiest to the hardest."""
    rows = over_versions(pick(summaries, "domain", eval_type))
    models = roster.in_order(language_models(rows).model)
    trained = [model for model in models if not roster[model].is_untrained] or models
    concepts = over_versions(pick(summaries, "concept", eval_type)) if (summaries.grouping == "concept").any() else rows.iloc[:0]
    found = []
    for domain in domain_order(rows, roster):
        here = rows[rows.group == domain].set_index("model")
        means = here["mean"].reindex(trained)
        human = here["mean"].get(HUMAN)
        inside = concepts[concepts.group.str.startswith(f"{domain}/")]
        found.append(
            Domain(
                id=domain,
                name=in_words(domain),
                mean=float(means.mean()),
                best=float(means.max()),
                best_model=roster[str(means.idxmax())].name if means.notna().any() else "",
                human=None if human is None or math.isnan(human) else float(human),
                n_items=int(here.n.max()),
                concepts=_concepts(inside, models, trained, roster),
            )
        )
    return [roster[model].name for model in models], found


def _concepts(rows: pd.DataFrame, models: list[str], trained: list[str], roster: Roster) -> list[ConceptLine]:
    lines = []
    for group, part in rows.groupby("group", sort=True):
        by_model = part.set_index("model")
        means = by_model["mean"].reindex(models)
        average = float(means.reindex(trained).mean())
        name = in_words(str(group).split("/", 1)[1])
        cells = [_cell(float(means[m]), f"{roster[m].name}, {name}", by_model, m) for m in models]
        lines.append(ConceptLine(name, int(part.n.max()), _cell(average, f"mean of the models, {name}"), cells))
    return sorted(lines, key=lambda line: (math.isnan(line.mean.value), line.mean.value, line.name))


def _cell(value: float, hint: str, rows: pd.DataFrame | None = None, model: str = "") -> Cell:
    if math.isnan(value):
        return Cell("–", -1, -1.0, hint)
    if rows is not None and model in rows.index:
        low, high, n_items = (float(rows[name].loc[model]) for name in ("ci_low", "ci_high", "n"))
        if not math.isnan(low):
            hint += f": {value:.3f}, 95% interval {low:.3f} to {high:.3f}, {n_items:.0f} items"
    return Cell(f"{value:.2f}", round(value * STEPS), value, hint)


def colour_rules() -> str:
    """The CSS of the cells' colour steps, white at chance."""
    rules = []
    for step in range(STEPS + 1):
        colour = between(AROUND_CHANCE, step / STEPS)
        ink = "#fff" if is_dark(colour) else "#1d1d1d"
        rules.append(f".c{step}{{background:{colour};color:{ink}}}")
    return "".join(rules)
