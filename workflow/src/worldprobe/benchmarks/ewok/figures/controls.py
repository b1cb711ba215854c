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
    left = style.widest(names.values(), size) + 0.1
    gap, head, foot = 0.16, 0.24, 0.54
    each = (style.WIDTHS[width] - left - 0.1 - gap * (len(fillers) - 1)) / len(fillers)
    tall = 0.2 * len(models) + 0.06
    figure = style.canvas(width, head + tall + foot)
    place = {model: number for number, model in enumerate(models)}
    colours = {"held_in": style.FAMILY_COLOURS[0], "held_out": style.FAMILY_COLOURS[4]}
    lowest = min(0.4, float(frame["mean"].min()) - 0.03)
    for number, filler in enumerate(fillers):
        axes = style.axes_at(figure, left + number * (each + gap), head, each, tall)
        part = frame[frame.fillers == filler]
        wide = part.pivot(index="model", columns="templates", values="mean").reindex(models)
        if {"held_in", "held_out"} <= set(wide):
            axes.hlines(wide.index.map(place), wide.held_in, wide.held_out, color=style.RULE, lw=1.6, zorder=1)
        for kind, mark in MARKS.items():
            rows = part[part.templates == kind]
            axes.scatter(
                rows["mean"],
                rows.model.map(place),
                s=20,
                marker=mark,
                color=colours[kind],
                edgecolors="white",
                linewidths=0.4,
                zorder=3,
            )
        axes.axvline(0.5, color=style.INK, lw=0.6, dashes=(3, 2), zorder=2)
        axes.set_xlim(max(0.0, lowest), 1.01)
        axes.set_ylim(len(models) - 0.4, -0.6)
        axes.set_yticks(range(len(models)), [names[m] for m in models] if number == 0 else [], fontsize=size)
        axes.set_xticks([0.5, 0.75, 1.0], ["0.5", "0.75", "1"], fontsize=size)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.set_title(FILLERS.get(filler, "all items"), fontsize=size)
    handles = [style.handle(marker=MARKS[k], ms=4.5, color=colours[k], mec="white", ls="", label=TEMPLATES[k]) for k in MARKS]
    handles.append(style.chance_line("chance"))
    figure.legend(handles=handles, loc="lower center", ncols=3, fontsize=size, bbox_to_anchor=(0.5, 0), borderaxespad=0.2)
    height = figure.get_size_inches()[1]
    middle = (left + (style.WIDTHS[width] - left) / 2) / style.WIDTHS[width]
    figure.text(middle, (foot - 0.33) / height, "accuracy", ha="center", fontsize=size)
    return figure
