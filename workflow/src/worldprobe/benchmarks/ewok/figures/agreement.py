"""Choice against the choice that Likert ratings imply, as confusion matrices (the paper's Figure 7)."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from worldprobe.benchmarks.ewok.contracts import PREFERENCES
from worldprobe.errors import UserError, did_you_mean
from worldprobe.report import style
from worldprobe.report.model_names import HUMAN, Roster
from worldprobe.report.style import Block, draw_block

ALL_MODELS = "all models"
#: In place of a model's id in the rows that pool all models.
POOLED = ""
LABELS = {
    "context1": "context 1",
    "context2": "context 2",
    "none": "no preference",
    "missing": "unreadable",
}  # or, of people, asked in the other way only


def tidy(agreements: pd.DataFrame, roster: Roster, setup: str = "constrained_two") -> pd.DataFrame:
    """Counts and shares per model, after a first block that pools all models and, where they were asked both ways, people.

    People are asked in one way only, whatever the models' set-up is.

    Raises:
        UserError: the set-up was not run.
    """
    is_human = agreements.model == HUMAN
    rows = agreements[(agreements.setup == setup) & ~is_human]
    if rows.empty:
        held = sorted(agreements.setup[~is_human].unique())
        raise UserError(
            "--setup", f'"{setup}" was not run{did_you_mean(setup, held)}', f"Choose one of: {', '.join(held) or 'none'}."
        )
    pooled = rows.groupby(["setup", "likert", "choice"], as_index=False)["n"].sum()
    pooled = pooled.assign(model=POOLED, name=ALL_MODELS, share=pooled.n / max(int(pooled.n.sum()), 1))
    single = style.with_identity(pd.concat([rows, agreements[is_human]]), roster)
    frame = pd.concat([pooled, single], ignore_index=True)
    return frame[["model", "name", "setup", "likert", "choice", "n", "share"]]


def draw(frame: pd.DataFrame, width: str = "double") -> Figure:
    """A small matrix per model; the diagonal is agreement, and its sum is given below the name."""
    shown = dict(zip(frame.model, frame.name, strict=True))
    seen = frame[frame.n > 0]
    levels = [level for level in PREFERENCES if level in set(seen.likert) | set(seen.choice) or level != "missing"]
    if len(set(shown) - {HUMAN}) == 2:  # one model: the pooled matrix says the same
        del shown[POOLED]
    most = 6 if width == "double" else 3
    columns = min(most, len(shown))
    rows = math.ceil(len(shown) / columns)
    size = style.SMALL
    left, top, head, gap, foot = 0.98, 0.05, 0.34, 0.13, 0.85
    cell = min(0.36, (style.WIDTHS[width] - left - 0.06 - gap * (columns - 1)) / columns / len(levels))
    side = cell * len(levels)
    figure = style.canvas(width, top + rows * (side + head) + foot)
    for number, (model, name) in enumerate(shown.items()):
        row, column = divmod(number, columns)
        axes = style.axes_at(figure, left + column * (side + gap), top + head + row * (side + head), side, side)
        part = (
            frame[frame.model == model]
            .pivot(index="likert", columns="choice", values="share")
            .reindex(index=levels, columns=levels)
        )
        values = part.to_numpy(dtype=float)
        labels = [LABELS[level] for level in levels]
        block = Block(values, labels if column == 0 else [""] * len(levels), [""] * len(levels))
        draw_block(axes, block, size=size, colours=style.SEQUENTIAL, limits=(0, max(0.5, float(np.nanmax(values)))))
        _percentages(axes, values, cell)
        if number + columns >= len(shown):
            axes.xaxis.tick_bottom()
            axes.set_xticks(np.arange(len(levels)) + 0.5, labels, fontsize=size, rotation=45, ha="right", rotation_mode="anchor")
            axes.tick_params(axis="x", pad=1)
        # Agreement counts only rows in which both ways of asking gave something readable.
        readable = [i for i, level in enumerate(levels) if level != "missing"]
        whole = np.nansum(values[np.ix_(readable, readable)])
        agreed = np.nansum(np.diag(values)[readable]) / whole if whole > 0 else float("nan")
        title = style.shortened(name, size, side + 0.04)
        axes.set_title(title, fontsize=size, fontweight="bold" if model == POOLED else "normal", pad=9.5)
        share = "" if math.isnan(agreed) else f"{agreed:.0%} agree"
        axes.text(0, 1 + 0.02 / side, share, transform=axes.transAxes, va="bottom", fontsize=size, color=style.SOFT_INK)
    height = figure.get_size_inches()[1]
    figure.text(
        0.012,
        1 - (top + head + (rows * (side + head)) / 2) / height,
        "implied by Likert ratings",
        rotation=90,
        va="center",
        fontsize=size + 0.6,
    )
    figure.text(
        (left + (columns * (side + gap)) / 2) / style.WIDTHS[width],
        0.05 / height,
        "chosen outright",
        ha="center",
        fontsize=size + 0.6,
    )
    return figure


def _percentages(axes, values: np.ndarray, cell: float) -> None:  # type: ignore[no-untyped-def]
    """Whole percent in each cell."""
    size = min(style.SMALL, cell * 72 * 0.36)
    limit = max(0.5, float(np.nanmax(values)))
    for (i, j), value in np.ndenumerate(values):
        if not np.isnan(value):
            colour = "white" if value / limit > 0.55 else style.INK
            axes.text(j + 0.5, i + 0.53, f"{100 * value:.0f}", ha="center", va="center", fontsize=size, color=colour)
