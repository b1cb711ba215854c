"""Control models on what their corpus showed and on what it held out: whether their accuracy means generalisation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from worldprobe.benchmark import figure
from worldprobe.benchmarks.ewok.contracts import ControlAccuracies
from worldprobe.benchmarks.ewok.study import has_generalisation
from worldprobe.report import style
from worldprobe.report.model_names import Roster

if TYPE_CHECKING:
    from matplotlib.figure import Figure


TEMPLATES = {"held_in": "pairing in the stories", "held_out": "pairing held out"}
FILLERS = {"seen": "all fillers in the stories", "some_unseen": "some filler held out"}
MARKS = {"held_in": "o", "held_out": "D"}


@figure(
    inputs=[ControlAccuracies],
    title="Seen and held out",
    section="controls",
    caption="Control models on templates whose pairing of context and target occurred in their training stories, and on "
    "templates whose pairing was held out; left: fillers seen in training, right: at least one held-out filler.",
    when=has_generalisation,
)
def controls(accuracies: pd.DataFrame, roster: Roster) -> pd.DataFrame:
    """A row per model, kind of template (held in, held out) and kind of filler (all, seen, some unseen)."""
    shown = accuracies.templates.isin(TEMPLATES) & (accuracies.targets == "all")
    rows = style.with_identity(accuracies[shown], roster)
    columns = ["model", "name", "colour", "templates", "fillers", "mean", "n_items", "n_ties", "n_missing"]
    return rows[columns].reset_index(drop=True)


@controls.drawn_by
def draw(frame: pd.DataFrame, width: str = "single") -> Figure:
    """A dumbbell per model, in one panel for items of seen fillers and one for items with a held-out filler."""
    models = list(dict.fromkeys(frame.model))
    names = dict(zip(frame.model, frame.name, strict=True))
    fillers = [name for name in FILLERS if frame[(frame.fillers == name) & frame["mean"].notna()].size] or ["all"]
    size = style.BODY if width == "double" else style.SMALL
    left, foot = style.widest(names.values(), size) + 0.1, 0.54
    figure, panels, _ = style.grid(width, len(fillers), 2, 0.2 * len(models) + 0.06, left, gap=0.16, foot=foot)
    place = {model: number for number, model in enumerate(models)}
    colours = {"held_in": style.FAMILY_COLOURS[0], "held_out": style.FAMILY_COLOURS[4]}
    for number, (axes, filler) in enumerate(zip(panels, fillers, strict=True)):
        part = frame[frame.fillers == filler]
        wide = part.pivot(index="model", columns="templates", values="mean").reindex(models)
        if {"held_in", "held_out"} <= set(wide):
            axes.hlines(wide.index.map(place), wide.held_in, wide.held_out, color=style.RULE, lw=1.6, zorder=1)
        for kind, mark in MARKS.items():
            rows = part[part.templates == kind]
            axes.scatter(
                rows["mean"], rows.model.map(place), s=20, marker=mark, color=colours[kind], edgecolors="white", zorder=3
            )
        style.dash(axes)
        axes.set_xlim(*style.fitting_limits(frame, ["mean"]))
        axes.locator_params(axis="x", nbins=5)
        style.name_rows(axes, [names[model] for model in models], size, number == 0)
        axes.set_title(FILLERS.get(filler, "all items"), fontsize=size)
    handles = [style.mark(MARKS[kind], colours[kind], TEMPLATES[kind]) for kind in MARKS]
    style.legend(figure, [*handles, style.chance_line("chance")], 3, size)
    middle = (left + (style.WIDTHS[width] - left) / 2) / style.WIDTHS[width]
    figure.text(middle, (foot - 0.33) / figure.get_size_inches()[1], "accuracy", ha="center", fontsize=size)
    return figure
