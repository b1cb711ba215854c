"""What a part of the report finds: each model's accuracy against chance, in numbers.

The sentences are templates (``assets/*.html.jinja``, and beside each benchmark).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from worldprobe.report.model_names import HUMAN, Roster, is_baseline
from worldprobe.report.sheet import MODEL, Column, Sheet, number_column, span, text_column

#: Where a mean lies (``analysis.comparisons.place``), as tables print it.
STANDING = {
    "above": "above",
    "below": "below",
    "open": "not shown to differ",
    "no interval": "no interval",
    "near ties": "most targets are near ties",
}


def standing(
    rows: pd.DataFrame, reference: float | None = 0.5, n_intervals: int | None = None
) -> pd.Series:
    """Where each mean lies, by intervals that hold for all rows at once; empty without a
    reference.

    Args:
        rows: as for ``analysis.comparisons.place``.
        reference: chance, or what else means are compared with.
        n_intervals: as for ``analysis.comparisons.at_once``.
    """
    from worldprobe.analysis.comparisons import place  # SciPy, which Snakemake need not load

    if reference is None or rows.empty:
        return pd.Series("", rows.index, dtype=object)
    return place(rows, reference, n_intervals).map(STANDING)


def kind_of(model: str, roster: Roster) -> str:
    """What a row of a table is about."""
    if is_baseline(model):
        return "people" if model == HUMAN else "baseline"
    if roster[model].is_untrained:
        return "untrained control model"
    if roster[model].is_control:
        return "control model"
    return "rule" if roster[model].is_rule else "language model"


def against_chance(
    rows: pd.DataFrame, counted: Sequence[str], roster: Roster, chance: float | None = 0.5
) -> pd.DataFrame:
    """Rows with name and kind of each model, the highest mean first, and where the mean lies.

    Args:
        rows: a row per model.
        counted: models whose intervals are read together; each other one is read alone.
        roster: names of the models.
        chance: what guessing reaches; None where that differs from item to item.
    """
    is_counted = rows["model"].isin(list(counted))
    others = [rows.loc[[index]] for index in rows.index[~is_counted]]
    return rows.assign(
        name=roster.names(rows["model"]),
        kind=[kind_of(model, roster) for model in rows["model"]],
        is_counted=is_counted,
        against=pd.concat([standing(part, chance) for part in [rows[is_counted], *others]]),
    ).sort_values("mean", ascending=False, kind="stable", ignore_index=True)


def counted_of(models: Sequence[str], roster: Roster) -> list[str]:
    """Those whom findings are about: published models, else trained controls, else whatever models
    there are.
    """
    for is_apart in ("is_control", "is_untrained"):
        if kept := [model for model in models if not getattr(roster[model], is_apart)]:
            return kept
    return list(models)


def all_at_chance(rows: pd.DataFrame) -> str:
    """The sentence for a table whose rows, of ``against_chance``, are all at chance; else none."""
    is_at = rows["against"].isin([STANDING["open"], STANDING["near ties"]])
    if rows.empty or not (is_at | (rows["mean"] == 0.5)).all():
        return ""
    ends = span(rows["mean"].min(), rows["mean"].max())
    return f"No accuracy here is shown to differ from chance; they are {ends}."


def count_kinds(rows: pd.DataFrame) -> dict[str, int]:
    """How many rows of ``against_chance`` are about what, as facts of a part."""
    n_untrained = (rows["kind"] == "untrained control model").sum()
    kinds = rows["kind"].str.removeprefix("untrained ").value_counts()
    more = {"control model": f" ({n_untrained} untrained)"} if n_untrained else {}
    shown = ("language model", "control model", "rule", "baseline")
    return {f"{kind}s{more.get(kind, '')}": int(kinds[kind]) for kind in shown if kind in kinds}


def lead_values(rows: pd.DataFrame, chance: float | None = 0.5) -> dict[str, Any]:
    """What ``assets/lead.html.jinja`` says of rows of ``against_chance``."""
    counted = rows[rows["is_counted"] & rows["mean"].notna()]
    against = counted["against"].value_counts()
    values: dict[str, Any] = {"chance": chance, "n_models": len(counted)}
    if len(counted):
        values["first"] = counted.iloc[0].to_dict()
    return values | {
        "n_above": int(against.get("above", 0)),
        "n_below": int(against.get("below", 0)),
        "n_without": int(against.get(STANDING["no interval"], 0)),
        "lowest": counted["mean"].min(),
        "highest": counted["mean"].max(),
        "average": counted["mean"].mean(),
        "has_published": bool((rows["kind"] == "language model").any()),
    }


def pairs_finding(rows: pd.DataFrame) -> str:
    """In how many comparisons a difference was found, with Holm's correction."""
    n_found = (rows["p_holm"] < 0.05).sum()
    verb = "differs" if n_found == 1 else "differ"
    return f"{n_found} of {len(rows)} pairs {verb} (p < 0.05 after Holm's correction)."


def models_sheet(
    rows: pd.DataFrame,
    chance: float | None = 0.5,
    over: str = "",
    more: Sequence[Column] = (),
    notes: Sequence[str] = (),
) -> Sheet:
    """Every model against chance.

    Args:
        rows: of ``against_chance``.
        chance: what guessing reaches.
        over: what the intervals are over.
        more: further columns.
        notes: below the table.
    """
    note = (
        "“Above” and “below” chance are corrected for their number where more than two published"
        " models are tested (if none is published, trained controls); other rows are not corrected."
    )
    stated = [] if chance is None else [text_column("Against chance", "against")]
    return Sheet(
        "Accuracy of each model" + ("." if chance is None else f"; chance is {chance:.3g}."),
        rows,
        (
            MODEL,
            text_column("Kind", "kind"),
            number_column("Accuracy", "mean"),
            Column(f"95% interval{over}", ("ci_low", "ci_high"), span),
            *stated,
            *more,
        ),
        notes=(*[note] * len(stated), *notes),
        finding="" if chance is None else all_at_chance(rows),
    )
