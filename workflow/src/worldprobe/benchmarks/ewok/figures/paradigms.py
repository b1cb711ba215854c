"""The ways of asking: LogProbs against Likert and Choice per model (the paper's Figure 6), and every prompting set-up."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from worldprobe.benchmarks.ewok.eval_types import EVAL_TYPES, PARADIGMS, TITLES, way_of
from worldprobe.benchmarks.ewok.selection import domain_order, in_words, language_models, over_versions, pick
from worldprobe.errors import UserError
from worldprobe.report import style
from worldprobe.report.model_names import HUMAN, Roster
from worldprobe.report.style import Block, draw_block

COLOURS = {"logprobs": "#0072B2", "likert": "#E69F00", "choice": "#009E73"}
MARKERS = {"logprobs": "o", "likert": "s", "choice": "^"}
PARADIGM_COLUMNS = ("model", "name", "family", "colour", "paradigm", "eval_type", "mean", "low", "high", "ci_low", "ci_high")


def tidy_paradigms(summaries: pd.DataFrame, roster: Roster, setup: str = "constrained_two") -> pd.DataFrame:
    """One row per model and paradigm, the prompted ones in one set-up; humans' row is their Likert accuracy.

    Raises:
        UserError: neither Likert nor Choice was run in this set-up.
    """
    wanted = {"logprobs": "logprobs", f"likert_{setup}": "likert", f"choice_{setup}": "choice", "human_likert": "human"}
    rows = over_versions(pick(summaries, "overall", None))
    rows = rows[rows.eval_type.isin(wanted)]
    if not rows.eval_type.isin([f"likert_{setup}", f"choice_{setup}"]).any():
        raise UserError(
            "--setup",
            f'no model was prompted in the set-up "{setup}".',
            "Add such eval_types to the configuration, or drop this figure.",
        )
    rows = style.with_identity(rows.assign(paradigm=rows.eval_type.map(wanted)), roster)
    return rows[list(PARADIGM_COLUMNS)].reset_index(drop=True)


def draw_paradigms(frame: pd.DataFrame, width: str = "double") -> Figure:
    """A row per model, a mark per paradigm, a thin line for the range over versions."""
    models = [model for model in dict.fromkeys(frame.model) if model != HUMAN]
    names = dict(zip(frame.model, frame.name, strict=True))
    size = style.BODY if width == "double" else style.SMALL
    pitch = min(0.2, max(0.13, 2.6 / len(models)))
    left = style.widest(names.values(), size) + 0.12
    plot = (style.WIDTHS[width] - left - 0.12, pitch * len(models) + 0.08)
    figure = style.canvas(width, plot[1] + 0.12 + 0.62)
    axes = style.axes_at(figure, left, 0.12, *plot)
    place = {model: number for number, model in enumerate(models)}
    human = frame[frame.model == HUMAN]
    if len(human):
        axes.axvspan(human.low.iloc[0], human.high.iloc[0], color=style.HUMAN_BAND, lw=0, zorder=0.3)
        axes.axvline(human["mean"].iloc[0], color=style.HUMAN_COLOUR, lw=0.7, zorder=0.5)
    for number in range(len(models)):
        axes.axhline(number, color=style.RULE, lw=0.4, zorder=0.2)
    axes.axvline(0.5, color=style.INK, lw=0.6, dashes=(3, 2), zorder=1)
    paradigms = [paradigm for paradigm in PARADIGMS if paradigm in set(frame.paradigm)]
    for number, paradigm in enumerate(paradigms):
        rows = frame[(frame.paradigm == paradigm) & (frame.model != HUMAN)]
        y = rows.model.map(place) + 0.2 * (number - (len(paradigms) - 1) / 2)
        colour = COLOURS[paradigm]
        axes.hlines(y, rows.low, rows.high, color=colour, lw=0.9, zorder=2)
        axes.scatter(rows["mean"], y, s=15, marker=MARKERS[paradigm], color=colour, edgecolors="white", linewidths=0.35, zorder=3)
    lowest = float(np.nanmin(frame["low"].fillna(frame["mean"])))
    axes.set_xlim(max(0.0, min(0.4, np.floor(lowest * 10) / 10)), 1.0)
    axes.set_ylim(len(models) - 0.4, -0.6)
    axes.set_yticks(range(len(models)), [names[model] for model in models], fontsize=size)
    axes.tick_params(axis="x", labelsize=size)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("accuracy", fontsize=size)
    handles: list[Line2D | Patch] = [
        Line2D(
            [],
            [],
            marker=MARKERS[p],
            ms=4,
            color=COLOURS[p],
            mec="white",
            mew=0.3,
            lw=0.9,
            label=TITLES[p],
        )
        for p in paradigms
    ]
    handles.append(Line2D([], [], color=style.INK, lw=0.6, dashes=(3, 2), label="chance"))
    if len(human):
        handles.append(Patch(facecolor=style.HUMAN_BAND, edgecolor=style.HUMAN_COLOUR, lw=0.5, label="humans"))
    columns = len(handles) if width == "double" else 3
    figure.legend(handles=handles, loc="lower center", ncols=columns, fontsize=size, bbox_to_anchor=(0.5, 0), borderaxespad=0.2)
    return figure


def tidy_setups(summaries: pd.DataFrame, roster: Roster, by: str = "model", metric: str = "accuracy") -> pd.DataFrame:
    """Accuracy under every eval_type, a row per model (``by="model"``) or per domain, averaged over models (``by="domain"``)."""
    if by == "model":
        rows = style.with_identity(
            language_models(over_versions(pick(summaries, "overall", None, metric, yardsticks=False))), roster
        )
        rows = rows.assign(row_id=rows.model, row=rows.name, block=rows.family, n=1, value=rows["mean"])
    else:
        every = language_models(over_versions(pick(summaries, "domain", None, metric, yardsticks=False)))
        every = every[~every.model.map(lambda model: roster[model].is_untrained)]
        scored = every[every.eval_type == "logprobs"]  # the order of all other figures, where there is one
        order = domain_order(scored if len(scored) else every, roster)
        means = every.groupby(["group", "eval_type"], sort=False)["mean"].agg(["mean", "count"]).reset_index()
        rows = means.rename(columns={"mean": "value", "count": "n"})
        rows = rows.assign(row_id=rows.group, row=rows.group.map(in_words), block="", low=np.nan, high=np.nan)
        rows = rows.sort_values("group", key=lambda column: column.map(order.index), kind="stable")
    return rows[["block", "row_id", "row", "eval_type", "value", "low", "high", "n"]].reset_index(drop=True)


def draw_setups(frame: pd.DataFrame, width: str = "double") -> Figure:
    """Numbers on colours: white is chance, blue above, orange below."""
    ids = dict(zip(frame.row_id, frame.row, strict=True))
    rows = list(ids.values())
    columns = [name for name in EVAL_TYPES if name in set(frame.eval_type)]
    matrix = frame.pivot(index="row_id", columns="eval_type", values="value").reindex(index=list(ids), columns=columns)
    size = style.BODY if width == "double" else style.SMALL - 0.6
    left = style.widest(rows, size) + 0.1
    plot = (style.WIDTHS[width] - left - 0.08, (0.17 if width == "double" else 0.14) * len(rows))
    head = 0.55
    figure = style.canvas(width, head + plot[1] + 0.28)
    axes = style.axes_at(figure, left, head, *plot)
    headings = ["\n".join(way_of(name).short) for name in columns]
    draw_block(axes, Block(matrix.to_numpy(dtype=float), rows, headings), size=size, numbers=True)
    axes.tick_params(axis="x", pad=1.5)
    _paradigm_brackets(axes, columns, plot[1], size)
    _around_chance_key(figure, size)
    return figure


def _paradigm_brackets(axes: Axes, columns: list[str], height: float, size: float) -> None:
    """The paradigm's name over its columns, with a thin rule under it."""
    paradigms = [way_of(name).paradigm for name in columns]
    for paradigm in dict.fromkeys(paradigms):
        first, last = paradigms.index(paradigm), len(paradigms) - 1 - paradigms[::-1].index(paradigm)
        middle = (first + last + 1) / 2
        above = axes.get_xaxis_transform()
        up = 1 + 0.30 / height
        axes.plot([first + 0.1, last + 0.9], [up, up], color=style.SOFT_INK, lw=0.5, transform=above, clip_on=False)
        axes.text(middle, up + 0.03 / height, TITLES[paradigm], transform=above, ha="center", va="bottom", fontsize=size)


def _around_chance_key(figure: Figure, size: float) -> None:
    figure.text(
        0.995,
        0.05 / figure.get_size_inches()[1],
        "white: chance (0.5), blue: above, orange: below",
        fontsize=size,
        ha="right",
        color=style.SOFT_INK,
    )
