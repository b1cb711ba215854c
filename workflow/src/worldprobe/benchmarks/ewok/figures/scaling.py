"""Accuracy against the number of parameters, a colour per family."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from worldprobe.benchmark import figure
from worldprobe.benchmarks.ewok.contracts import Summaries
from worldprobe.benchmarks.ewok.selection import EVAL_TYPE, in_words, over_versions, pick
from worldprobe.benchmarks.ewok.study import has_known_sizes, has_logprobs
from worldprobe.errors import UserError
from worldprobe.report import style
from worldprobe.report.model_names import CONTROL_FAMILY, HUMAN, WORD2VEC, Roster, family_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure


MARKS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")


@figure(
    inputs=[Summaries],
    title="Model size",
    section="scale",
    caption="Accuracy against the number of parameters. Vertical lines: range over versions; slanted lines: a family's mean "
    "at each size. Models of the same size are drawn side by side; control models are not joined.",
    when=(has_logprobs, has_known_sizes),
    options=[EVAL_TYPE],
    shows_sizes=True,
)
def scaling(summaries: pd.DataFrame, roster: Roster, eval_type: str = "logprobs") -> pd.DataFrame:
    """One row per model with a known number of parameters, and the yardsticks without one.

    Raises:
        UserError: the registry knows no model's number of parameters.
    """
    rows = style.with_identity(over_versions(pick(summaries, "overall", eval_type)), roster)
    rows = rows[rows.parameters.notna() | rows.model.isin([HUMAN, WORD2VEC])]
    if rows.parameters.isna().all():
        raise UserError(
            "--registry",
            "the registry has no model's number of parameters.",
            "Add `parameters` to its entries, or drop this figure.",
        )
    columns = ["model", "name", "family", "colour", "parameters", "eval_type", "mean", "low", "high", "ci_low", "ci_high"]
    return rows[columns].reset_index(drop=True)


@scaling.drawn_by
def draw(frame: pd.DataFrame, width: str = "double") -> Figure:
    """A logarithmic scale of parameters; a thin line joins a family's means, bars are the range over versions."""
    from matplotlib.ticker import LogLocator, NullFormatter

    models = frame[frame.parameters.notna()].copy()
    # Controls differ in more than size: each is a series of its own, and no line joins them.
    models["series"] = models["name"].where(models.family == CONTROL_FAMILY, models.family.map(family_name))
    series = list(dict.fromkeys(models.series))
    hues = {one: _of_largest(models[models.series == one]) for one in series}
    size = style.BODY if width == "double" else style.SMALL
    total = style.WIDTHS[width]
    right = style.widest([*series, "humans, range" if HUMAN in set(frame.model) else "chance"], size) + 0.42
    plot = (total - 0.45 - right, 2.6 if width == "double" else 1.9)
    figure = style.canvas(width, plot[1] + 0.08 + 0.4)
    axes = style.axes_at(figure, 0.45, 0.08, *plot)
    style.people(axes, frame, across=True)
    style.dash(axes, across=True)
    # Models of one size are drawn a little apart, or they would cover each other.
    models["x"] = models.parameters.astype(float) * 1.035 ** _ranks_within(models.parameters)
    for number, one in enumerate(series):
        part = models[models.series == one].sort_values(["x", "model"], kind="stable")
        means = part.groupby("parameters").agg(x=("x", "mean"), mean=("mean", "mean"))
        if len(means) > 1:
            axes.plot(means.x, means["mean"], color=hues[one], lw=0.8, alpha=0.6, zorder=2)
        axes.vlines(part.x, part.low, part.high, color=hues[one], lw=0.8, zorder=3)
        mark = MARKS[number % len(MARKS)]
        axes.scatter(part.x, part["mean"], s=20, marker=mark, color=hues[one], edgecolors="white", linewidths=0.4, zorder=4)
    axes.set_xscale("log")
    span = np.log10(models.x.max() / models.x.min()) if len(models) > 1 else 1
    axes.set_xlim(models.x.min() / 10 ** (0.06 * span + 0.03), models.x.max() * 10 ** (0.06 * span + 0.03))
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0) if span < 2.5 else (1.0,)))
    axes.xaxis.set_major_formatter(lambda value, _place: parameters_in_words(value))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_ylim(*style.fitting_limits(frame, ["mean", "low", "high"]))
    axes.tick_params(labelsize=size)
    axes.set_xlabel("parameters", fontsize=size)
    axes.set_ylabel(f"accuracy ({in_words(frame.eval_type[~frame.model.isin([HUMAN, WORD2VEC])].iloc[0])})", fontsize=size)
    handles: list[Any] = [style.mark(MARKS[i % len(MARKS)], hues[one], one, lw=0.8, ls="-") for i, one in enumerate(series)]
    handles.append(style.chance_line("chance"))
    if HUMAN in set(frame.model):
        handles.append(style.human_patch("humans, range"))
    figure.legend(
        handles=handles, loc="upper right", fontsize=size, bbox_to_anchor=(0.999, 0.99), borderaxespad=0.1, labelspacing=0.55
    )
    return figure


def _of_largest(series: pd.DataFrame) -> str:
    """A family's colour is that of its largest model, the strongest shade of its hue."""
    return str(series.sort_values(["parameters", "model"], kind="stable").colour.iloc[-1])


def _ranks_within(parameters: pd.Series) -> np.ndarray:
    """0, 1, 2 ... within models of exactly the same size, centred."""
    groups = parameters.groupby(parameters)
    return (groups.cumcount() - (groups.transform("size") - 1) / 2).to_numpy(dtype=float)


def parameters_in_words(count: float) -> str:
    """A parameter count as people say it.

    >>> parameters_in_words(7e9), parameters_in_words(3e5), parameters_in_words(1.5e6)
    ('7B', '300K', '1.5M')
    """
    for size, letter in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "K")):
        if count >= size:
            return f"{count / size:.3g}{letter}"
    return f"{count:.3g}"
