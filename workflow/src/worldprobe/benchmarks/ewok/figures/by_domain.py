"""Accuracy by domain: one panel per domain, a bar per model, a dot per version (the paper's Figure 4)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pandas as pd

from worldprobe.benchmark import figure
from worldprobe.benchmarks.ewok.contracts import Summaries
from worldprobe.benchmarks.ewok.selection import EVAL_TYPE, domain_order, in_words, pick
from worldprobe.benchmarks.ewok.study import has_logprobs
from worldprobe.contracts.results import ALL
from worldprobe.report import style
from worldprobe.report.model_names import HUMAN, WORD2VEC, Roster

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch


ALL_DOMAINS = "all domains"
COLUMNS = (
    "panel",
    "model",
    "name",
    "family",
    "parameters",
    "colour",
    "eval_type",
    "condition",
    "mean",
    "low",
    "high",
    "ci_low",
    "ci_high",
)


@figure(
    inputs=[Summaries],
    title="Accuracy by domain",
    section="accuracy",
    caption="Accuracy by domain, in the order of the models' mean. Bars: mean over versions; dots: single "
    "versions; dashed line: chance; grey band, where present: range of the human ratings over versions, with their "
    "mean. EWoK, Figure 4.",
    when=has_logprobs,
    options=[EVAL_TYPE],
)
def accuracy_by_domain(summaries: pd.DataFrame, roster: Roster, eval_type: str = "logprobs") -> pd.DataFrame:
    """Every number of the figure: condition all is a bar (or the humans' line), others, the versions, are dots.

    Panels run from the easiest domain to the hardest, then all domains together.
    """
    domains = pick(summaries, "domain", eval_type)
    overall = pick(summaries, "overall", eval_type).assign(group=ALL_DOMAINS)
    order = [*domain_order(domains, roster), ALL_DOMAINS]
    rows = pd.concat([domains, overall], ignore_index=True)
    rows = rows[(rows.model != WORD2VEC) & rows.group.isin(order)]
    rows = style.with_identity(rows, roster).rename(columns={"group": "panel"})
    rows = rows.sort_values("panel", key=lambda column: column.map(order.index), kind="stable")
    return rows[list(COLUMNS)].reset_index(drop=True)


@accuracy_by_domain.drawn_by
def draw(frame: pd.DataFrame, width: str = "double") -> Figure:
    """The figure from its tidy table.

    Args:
        frame: as ``tidy`` makes it.
        width: "single" (three panels a row) or "double" (four).
    """
    panels = list(dict.fromkeys(frame.panel))
    models = [model for model in dict.fromkeys(frame.model) if model != HUMAN]
    names = dict(zip(frame.model, frame.name, strict=True))
    has_human = HUMAN in set(frame.model)
    columns = min(len(panels), 4 if width == "double" else 3)
    rows = math.ceil(len(panels) / columns)

    size = style.BODY if width == "double" and len(models) <= 24 else style.SMALL - 0.6
    title_size = style.TITLE if width == "double" else style.SMALL
    pitch = min(0.165, 2.0 / len(models)) if width == "double" else min(0.13, 1.66 / len(models))
    pitch = max(pitch, 0.085)
    left = style.widest(names.values(), size) + 0.11
    gap, head, foot = (0.17, 0.25, 0.30) if width == "double" else (0.11, 0.21, 0.26)
    panel_width = (style.WIDTHS[width] - left - 0.06 - gap * (columns - 1)) / columns
    title_size = style.fitting(map(in_words, panels), title_size, panel_width + 0.04)
    panel_height = pitch * len(models) + 0.06
    height = rows * (panel_height + head) + foot + 0.2
    figure = style.canvas(width, height)

    for number, panel in enumerate(panels):
        row, column = divmod(number, columns)
        axes = style.axes_at(
            figure, left + column * (panel_width + gap), head + row * (panel_height + head), panel_width, panel_height
        )
        _panel(axes, frame[frame.panel == panel], models, pitch)
        axes.set_title(in_words(panel), fontsize=title_size, fontweight="bold" if panel == ALL_DOMAINS else "normal")
        if column == 0:
            axes.set_yticks(range(len(models)), [names[model] for model in models], fontsize=size)
        else:
            axes.set_yticks([])
        is_lowest = number + columns >= len(panels)
        axes.set_xticks([0, 0.5, 1], ["0", "0.5", "1"] if is_lowest else ["", "", ""], fontsize=size)
        axes.tick_params(axis="y", length=0)
    _legend(figure, frame, size, height, has_human)
    return figure


def _panel(axes: Axes, rows: pd.DataFrame, models: list[str], pitch: float) -> None:
    """Bars from zero, a dot per version, the chance line and the humans' band."""
    place = {model: number for number, model in enumerate(models)}
    human = rows[(rows.model == HUMAN) & (rows.condition == ALL)]
    if len(human):
        low, high = human.low.iloc[0], human.high.iloc[0]
        axes.axvspan(low, high, color=style.HUMAN_BAND, lw=0, zorder=0)
        axes.axvline(human["mean"].iloc[0], color=style.HUMAN_COLOUR, lw=0.7, zorder=0.5)
    bars = rows[(rows.model != HUMAN) & (rows.condition == ALL)]
    axes.barh(bars.model.map(place), bars["mean"], height=0.78, color=bars.colour, lw=0, zorder=2)
    axes.axvline(0.5, color=style.INK, lw=0.6, dashes=(3, 2), zorder=3)
    dots = rows[(rows.model != HUMAN) & (rows.condition != ALL)]
    dot = min(7.0, (pitch * 72 * 0.30) ** 2)
    axes.scatter(dots["mean"], dots.model.map(place), s=dot, color=style.INK, edgecolors="white", linewidths=0.25, zorder=4)
    axes.set_xlim(0, 1.015)
    axes.set_ylim(len(models) - 0.5 + 0.03 / pitch, -0.5 - 0.03 / pitch)
    axes.spines["left"].set_visible(False)


def _legend(figure: Figure, frame: pd.DataFrame, size: float, height: float, has_human: bool) -> None:
    eval_types = [name for name in dict.fromkeys(frame.eval_type) if name not in ("human_likert", "word2vec")]
    handles: list[Line2D | Patch] = [
        style.chance_line("chance"),
        style.handle(marker="o", ms=2.4, color=style.INK, mec="white", mew=0.25, ls="", label="one version"),
    ]
    if has_human:
        handles.append(style.human_patch("humans, range"))
    figure.legend(handles=handles, loc="lower right", ncols=3, fontsize=size, bbox_to_anchor=(0.995, 0.0), borderaxespad=0.3)
    label = f"accuracy ({in_words(eval_types[0])})"
    figure.text(0.008, 0.075 / height, label, fontsize=size, ha="left", va="bottom", color=style.SOFT_INK)
