"""The ways of asking (the paper's Figure 6), and the agreement of two of them (Figure 7)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from worldprobe.benchmark import figure
from worldprobe.benchmarks.ewok import selection
from worldprobe.benchmarks.ewok.contracts import PREFERENCES, Agreements, Summaries
from worldprobe.benchmarks.ewok.options import SETUP
from worldprobe.benchmarks.ewok.study import has_both_paradigms, has_logprobs
from worldprobe.benchmarks.ewok.vocabulary import PARADIGMS, TITLES
from worldprobe.errors import UserError, did_you_mean
from worldprobe.report import style
from worldprobe.report.model_names import HUMAN, Roster

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


ALL_MODELS = "all models"
#: In place of a model's id in the rows that pool all models.
POOLED = ""
LABELS = {
    "context1": "context 1",
    "context2": "context 2",
    "none": "no preference",
    "missing": "unreadable",
}  # or, of people, asked in the other way only
#: How much lighter a mark is than the colour of its model.
LIGHTER = {"logprobs": 0.0, "likert": 0.25, "choice": 0.45}
MARKERS = {"logprobs": "o", "likert": "s", "choice": "^"}
PARADIGM_COLUMNS = (
    "model",
    "name",
    "family",
    "colour",
    "paradigm",
    "eval_type",
    "mean",
    "low",
    "high",
    "ci_low",
    "ci_high",
)


@figure(
    inputs=[Summaries],
    title="Ways of asking",
    section="paradigms",
    caption=(
        "LogProbs, Likert and Choice on the same items, with the range over versions, or with 95%"
        " intervals where there is one version."
        " Like Figure 6 of the EWoK paper."
    ),
    when=(has_logprobs, has_both_paradigms),
    options=[SETUP],
)
def paradigms(
    summaries: pd.DataFrame, roster: Roster, setup: str = "constrained_two"
) -> pd.DataFrame:
    """One row per model and paradigm, the prompted ones in one set-up; humans' row is their Likert
    accuracy.

    Raises:
        UserError: neither Likert nor Choice was run in this set-up.
    """
    wanted = {
        "logprobs": "logprobs",
        f"likert_{setup}": "likert",
        f"choice_{setup}": "choice",
        "human_likert": "human",
    }
    rows = selection.over_versions(selection.pick(summaries, "overall", None))
    rows = rows[rows.eval_type.isin(wanted)]
    if not rows.eval_type.isin([f"likert_{setup}", f"choice_{setup}"]).any():
        raise UserError(
            "--setup",
            f'no model was prompted in the set-up "{setup}".',
            "Add such eval_types to the configuration, or drop this figure.",
        )
    rows = style.with_identity(rows.assign(paradigm=rows.eval_type.map(wanted)), roster)
    return rows[list(PARADIGM_COLUMNS)].reset_index(drop=True)


@paradigms.drawn_by
def draw_paradigms(frame: pd.DataFrame, width: str = "double") -> Figure:
    """A row per model, a mark per paradigm, a thin line for the range over versions; of one version
    for the interval.
    """
    models = [model for model in dict.fromkeys(frame.model) if model != HUMAN]
    names = style.names(frame)
    size = style.label_size(width)
    tall = min(0.2, max(0.13, 2.6 / len(models))) * len(models) + 0.08
    left = style.widest(names.values(), size) + 0.12
    figure, (axes,), _ = style.grid(width, 1, 1, tall, left, head=0.12, foot=0.62)
    positions = {model: number for number, model in enumerate(models)}
    style.people(axes, frame)
    for number in range(len(models)):
        axes.axhline(number, color=style.RULE, lw=0.4, zorder=0.2)
    style.dash(axes)
    of_models = frame[frame.model != HUMAN]
    has_range = bool((of_models.low != of_models.high).any())
    ends = ("low", "high") if has_range else ("ci_low", "ci_high")
    paradigms = [paradigm for paradigm in PARADIGMS if paradigm in set(frame.paradigm)]
    for number, paradigm in enumerate(paradigms):
        rows = frame[(frame.paradigm == paradigm) & (frame.model != HUMAN)]
        y = rows.model.map(positions) + 0.2 * (number - (len(paradigms) - 1) / 2)
        looks: dict[str, Any] = {"marker": MARKERS[paradigm], "certain": ("ci_low", "ci_high")}
        colours = [style.with_lightness(colour, LIGHTER[paradigm]) for colour in rows.colour]
        style.dots(axes, y, rows, colours, ends=ends, **looks)
    axes.set_xlim(*style.fitting_limits(frame, ["mean", *ends]))
    style.name_rows(axes, [names[model] for model in models], size)
    axes.set_xlabel("accuracy", fontsize=size)
    handles: list[Any] = [
        style.mark(MARKERS[p], style.with_lightness(style.SOFT_INK, LIGHTER[p]), TITLES[p])
        for p in paradigms
    ]
    handles += [*style.hollow(frame[frame.model != HUMAN]), style.chance_line("chance")]
    if HUMAN in set(frame.model):
        handles.append(style.human_patch("humans"))
    style.legend(figure, handles, 6 if width == "double" else 3, size)
    return figure


@figure(
    inputs=[Agreements],
    title="Agreement",
    section="paradigms",
    caption=(
        "Chosen context against the context with higher Likert ratings, in percent of targets. No"
        " preference: equal ratings, or a choice that follows the position (humans: mean ratings"
        " less than 1 apart, or a mean choice within 0.2 of the middle). Unreadable, for humans:"
        " asked in one way only. Below each name: agreement, unreadable answers left out."
        " Like Figure 7 of the EWoK paper."
    ),
    when=has_both_paradigms,
    options=[SETUP],
)
def agreement(
    agreements: pd.DataFrame, roster: Roster, setup: str = "constrained_two"
) -> pd.DataFrame:
    """Counts and shares per model, after a first block that pools all models and, where they were
    asked both ways, people.

    People are asked in one way only, whatever the models' set-up is.

    Raises:
        UserError: the set-up was not run.
    """
    is_human = agreements.model == HUMAN
    rows = agreements[(agreements.setup == setup) & ~is_human]
    if rows.empty:
        held = sorted(agreements.setup[~is_human].unique())
        raise UserError(
            "--setup",
            f'"{setup}" was not run{did_you_mean(setup, held)}',
            f"Choose one of: {', '.join(held) or 'none'}.",
        )
    pooled = rows.groupby(["setup", "likert", "choice"], as_index=False)["n"].sum()
    pooled = pooled.assign(
        model=POOLED, name=ALL_MODELS, share=pooled.n / max(int(pooled.n.sum()), 1)
    )
    single = style.with_identity(pd.concat([rows, agreements[is_human]]), roster)
    frame = pd.concat([pooled, single], ignore_index=True)
    return frame[["model", "name", "setup", "likert", "choice", "n", "share"]]


@agreement.drawn_by
def draw_agreement(frame: pd.DataFrame, width: str = "double") -> Figure:
    """A small matrix per model; the diagonal is agreement, and its sum is given below the name."""
    shown = style.names(frame)
    levels = preference_levels(frame)
    if len(set(shown) - {HUMAN}) == 2:  # one model: the pooled matrix says the same
        del shown[POOLED]
    columns = min(6 if width == "double" else 3, len(shown))
    rows = math.ceil(len(shown) / columns)
    size = style.SMALL
    left, top, head, gap, foot = 0.98, 0.05, 0.34, 0.13, 0.85
    cell = min(
        0.36, (style.WIDTHS[width] - left - 0.06 - gap * (columns - 1)) / columns / len(levels)
    )
    side = cell * len(levels)
    figure = style.canvas(width, top + rows * (side + head) + foot)
    for number, (model, name) in enumerate(shown.items()):
        row, column = divmod(number, columns)
        axes = style.axes_at(
            figure, left + column * (side + gap), top + head + row * (side + head), side, side
        )
        values, counts = (
            preference_matrix(frame[frame.model == model], of, levels) for of in ("share", "n")
        )
        texts = [[f"{100 * share:.0f}" for share in row] for row in values]
        draw_preferences(axes, values, levels, LABELS, size, texts, min(size, cell * 26))
        axes.tick_params(axis="x", bottom=False, labelbottom=number + columns >= len(shown), pad=1)
        axes.tick_params(axis="y", labelleft=column == 0)
        for label in axes.get_xticklabels():
            label.set(rotation=45, ha="right", rotation_mode="anchor")
        title = style.shortened(name, size, side + 0.04)
        axes.set_title(
            title, fontsize=size, fontweight="bold" if model == POOLED else "normal", pad=9.5
        )
        agreed, both = count_agreeing(counts, levels)
        share = f"{agreed / both:.0%} agree" if both else ""
        axes.text(
            0,
            1 + 0.02 / side,
            share,
            transform=axes.transAxes,
            va="bottom",
            fontsize=size,
            color=style.SOFT_INK,
        )
    height = figure.get_size_inches()[1]
    middle = 1 - (top + head + (rows * (side + head)) / 2) / height
    figure.text(
        0.012, middle, "implied by Likert ratings", rotation=90, va="center", fontsize=size + 0.6
    )
    middle = (left + (columns * (side + gap)) / 2) / style.WIDTHS[width]
    figure.text(middle, 0.05 / height, "chosen outright", ha="center", fontsize=size + 0.6)
    return figure


def preference_levels(frame: pd.DataFrame) -> list[str]:
    """The preferences, "missing" only where there are any."""
    seen = frame[frame.n > 0]
    return [
        level
        for level in PREFERENCES
        if level != "missing" or level in set(seen.likert) | set(seen.choice)
    ]


def preference_matrix(frame: pd.DataFrame, values: str, levels: list[str]) -> np.ndarray:
    """A column of pairs of preferences as a matrix, Likert in rows."""
    wide = frame.pivot(index="likert", columns="choice", values=values)
    return wide.reindex(index=levels, columns=levels).to_numpy(dtype=float)


def count_agreeing(counts: np.ndarray, levels: list[str]) -> tuple[float, float]:
    """How many targets agree, of how many with a preference in both ways."""
    both = [index for index, level in enumerate(levels) if level != "missing"]
    return float(np.nansum(np.diag(counts)[both])), float(np.nansum(counts[np.ix_(both, both)]))


def draw_preferences(
    axes: Axes,
    values: np.ndarray,
    levels: list[str],
    names: dict[str, str],
    size: float,
    texts: Sequence[Sequence[str]],
    cell_size: float,
) -> None:
    """Shares on colours with a text in each cell; the diagonal is agreement."""
    labels, limit = [names[level] for level in levels], max(0.5, float(np.nanmax(values)))
    style.draw_matrix(
        axes,
        pd.DataFrame(values, labels, labels),
        size,
        texts,
        cell_size,
        style.sequential(),
        (0, limit),
    )
    axes.xaxis.tick_bottom()
