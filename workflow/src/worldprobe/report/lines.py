"""Lines of models with their names at their ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from worldprobe.report import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


#: Models that are all named, and in their colours.
FEW = 6


def draw_lines(frame: pd.DataFrame, width: str = "double") -> Figure:
    """Accuracy: a panel for each ``panel`` and ``axis``, a bold line over ``x`` per model with its
    name at its end, and thin grey ones of rules, without intervals. Of more models than ``FEW``,
    what nowhere differs from chance is grey. An axis of one place is left out where there are
    others.

    Args:
        frame: panel, axis, model, name, family, colour, x, mean, ci_low, ci_high.
        width: "single" or "double".
    """
    from matplotlib.ticker import MaxNLocator

    models = list(dict.fromkeys(frame["model"]))
    names = style.names(frame)
    rules = set(frame.loc[style.are_rules(frame), "model"])
    bold = [model for model in models if model not in rules]
    looks = style.looks(dict(zip(frame["model"], frame["colour"], strict=True)))
    looks |= dict.fromkeys(rules, (style.RULE_COLOUR, "o"))
    every: dict[Any, pd.DataFrame] = dict(list(frame.groupby(["panel", "axis"], sort=False)))
    panels = {pair: part for pair, part in every.items() if part["x"].nunique() > 1} or every
    per_row = (2 if len(panels) in (2, 4) else 3) if width == "double" else 1
    size = style.label_size(width)
    shown = {model: style.shortened(name, size, 1.3) for model, name in names.items()}
    room = 1.08 * style.widest([*shown.values(), "not shown to differ: 99"], size) + 0.1
    tall = 1.6
    figure, grid, across = style.grid(
        width,
        len(panels),
        per_row,
        tall,
        0.36,
        gap=room + 0.12,
        head=0.56,
        foot=0.36,
        right=room,
        top=0.22,
    )
    limits = style.fitting_limits(frame, ["mean", "ci_low", "ci_high"])
    for number, (axes, (panel, axis)) in enumerate(zip(grid, panels, strict=True)):
        here, ends, n_grey = panels[panel, axis], [], 0
        style.dash(axes, across=True)
        axes.set_ylim(*limits)
        for model in models:
            line = here[here["model"] == model].sort_values("x")
            if line.empty:
                continue
            colour, mark = looks[model]
            if model in rules:
                axes.plot(line["x"], line["mean"], color=colour, lw=0.6, marker="o", ms=1.6)
                ends.append((float(line["mean"].iloc[-1]), shown[model], style.SOFT_INK))
            elif len(bold) > FEW and style.is_at(line, 0.5).all():
                axes.plot(line["x"], line["mean"], color=style.GREY, lw=0.6, marker="o", ms=1.6)
                style.blank(axes, line["x"], line, "o", 2.4)
                n_grey += 1
            else:
                shift = 0.2 * ((bold.index(model) + 0.5) / len(bold) - 0.5)
                x = line["x"] + shift
                style.line(axes, x, line, colour, mark, size=4.2, zorder=4, lw=1.5, cap=1.6)
                ends.append((float(line["mean"].iloc[-1]), shown[model], colour))
        if n_grey:
            ends.append((0.5, f"not shown to differ: {n_grey}", style.SOFT_INK))
        name_ends(axes, ends, size, tall)
        axes.set_title(style.shortened(panel, size, across + room), fontsize=size)
        axes.set_xlabel(axis, fontsize=size)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        axes.set_xlim(here["x"].min() - 0.3, here["x"].max() + 0.3)
        axes.tick_params(labelsize=size, labelleft=number % per_row == 0)
        if number % per_row == 0:
            axes.set_ylabel("accuracy", fontsize=size)
    return figure


def name_ends(axes: Axes, ends: Sequence[tuple[float, str, str]], size: float, tall: float) -> None:
    """The names of lines to the right of the axes, at the heights where the lines end, moved apart
    where they would overlap.

    Args:
        axes: with their final limits.
        ends: height, name and colour of each line.
        size: points.
        tall: height of the axes in inches.
    """
    low, high = axes.get_ylim()
    pitch = 1.25 * size / 72 / tall * (high - low)
    ends = sorted(ends)
    heights = [height for height, _, _ in ends]
    for number in range(1, len(heights)):
        heights[number] = max(heights[number], heights[number - 1] + pitch)
    above = high + pitch
    for number in reversed(range(len(heights))):
        above = heights[number] = min(heights[number], above - pitch)
    for height, (_, name, colour) in zip(heights, ends, strict=True):
        axes.text(
            1.02,
            height,
            name,
            transform=axes.get_yaxis_transform(),
            va="center",
            fontsize=size,
            color=colour,
            fontweight="normal" if colour == style.SOFT_INK else "bold",
        )
