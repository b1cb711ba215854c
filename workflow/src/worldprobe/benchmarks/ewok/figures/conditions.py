"""Conditions of a study against its first one: accuracies, and paired differences with their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from worldprobe.benchmark import figure
from worldprobe.benchmarks.ewok.selection import EVAL_TYPE
from worldprobe.benchmarks.ewok.study import has_conditions, has_logprobs
from worldprobe.benchmarks.ewok.tables.conditions import CONDITION_COMPARISONS
from worldprobe.errors import UserError
from worldprobe.provenance import Provenance
from worldprobe.report import style
from worldprobe.report.model_names import Roster

if TYPE_CHECKING:
    from matplotlib.figure import Figure


MARKS = ("o", "D", "s", "^", "v", "P", "X")
COLUMNS = ["model", "name", "condition", "title", "reference", "eval_type", "mean"]
COLUMNS += ["low", "high", "difference", "ci_low", "ci_high", "p_holm", "n"]


@figure(
    inputs=[CONDITION_COMPARISONS],
    title="Conditions",
    section="conditions",
    caption="Left: accuracy of each model in each condition; lines: from the lowest to the highest mean of a version. Right: "
    "paired difference from the first condition with a 95% interval; filled: p < 0.05 after Holm's correction.",
    when=(has_conditions, has_logprobs),
    options=[EVAL_TYPE],
)
def conditions(
    comparisons: pd.DataFrame, roster: Roster, provenance: Provenance | None = None, eval_type: str = "logprobs"
) -> pd.DataFrame:
    """One row per model and condition, the reference first (its difference is 0).

    Args:
        comparisons: the ConditionComparisons table.
        roster: names and order of the models.
        provenance: of that table, with the titles of the conditions.
        eval_type: way of asking.

    Raises:
        UserError: the way of asking was not compared.
    """
    rows = comparisons[(comparisons.grouping == "overall") & (comparisons.eval_type == eval_type)]
    if rows.empty:
        known = ", ".join(sorted(comparisons.eval_type.unique())) or "none"
        raise UserError("--eval-type", f'"{eval_type}" was not compared between conditions.', f"Choose one of: {known}.")
    rows = rows.rename(columns={"model_a": "model", "condition_a": "condition", "condition_b": "reference"})
    others = rows.assign(mean=rows.mean_a, low=rows.low_a, high=rows.high_a)
    # A condition may lack templates; the reference's mean is then another one for each condition: the largest basis is shown.
    first = rows.sort_values("n", ascending=False, kind="stable").drop_duplicates("model")
    first = first.assign(condition=first.reference, mean=first.mean_b, low=first.low_b, high=first.high_b)
    first = first.assign(difference=0.0, ci_low=np.nan, ci_high=np.nan, p_holm=np.nan)
    both = pd.concat([first, others], ignore_index=True)
    titles = provenance.details.get("titles", {}) if provenance else {}
    both = both.assign(title=both.condition.map(lambda name: titles.get(name, name)))
    return style.with_identity(both, roster)[COLUMNS].reset_index(drop=True)


@conditions.drawn_by
def draw(frame: pd.DataFrame, width: str = "double") -> Figure:
    """Accuracy in each condition, with the range of its versions, and difference from the reference.

    Differences have 95% intervals, and their marks are filled where p < 0.05.
    """
    from matplotlib.ticker import MultipleLocator

    models = list(dict.fromkeys(frame.model))
    names = dict(zip(frame.model, frame.name, strict=True))
    reference = str(frame.reference.iloc[0])
    conditions = [reference, *(name for name in dict.fromkeys(frame.condition) if name != reference)]
    titles = dict(zip(frame.condition, frame.title.astype(str), strict=True))
    colours = dict(zip(conditions, [style.INK, *style.family_colours([f"c{i}" for i in conditions[1:]]).values()], strict=True))
    marks = {name: MARKS[number % len(MARKS)] for number, name in enumerate(conditions)}
    size = style.BODY if width == "double" else style.SMALL
    is_double = width == "double"
    tall = (0.13 + 0.07 * len(conditions)) * len(models) + 0.06
    left = style.widest(names.values(), size) + 0.12
    figure, panels, _ = style.grid(width, 2, 2, tall, left, gap=0.22, foot=0.5 if is_double else 0.62)
    place = {model: number for number, model in enumerate(models)}
    for number, condition in enumerate(conditions):
        rows = frame[frame.condition == condition]
        y = rows.model.map(place) + 0.62 * ((number + 0.5) / len(conditions) - 0.5)
        looks = {"colour": colours[condition], "marker": marks[condition]}
        style.dots(panels[0], y, rows, ends=("low", "high"), **looks)
        if condition != reference:
            faces = [colours[condition] if p < 0.05 else "white" for p in rows.p_holm]
            style.dots(panels[1], y, rows, x="difference", faces=faces, **looks)
    style.dash(panels[0])
    panels[1].axvline(0, color=style.INK, lw=0.6, zorder=1)
    reach = float(np.nanmax(np.abs(frame[["difference", "ci_low", "ci_high"]].to_numpy(dtype=float))))
    panels[1].set_xlim(-1.1 * max(reach, 0.02), 1.1 * max(reach, 0.02))
    least, most = min(0.45, float(frame.low.min()) - 0.03), min(1.0, max(0.6, float(frame.high.max()) + 0.03))
    panels[0].xaxis.set_major_locator(MultipleLocator(0.05 if most - least < 0.25 else 0.1))
    panels[1].locator_params(axis="x", nbins=5)
    panels[0].set_xlim(least, most)
    for number, (axes, title) in enumerate(zip(panels, ("accuracy", f"difference from {titles[reference]}"), strict=True)):
        style.name_rows(axes, [names[model] for model in models], size, number == 0)
        axes.set_title(title, fontsize=size)
    handles = [style.mark(marks[c], colours[c], titles[c]) for c in conditions]
    handles.append(style.chance_line("chance"))
    handles.append(style.mark("o", "white", "p ≥ 0.05 (Holm)", mec=style.INK))
    style.legend(figure, handles, 5 if is_double else 3, size)
    return figure
