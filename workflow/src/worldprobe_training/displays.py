"""Loss and learning rate of trainings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from worldprobe.benchmark import Input, figure
from worldprobe.benchmarks.worldsense.contracts import Trainings
from worldprobe.report import style
from worldprobe.report.model_names import Roster

if TYPE_CHECKING:
    from matplotlib.figure import Figure
from worldprobe_training.trainings import has_trainings

#: Points of a curve that are drawn at most; a mark is the mean of the steps around it.
MOST_POINTS = 400


@figure(
    name="worldsense_training",
    inputs=[Input(Trainings, "finetuning/training.parquet", name="trainings")],
    title="Loss and learning rate",
    section="finetuning",
    caption="Loss (nats per scored token) and learning rate at each step of every training.",
    when=has_trainings,
)
def training(trainings: pd.DataFrame, roster: Roster) -> pd.DataFrame:
    """Loss and learning rate by step; of long trainings the means of as many neighbouring steps as
    make ``MOST_POINTS``.
    """
    parts = []
    for model in roster.in_order(trainings["model"]):
        rows = trainings[trainings["model"] == model]
        width = -(-len(rows) // MOST_POINTS)
        group = (rows["step"] - 1) // width
        means = rows.groupby(group, sort=True)[["step", "lessons", "loss", "learning_rate"]].mean()
        parts.append(means.assign(model=model))
    named = style.with_identity(pd.concat(parts, ignore_index=True), roster)
    return named[["model", "name", "colour", "step", "lessons", "loss", "learning_rate"]]


@training.drawn_by
def draw_training(frame: pd.DataFrame, width: str = "double") -> Figure:
    """Two panels next to each other: loss and learning rate, a line per training."""
    from matplotlib.ticker import LogFormatter, MaxNLocator

    models = dict(zip(frame["model"], frame["name"], strict=True))
    looks = style.looks(dict(zip(frame["model"], frame["colour"], strict=True)), by_marks=False)
    size = style.BODY if width == "double" else style.SMALL
    columns = 4 if width == "double" else 2
    figure, grid, _ = style.grid(
        width, 2, 2, 1.9, 0.5, gap=0.62, foot=0.5 + 0.14 * -(-len(models) // columns)
    )
    shown = (("loss", "loss (nats per token)"), ("learning_rate", "learning rate"))
    for number, (axes, (column, label)) in enumerate(zip(grid, shown, strict=True)):
        for model in models:
            line = frame[frame["model"] == model]
            axes.plot(line["step"], line[column], color=looks[model][0], lw=0.8)
        style.panel_letter(axes, "AB"[number], title=f"  {label}", size=size)
        axes.set_xlabel("step", fontsize=size)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
        if column == "loss":  # the first steps of a training are far above all others
            axes.set_yscale("log")
            axes.yaxis.set_minor_formatter(LogFormatter())
        else:
            axes.set_ylim(bottom=0)
        axes.tick_params(labelsize=size)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:.2g}")
    handles = [
        style.handle(color=looks[model][0], lw=1, label=style.shortened(name, size, 1.5))
        for model, name in models.items()
    ]
    style.legend(figure, handles, columns, size)
    return figure
