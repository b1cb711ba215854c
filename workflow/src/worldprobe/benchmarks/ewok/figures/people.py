"""People asked by Choice against people asked by Likert: the confusion matrix of the paper's Figure 7."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from worldprobe.benchmark import Input, figure
from worldprobe.benchmarks.ewok.contracts import PREFERENCES, Agreements
from worldprobe.benchmarks.ewok.study import has_both_ways
from worldprobe.benchmarks.ewok.tables.people import HUMAN_STATISTICS
from worldprobe.report import style
from worldprobe.report.model_names import HUMAN, Roster
from worldprobe.report.style import Block, draw_block

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_LABELS = {"context1": "context 1", "context2": "context 2", "none": "no preference", "missing": "not asked"}


@figure(
    inputs=[Input(Agreements, "human/agreements.parquet", name="human_agreements"), HUMAN_STATISTICS],
    title="People, Likert and Choice",
    section="people",
    caption="The context that people chose against the context that other people's Likert ratings prefer, in percent of "
    "targets. No preference: mean ratings less than 1 apart, or a mean choice less than 0.2 away from the middle. "
    "EWoK, Figure 7.",
    when=has_both_ways,
)
def human_agreement(agreements: pd.DataFrame, statistics: pd.DataFrame, roster: Roster) -> pd.DataFrame:
    """Counts and shares of every pair of preferences, with the people's name and Pearson's r of the two ways in every row."""
    known = statistics.loc[statistics["quantity"] == "likert_choice_r", "value"]
    frame = agreements[["likert", "choice", "n", "share"]].copy()
    return frame.assign(name=roster[HUMAN].name, r=float(known.iloc[0]) if len(known) else float("nan"))


@human_agreement.drawn_by
def draw(frame: pd.DataFrame, width: str = "double") -> Figure:
    """The matrix with percentages and counts; a row or column that nobody falls into is left out if it means not asked.

    However wide the page is, nine cells need no more than one column.
    """
    seen = frame[frame["n"] > 0]
    levels = [level for level in PREFERENCES if level != "missing" or level in set(seen["likert"]) | set(seen["choice"])]
    left, top, right, foot = 0.98, 0.34, 0.12, 0.42
    side = style.WIDTHS["single"] - left - right
    figure = style.canvas("single", top + side + foot)
    axes = style.axes_at(figure, left, top, side, side)
    values = frame.pivot(index="likert", columns="choice", values="share").reindex(index=levels, columns=levels).to_numpy(float)
    counts = frame.pivot(index="likert", columns="choice", values="n").reindex(index=levels, columns=levels).to_numpy(int)
    labels = [_LABELS[level] for level in levels]
    size = style.BODY
    limit = max(0.5, float(np.nanmax(values)))
    draw_block(axes, Block(values, labels, labels), size=size, colours=style.sequential(), limits=(0, limit))
    axes.xaxis.tick_bottom()
    axes.set_xlabel("chosen outright", fontsize=size + 1, labelpad=6)
    axes.set_ylabel("implied by Likert ratings", fontsize=size + 1, labelpad=6)
    for (i, j), value in np.ndenumerate(values):
        colour = "white" if value / limit > 0.55 else style.INK
        axes.text(j + 0.5, i + 0.43, f"{100 * value:.1f}%", ha="center", va="center", fontsize=size + 1, color=colour)
        axes.text(j + 0.5, i + 0.64, f"{counts[i, j]:,}", ha="center", va="center", fontsize=size - 1, color=colour)
    # As in the figure of models: a target that was asked in one way only neither agrees nor disagrees.
    is_both = [level != "missing" for level in levels]
    agreed, asked = int(np.trace(counts[is_both][:, is_both])), int(counts[is_both][:, is_both].sum())
    words = f"{agreed / asked:.1%} of {asked:,} targets agree" if asked else "no target was asked in both ways"
    r = float(frame["r"].iloc[0])
    axes.set_title(words + ("" if np.isnan(r) else f"; r = {r:.2f}"), fontsize=size + 1, pad=8)
    return figure
