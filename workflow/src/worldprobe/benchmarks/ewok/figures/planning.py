"""The power of a study to find a difference, against its number of versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from worldprobe.benchmark import figure
from worldprobe.benchmarks.ewok.study import has_logprobs, has_versions
from worldprobe.benchmarks.ewok.tables.planning import PLANS
from worldprobe.contracts.results import OVERALL
from worldprobe.report import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARKS = ("o", "s", "^", "D", "v", "P", "X")


@figure(
    inputs=[PLANS],
    title="Power against versions",
    section="planning",
    caption="How often a study of two models finds a difference (p < 0.05), by its numbers of versions and of pairs of concepts, "
    "with the variances of this study's models. Dashed: 80%.",
    when=(has_logprobs, has_versions),
)
def study_power(plans: pd.DataFrame) -> pd.DataFrame:
    """The rows of all domains together.

    Args:
        plans: the Plans table.
    """
    return plans[plans.grouping == OVERALL].reset_index(drop=True)


@study_power.drawn_by
def draw(frame: pd.DataFrame, width: str = "double") -> Figure:
    """A line for each number of pairs of concepts."""
    from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator

    size = style.BODY if width == "double" else style.SMALL
    numbers = sorted(frame.n_clusters.unique())
    right = style.widest([f"{number} pairs" for number in numbers], size) + 0.42
    plot = (style.WIDTHS[width] - 0.45 - right, 2.4 if width == "double" else 1.9)
    figure = style.canvas(width, plot[1] + 0.08 + 0.4)
    axes = style.axes_at(figure, 0.45, 0.08, *plot)
    axes.axhline(0.8, color=style.INK, lw=0.6, dashes=(3, 2), zorder=1)
    colours = style.family_colours([f"{number} pairs" for number in numbers])
    for place, (number, colour) in enumerate(zip(numbers, colours.values(), strict=True)):
        rows = frame[frame.n_clusters == number].sort_values("n_versions")
        mark = MARKS[place % len(MARKS)]
        axes.plot(rows.n_versions, rows.power, color=colour, marker=mark, ms=3.5, mec="white", mew=0.4, lw=0.9, zorder=3)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator([2, 3, 5, 10, 20, 50]))
    axes.xaxis.set_major_formatter("{x:.0f}")
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_ylim(0, 1.02)
    axes.tick_params(labelsize=size)
    axes.set_xlabel("versions", fontsize=size)
    axes.set_ylabel(f"power for {100 * frame.difference.iloc[0]:g} points", fontsize=size)
    handles = [
        style.handle(marker=MARKS[place % len(MARKS)], ms=4, color=colour, mec="white", mew=0.4, lw=0.9, label=label)
        for place, (label, colour) in enumerate(colours.items())
    ]
    figure.legend(handles=handles, loc="upper right", fontsize=size, bbox_to_anchor=(0.999, 0.99), borderaxespad=0.1)
    return figure
