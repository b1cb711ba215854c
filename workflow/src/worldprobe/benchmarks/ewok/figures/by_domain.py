"""Accuracy by domain: one panel per domain, a dot with an interval per model, a tick per version (the paper's Figure 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from worldprobe.benchmark import figure
from worldprobe.benchmarks.ewok.contracts import Summaries
from worldprobe.benchmarks.ewok.selection import EVAL_TYPE, domain_order, in_words, pick
from worldprobe.benchmarks.ewok.study import has_logprobs
from worldprobe.contracts.results import ALL
from worldprobe.report import style
from worldprobe.report.model_names import HUMAN, WORD2VEC, Roster

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
    caption="Accuracy by domain, in the order of the models' mean, on an axis that fits. Dots: mean over versions, with 95% "
    "intervals; ticks: single versions; dashed line: chance; grey band, where present: range of the human ratings over versions, "
    "with their mean. EWoK, Figure 4.",
    when=has_logprobs,
    options=[EVAL_TYPE],
)
def accuracy_by_domain(summaries: pd.DataFrame, roster: Roster, eval_type: str = "logprobs") -> pd.DataFrame:
    """Every number of the figure: condition all is a dot (or the humans' line), others, the versions, are ticks.

    Panels run from the domain with the highest mean to that with the lowest, then all domains together.
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
    place, names = {model: number for number, model in enumerate(models)}, dict(zip(frame.model, frame.name, strict=True))
    is_double = width == "double"
    size = style.BODY if is_double and len(models) <= 24 else style.SMALL - 0.6
    pitch = max(min(0.165, 2.0 / len(models)) if is_double else min(0.13, 1.66 / len(models)), 0.085)
    left, columns = style.widest(names.values(), size) + 0.11, 4 if is_double else 3
    figure, grid, across = style.grid(
        width, len(panels), columns, pitch * len(models) + 0.06, left, gap=0.17 if is_double else 0.11, head=0.25, foot=0.5
    )
    title_size = style.fitting(map(in_words, panels), style.TITLE if is_double else style.SMALL, across + 0.04)
    limits = style.fitting_limits(frame, ["mean", "ci_low", "ci_high", "low", "high"])
    for number, (axes, panel) in enumerate(zip(grid, panels, strict=True)):
        rows = frame[frame.panel == panel]
        style.people(axes, rows[rows.condition == ALL])
        style.dash(axes)
        whole, single = (rows[(rows.model != HUMAN) & ((rows.condition == ALL) == is_all)] for is_all in (True, False))
        ticks: dict[str, Any] = {
            "s": (pitch * 72 * 0.45) ** 2,
            "marker": "|",
            "color": style.SOFT_INK,
            "linewidths": 0.5,
            "zorder": 1.5,
        }
        axes.scatter(single["mean"], single.model.map(place), **ticks)
        style.dots(axes, whole.model.map(place), whole, whole.colour, size=min(14, (pitch * 72 * 0.42) ** 2))
        axes.set_title(in_words(panel), fontsize=title_size, fontweight="bold" if panel == ALL_DOMAINS else "normal")
        style.name_rows(axes, [names[model] for model in models], size, number % columns == 0)
        axes.set_xlim(*limits)
        axes.locator_params(axis="x", nbins=4)
        axes.tick_params(axis="x", labelbottom=number + columns >= len(panels))
    handles: list[Any] = [
        style.chance_line("chance"),
        style.mark("o", style.SOFT_INK, "mean, 95% interval", lw=0.9, ls="-"),
        style.mark("|", style.SOFT_INK, "one version", mec=style.SOFT_INK),
    ]
    if HUMAN in set(frame.model):
        handles.append(style.human_patch("humans, range"))
    style.legend(figure, handles, 4 if is_double else 2, size)
    return figure
