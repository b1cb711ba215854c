"""Loss and learning rate of trainings, and what fine-tuned models reach."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from worldprobe.benchmark import Input, figure
from worldprobe.benchmarks.worldsense import outputs
from worldprobe.benchmarks.worldsense.analysis.reproduction import read_published
from worldprobe.benchmarks.worldsense.figures import ACCURACY, AMPLITUDE, sets
from worldprobe.benchmarks.worldsense.selection import SUMMARIES, split_tuned
from worldprobe.benchmarks.worldsense.tables import by_part
from worldprobe.errors import UserError
from worldprobe.report import style
from worldprobe.report.model_names import Roster, sort_by
from worldprobe_training.contracts import Trainings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
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

    models = style.names(frame)
    looks = style.looks(dict(zip(frame["model"], frame["colour"], strict=True)), by_marks=False)
    size = style.label_size(width)
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


LINE_COLUMNS = ("panel", "base", "name", "variant", "mark", "mean", "ci_low", "ci_high")
PAPERS = " (paper)"
#: Sets of the paper's Table 9 -> marks of Figure 5.
PAPER_MARKS = {"memorisation": "memorisation", "test": "test", "ood-size": "six entities"}


@figure(
    name="worldsense_finetuning",
    inputs=[SUMMARIES],
    title="Fine-tuning",
    section="finetuning",
    caption=(
        "Accuracy, and mean size of the response bias, by fine-tuning set, with 95% intervals over"
        " skins; next to the paper's models (its Table 9, with its narrower intervals over"
        " tuples). Like Figure 5 of the WorldSense paper."
    ),
    when=(outputs.is_asked, outputs.has_tuned_models),
)
def finetuning(summaries: pd.DataFrame, roster: Roster) -> pd.DataFrame:
    """Accuracy and size of the bias by base, variant and set, and what the paper's Table 9 comes to
    (Figure 5).

    Raises:
        UserError: no model was fine-tuned.
    """
    rows = sets(summaries, roster)
    tuned = split_tuned(rows["model"].unique())
    if not tuned:
        raise UserError(
            "summaries", "contain no fine-tuned model.", "Fine-tune one (worldsense.finetuning)."
        )
    bases = list(dict.fromkeys(base for base, _ in tuned.values()))
    variants = list(dict.fromkeys(variant for _, variant in tuned.values()))
    rows = rows[rows["model"].isin([*tuned, *bases])]
    named = rows.assign(
        base=[tuned.get(model, (model, ""))[0] for model in rows["model"]],
        variant=[tuned.get(model, (model, "0"))[1] for model in rows["model"]],
    )
    named["name"] = named["base"].map(lambda base: roster[base].name)
    named = sort_by(sort_by(named, "variant", ["0", *variants]), "base", bases)
    return pd.concat([named[list(LINE_COLUMNS)], _published()], ignore_index=True)


def _published() -> pd.DataFrame:
    """Accuracy and size of the bias of the paper's models: means of the problems of its Table 9,
    its intervals over tuples.
    """
    numbers = read_published()
    rows = by_part(numbers[numbers["block"] == "table9"])
    wide = rows.pivot(
        index=["model", "condition", "metric", "problem"], columns="part", values="value"
    ).reset_index()
    wide["mean"] = wide["mean"].where(wide["metric"] == "accuracy", wide["mean"].abs())
    wide["square"] = wide["conf95"] ** 2
    groups = wide.groupby(["model", "condition", "metric"], sort=False)
    half = groups["square"].sum() ** 0.5 / groups.size()
    mean = groups["mean"].mean()
    means = pd.DataFrame(
        {"mean": mean, "ci_low": mean - half, "ci_high": mean + half}
    ).reset_index()
    means["base"] = means["model"].str.partition("-FT")[0]
    means["variant"] = means["model"].str.partition("+")[2]
    means["name"] = means["base"] + PAPERS
    means["panel"] = means["metric"].map({"accuracy": ACCURACY, "bias": AMPLITUDE})
    means["mark"] = means["condition"].map(PAPER_MARKS)
    means = sort_by(means, "variant", ["0", "10k", "100k", "1M"])
    sizes = means["base"].str.extract(r"-(\d+)B")[0].astype(int)
    return means.iloc[sizes.argsort(kind="stable")][list(LINE_COLUMNS)]


@finetuning.drawn_by
def draw_finetuning(frame: pd.DataFrame, width: str = "double") -> Figure:
    """Accuracy above, size of the bias below; a column of panels for each base and for each of the
    paper's models.
    """
    bases = list(dict.fromkeys(zip(frame["base"], frame["name"], strict=True)))
    marks = list(dict.fromkeys(frame["mark"]))
    size = style.label_size(width)
    per_row = 4 if width == "double" else 2
    blocks = [bases[start : start + per_row] for start in range(0, len(bases), per_row)]
    left, gap, height = 0.42, 0.14, 1.3
    block_height = 2 * height + 0.72
    columns = 4 if width == "double" else 2
    foot = 0.12 + 0.14 * -(-(len(marks) + 2) // columns)
    plot = (style.WIDTHS[width] - left - 0.1 - gap * (min(per_row, len(bases)) - 1)) / min(
        per_row, len(bases)
    )
    figure = style.canvas(width, block_height * len(blocks) + foot)
    for row, block in enumerate(blocks):
        for column, (base, name) in enumerate(block):
            here = frame[frame["base"] == base]
            for number, panel in enumerate((ACCURACY, AMPLITUDE)):
                top = row * block_height + 0.22 + number * (height + 0.16)
                axes = style.axes_at(figure, left + column * (plot + gap), top, plot, height)
                _draw_panel(axes, here[here["panel"] == panel], marks, panel)
                axes.tick_params(labelsize=size, labelleft=column == 0, labelbottom=number == 1)
                if column == 0:
                    axes.set_ylabel(panel, fontsize=size)
                if number == 0:
                    axes.set_title(style.shortened(name, size, plot), fontsize=size)
                else:
                    axes.set_xlabel("fine-tuned on", fontsize=size)
    handles = [
        style.mark(
            style.shape(n), style.FAMILY_COLOURS[n % len(style.FAMILY_COLOURS)], mark, ls="-"
        )
        for n, mark in enumerate(marks)
    ]
    handles += [*style.hollow(frame), style.chance_line("chance, no bias")]
    style.legend(figure, handles, columns, size)
    return figure


def _draw_panel(axes: Axes, rows: pd.DataFrame, marks: list[str], panel: str) -> None:
    variants = list(dict.fromkeys(rows["variant"]))
    style.dash(axes, 0.5 if panel == ACCURACY else 0.0, across=True)
    present = [mark for mark in marks if mark in set(rows["mark"])]
    for nth, mark in enumerate(present):
        number, line = marks.index(mark), rows[rows["mark"] == mark]
        x = line["variant"].map(variants.index) + 0.3 * ((nth + 0.5) / len(present) - 0.5)
        style.line(
            axes,
            x,
            line,
            style.FAMILY_COLOURS[number % len(style.FAMILY_COLOURS)],
            style.shape(number),
            4,
            2 + number / 100,
        )
    axes.set_xticks(range(len(variants)), variants)
    axes.set_xlim(-0.4, len(variants) - 0.6)
    axes.set_ylim(*((0.4, 1.02) if panel == ACCURACY else (-0.03, 1.05)))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.1f}")
