"""Conditions of a study, compared model by model."""

from __future__ import annotations

import pandas as pd

from worldprobe.benchmark import Input, table
from worldprobe.benchmarks.ewok.analysis.panel import drawn_units, status_notes
from worldprobe.benchmarks.ewok.contracts import ConditionComparisons
from worldprobe.benchmarks.ewok.selection import in_words
from worldprobe.benchmarks.ewok.study import has_conditions
from worldprobe.provenance import Provenance
from worldprobe.report.model_names import Roster
from worldprobe.report.sheet import Column, Sheet, decimals, p_value, span, whole_number

CONDITION_COMPARISONS = Input(ConditionComparisons, "conditions.parquet")


@table(
    inputs=[CONDITION_COMPARISONS],
    title="Conditions",
    section="conditions",
    caption="Accuracy of each model in each condition, compared with the first one: the difference over the templates that "
    "both have, with an interval and a paired test.",
    when=has_conditions,
)
def conditions(comparisons: pd.DataFrame, roster: Roster, provenance: Provenance | None = None) -> Sheet:
    """Accuracy in the reference and in each other condition, with the paired difference, a row per model and condition.

    Args:
        comparisons: the ConditionComparisons table.
        roster: names and order of the models.
        provenance: of that table, with the titles of the conditions.
    """
    titles = provenance.details.get("titles", {}) if provenance else {}
    overall = comparisons[comparisons.grouping == "overall"]
    order = {model: number for number, model in enumerate(roster.in_order(overall.model_a))}
    frame = overall.assign(
        model=overall.model_a,
        name=overall.model_a.map(lambda model: roster[model].name),
        way=overall.eval_type.map(in_words),
        title=overall.condition_a.map(lambda name: titles.get(name, name)),
        place=overall.model_a.map(order),
    )
    frame = frame.sort_values(["eval_type", "place", "condition_a"], kind="stable").drop(columns="place").reset_index(drop=True)
    reference = str(frame.condition_b.iloc[0])
    reference = titles.get(reference, reference)
    columns = [
        Column("Model", ("name",), is_number=False, once=True),
        Column("Asked by", ("way",), is_number=False, once=True),
        Column("Condition", ("title",), is_number=False),
        Column(reference, ("mean_b",), decimals(3), over="Accuracy"),
        Column("this condition", ("mean_a",), decimals(3), over="Accuracy"),
        Column(reference, ("low_b", "high_b"), span, over="Range over versions"),
        Column("this condition", ("low_a", "high_a"), span, over="Range over versions"),
        Column("Difference", ("difference",), decimals(3)),
        Column("95% interval", ("ci_low", "ci_high"), span),
        Column("p (Holm)", ("p_holm",), p_value),
        Column("Found in 80%", ("detectable",), decimals(3)),
        Column("Templates", ("n",), whole_number),
    ]
    if frame.eval_type.nunique() == 1:
        columns.pop(1)
    return Sheet(
        title=f"Accuracy in each condition, compared with {reference}.",
        frame=frame,
        columns=tuple(columns),
        label="conditions",
        notes=(
            "Means are over the templates that both conditions have; range: lowest and highest mean of a version, or of a sample "
            "of each template. "
            f"Interval (95%) and p (two-sided, with Holm's correction): {drawn_units(provenance)} are samples of more. "
            "Found in 80%: the smallest true difference for which p is below 0.05 in 80% of such samples.",
            *status_notes(frame.status),
        ),
        group="model",
    )
