"""Accuracy by level of each family: a panel per family, a line per model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from worldprobe.benchmark import figure
from worldprobe.benchmarks.ewok.selection import EVAL_TYPE
from worldprobe.benchmarks.ewok.study import has_families
from worldprobe.benchmarks.ewok.tables.families import FAMILY_LEVELS, LEVEL_NAMES, pick_levels
from worldprobe.report import style
from worldprobe.report.model_names import Roster

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_FORMS = ("o", "D", "s", "^", "v", "P", "X")


@figure(
    inputs=[FAMILY_LEVELS],
    title="Families",
    section="families",
    caption="Accuracy of each model by level of each family, whose templates differ in the level alone, with 95% intervals over "
    "bases; dashed line: chance.",
    when=has_families,
    options=[EVAL_TYPE],
)
def families(levels: pd.DataFrame, roster: Roster, eval_type: str = "logprobs") -> pd.DataFrame:
    """A row per family, model and level.

    Args:
        levels: FamilyLevels.
        roster: names and order of the models.
        eval_type: way of asking.
    """
    rows = pick_levels(levels, eval_type)
    order = list(dict.fromkeys(rows["family"]))
    rows = rows[rows["level"].notna()].rename(columns={"family": "panel"})
    named = style.with_identity(rows.assign(axis=rows["panel"].map(LEVEL_NAMES).fillna("level")), roster)
    named = named.sort_values("panel", key=lambda column: column.map(order.index), kind="stable")
    columns = ["panel", "axis", "level", "model", "name", "colour", "mean", "ci_low", "ci_high", "n_bases", "n_items"]
    return named[columns].reset_index(drop=True)


@families.drawn_by
def draw(frame: pd.DataFrame, width: str = "double") -> Figure:
    """The figure from its tidy table."""
    models = list(dict.fromkeys(frame["model"]))
    names = dict(zip(frame["model"], frame["name"], strict=True))
    colours = dict(zip(frame["model"], frame["colour"], strict=True))
    panels = list(dict.fromkeys(zip(frame["panel"], frame["axis"], strict=True)))
    per_row = min(len(panels), 3 if width == "double" else 2)
    size = style.BODY if width == "double" else style.SMALL
    legend_columns = 4 if width == "double" else 2
    foot = 0.5 + 0.14 * -(-(len(models) + 1) // legend_columns)
    figure, grid, across = style.grid(width, len(panels), per_row, 1.3, 0.4, head=0.58, foot=foot)
    limits = style.fitting_limits(frame, ["mean", "ci_low", "ci_high"])
    for number, (axes, (panel, axis)) in enumerate(zip(grid, panels, strict=True)):
        here = frame[frame["panel"] == panel]
        style.dash(axes, across=True)
        for place, model in enumerate(models):
            line = here[here["model"] == model].sort_values("level")
            shift = 0.2 * ((place + 0.5) / len(models) - 0.5)
            style.line(axes, line["level"].astype(float) + shift, line, colours[model], _FORMS[place % len(_FORMS)])
        axes.set_title(panel, fontsize=size)
        axes.set_xlabel(axis, fontsize=style.fitting([axis], size, across))
        axes.set_xticks(sorted(here["level"].astype(int).unique()))
        axes.set_ylim(*limits)
        axes.tick_params(labelsize=size, labelleft=number % per_row == 0)
        if number % per_row == 0:
            axes.set_ylabel("accuracy", fontsize=size)
    handles = [style.mark(_FORMS[n % len(_FORMS)], colours[m], names[m], ms=3, ls="-") for n, m in enumerate(models)]
    style.legend(figure, [*handles, style.chance_line("chance")], legend_columns, size)
    return figure
