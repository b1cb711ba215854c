"""Accuracy against what makes a problem hard: entities and ternary relations (the paper's Figure 6), depth, open worlds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from worldprobe.benchmark import figure
from worldprobe.benchmarks.worldsense.outputs import has_controls, has_motion, has_normal_problems, is_asked
from worldprobe.benchmarks.worldsense.selection import PROBLEM_NAMES, SUMMARIES, of_main, pick
from worldprobe.benchmarks.worldsense.skins.vocabulary import HARD, MOTION
from worldprobe.benchmarks.worldsense.tables.accuracy import by_changes
from worldprobe.errors import UserError
from worldprobe.report import style
from worldprobe.report.model_names import Roster

if TYPE_CHECKING:
    from matplotlib.figure import Figure


COLUMNS = ("panel", "axis", "model", "name", "family", "colour", "x", "mean", "ci_low", "ci_high", "n")
MORE = 2
FORMS = ("o", "s", "^", "D", "v", "P", "X", "<")


@figure(
    name="worldsense_size",
    inputs=[SUMMARIES],
    title="Size and complexity",
    section="difficulty",
    caption="Accuracy by number of entities and by number of ternary relations of description and query, for the normal "
    "problems and for their trivial controls, with 95% intervals over skins. WorldSense, Figure 6.",
    when=(is_asked, has_controls),
)
def size(summaries: pd.DataFrame, roster: Roster) -> pd.DataFrame:
    """By number of entities and of ternary relations, normal problems and their trivial controls apart (Figure 6)."""
    parts = []
    for grouping, column, axis in (
        ("variant_size", "size", "entities"),
        ("variant_ternary", "ternary", "ternary relations"),
    ):
        rows = of_main(pick(summaries, grouping, columns=("variant", column)))
        parts.append(rows.assign(panel=rows["variant"] + " problems", axis=axis, x=rows[column].astype(int)))
    return _tidy(pd.concat(parts, ignore_index=True), roster)


@figure(
    name="worldsense_depth",
    inputs=[SUMMARIES],
    title="Depth and open worlds",
    section="difficulty",
    caption="Accuracy by the smallest number of relations that decide one of a tuple's trials, and by the number of worlds "
    "that the description leaves open, with 95% intervals over skins.",
    when=(is_asked, has_normal_problems),
)
def depth(summaries: pd.DataFrame, roster: Roster) -> pd.DataFrame:
    """By relations that must be combined, for the normal problems, and by worlds left open.

    Raises:
        UserError: the set has none of these problems.
    """
    rows = of_main(pick(summaries, "problem_depth", columns=("problem", "depth")))
    by_depth = rows.assign(panel=rows["problem"].map(PROBLEM_NAMES), axis="relations to combine", x=rows["depth"].astype(int))
    normal = ["Infer.normal", "Consist.normal", "Compl.normal", "Infer.extrema", "Infer.parallel", *HARD, *MOTION]
    by_depth = by_depth[by_depth["problem"].isin(normal)]
    order = {name: number for number, name in enumerate(normal)}
    by_depth = by_depth.sort_values("problem", key=lambda column: column.map(order), kind="stable")
    worlds = of_main(pick(summaries, "problem_worlds", columns=("problem", "worlds")))
    worlds = worlds[worlds["problem"] == "Compl.normal"]
    by_worlds = worlds.assign(panel=PROBLEM_NAMES["Compl.normal"], axis="worlds left open", x=worlds["worlds"].astype(int))
    both = pd.concat([by_depth, by_worlds], ignore_index=True)
    if both.empty:
        raise UserError("summaries", "contain no normal problem.", "Add one to the study, or leave this figure out.")
    return _tidy(both, roster)


@figure(
    name="worldsense_motion",
    inputs=[SUMMARIES],
    title="Changes",
    section="difficulty",
    caption="Accuracy in worlds in motion by number of changes that are stated and of changes that matter, with 95% intervals "
    "over skins.",
    when=(is_asked, has_motion),
)
def motion(summaries: pd.DataFrame, roster: Roster) -> pd.DataFrame:
    """By changes that are stated and changes that matter, in the first set in motion."""
    rows = of_main(by_changes(summaries))
    order = {name: number for number, name in enumerate(MOTION)}
    rows = rows.sort_values("problem", key=lambda column: column.map(order), kind="stable")
    return _tidy(rows.assign(panel=rows["problem"].map(PROBLEM_NAMES), x=rows["number"]), roster)


def _tidy(rows: pd.DataFrame, roster: Roster) -> pd.DataFrame:
    rows = rows.assign(order=pd.factorize(rows["panel"] + rows["axis"])[0])
    named = style.with_identity(rows, roster).sort_values(["order"], kind="stable")
    return named[list(COLUMNS)].reset_index(drop=True)


@size.drawn_by
@depth.drawn_by
@motion.drawn_by
def draw(frame: pd.DataFrame, width: str = "double") -> Figure:
    """A panel for each problem and axis, a line per model."""
    from matplotlib.ticker import MaxNLocator

    models = list(dict.fromkeys(frame["model"]))
    names = dict(zip(frame["model"], frame["name"], strict=True))
    colours = dict(zip(frame["model"], frame["colour"], strict=True))
    if len(set(colours.values())) < len(models):  # models that no registry knows share a hue
        colours = {model: style.FAMILY_COLOURS[n % len(style.FAMILY_COLOURS)] for n, model in enumerate(models)}
    panels = list(dict.fromkeys(zip(frame["panel"], frame["axis"], strict=True)))
    per_row = min(len(panels), 4 if width == "double" else 2)
    size = style.BODY if width == "double" else style.SMALL
    longest = max((len(name) for name in names.values()), default=0)  # long names would be cut off at the edges
    columns = (5 if width == "double" else 3) - (longest > 18) - (longest > 24)
    foot = 0.46 + 0.14 * -(-(len(models) + 1) // columns)
    figure, grid, across = style.grid(width, len(panels), per_row, 1.5, 0.36, head=0.58, foot=foot)
    limits = style.fitting_limits(frame, ["mean", "ci_low", "ci_high"])
    for number, (axes, (panel, axis)) in enumerate(zip(grid, panels, strict=True)):
        here = frame[(frame["panel"] == panel) & (frame["axis"] == axis)]
        style.dash(axes, across=True)
        for place, model in enumerate(models):
            line = here[here["model"] == model].sort_values("x")
            shift = 0.24 * ((place + 0.5) / len(models) - 0.5) if len(models) > 1 else 0.0
            style.line(axes, line["x"] + shift, line, colours[model], FORMS[place % len(FORMS)], zorder=2 + place / 100)
        axes.set_title(style.shortened(panel, size, across), fontsize=size)
        axes.set_xlabel(axis, fontsize=size)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        if axis == "ternary relations":
            axes.set_xticks([0, 1, MORE], ["0", "1", "2 or more"])
        axes.set_xlim(here["x"].min() - 0.4, here["x"].max() + 0.4)
        axes.set_ylim(*limits)
        axes.tick_params(labelsize=size)
        axes.tick_params(labelleft=number % per_row == 0)
        if number % per_row == 0:
            axes.set_ylabel("accuracy", fontsize=size)
    handles = [style.mark(FORMS[n % len(FORMS)], colours[m], names[m], ms=3, ls="-") for n, m in enumerate(models)]
    style.legend(figure, [*handles, style.chance_line("chance")], columns, size)
    return figure
