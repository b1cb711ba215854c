"""Every prompting set-up by model and by domain, as maps around chance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from worldprobe.benchmark import Study, figure
from worldprobe.benchmarks.ewok import selection
from worldprobe.benchmarks.ewok.contracts import Summaries
from worldprobe.benchmarks.ewok.options import METRIC
from worldprobe.benchmarks.ewok.study import has_prompting
from worldprobe.benchmarks.ewok.vocabulary import EVAL_TYPES, TITLES, way_of
from worldprobe.errors import TooLittleError
from worldprobe.report import style
from worldprobe.report.model_names import Roster, sort_by

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


#: Distance from chance below which a prompted model's accuracy shows nothing.
NEAR = 0.02


def has_prompting_of_all(study: Study) -> bool:
    """Whether models are prompted about the same items that LogProbs asks about, and not a share of
    them.
    """
    return has_prompting(study) and not study["ewok"]["prompting"]["limit"]


@figure(
    inputs=[Summaries],
    title="Set-ups by model",
    section="paradigms",
    caption=(
        "Accuracy by prompting set-up and model, on the items that were prompted. free: free"
        " generation; constr.: choice among the valid answers; ex.: worked examples in the prompt."
        " White: chance."
    ),
    when=has_prompting,
    options=[METRIC],
)
def setups_by_model(
    summaries: pd.DataFrame, roster: Roster, metric: str = "accuracy"
) -> pd.DataFrame:
    """A row per model.

    Raises:
        TooLittleError: whatever the prompt, all accuracies are at chance.
    """
    rows = _setups(summaries, roster, "model", metric)
    prompted = rows.loc[rows["eval_type"] != "logprobs", "value"].dropna()
    if metric == "accuracy" and len(prompted) and (prompted - 0.5).abs().max() < NEAR:
        problem = (
            f"all accuracies of prompted models are within {NEAR} of chance; the table has them."
        )
        raise TooLittleError("summaries", problem, "Ask models that follow prompts.")
    return rows


@figure(
    inputs=[Summaries],
    title="Set-ups by domain",
    section="paradigms",
    caption=(
        "Accuracy by prompting set-up and domain, averaged over models, on the items that were"
        " prompted. free: free generation; constr.: choice among the valid answers; ex.: worked"
        " examples in the prompt. White: chance."
    ),
    when=has_prompting_of_all,
    options=[METRIC],
)
def setups_by_domain(
    summaries: pd.DataFrame, roster: Roster, metric: str = "accuracy"
) -> pd.DataFrame:
    """A row per domain."""
    return _setups(summaries, roster, "domain", metric)


def _setups(summaries: pd.DataFrame, roster: Roster, by: str, metric: str) -> pd.DataFrame:
    """Accuracy under every eval_type, a row per model (``by="model"``) or per domain, averaged over
    models (``by="domain"``).
    """
    if by == "model":
        rows = style.with_identity(
            selection.language_models(
                selection.over_versions(
                    selection.pick(summaries, "overall", None, metric, baselines=False)
                )
            ),
            roster,
        )
        rows = rows.assign(
            row_id=rows.model, row=rows.name, block=rows.family, n=1, value=rows["mean"]
        )
    else:
        every = selection.subjects(
            selection.over_versions(
                selection.pick(summaries, "domain", None, metric, baselines=False)
            ),
            roster,
        )
        # the order of all other figures, where there is one
        has_scores = (every.eval_type == "logprobs").any()
        order = selection.domain_order(summaries, roster, "logprobs" if has_scores else None)
        means = (
            every.groupby(["group", "eval_type"], sort=False)["mean"]
            .agg(["mean", "count"])
            .reset_index()
        )
        rows = means.rename(columns={"mean": "value", "count": "n"})
        rows = rows.assign(
            row_id=rows.group,
            row=rows.group.map(selection.in_words),
            block="",
            low=np.nan,
            high=np.nan,
        )
        rows = sort_by(rows, "group", order)
    return rows[["block", "row_id", "row", "eval_type", "value", "low", "high", "n"]].reset_index(
        drop=True
    )


def map_around_chance(
    matrix: pd.DataFrame, width: str, tall: float, head: float
) -> tuple[Figure, Axes, float]:
    """A figure of one matrix with its numbers, white at chance, and the points of its labels.

    Args:
        matrix: as in ``style.draw_matrix``.
        width: named column width.
        tall: height of a row, inches.
        head: room for the labels of the columns, inches.
    """
    size = style.BODY if width == "double" else style.SMALL - 0.6
    left, height = style.widest(matrix.index, size) + 0.1, tall * len(matrix)
    figure = style.canvas(width, head + height + 0.25)
    axes = style.axes_at(figure, left, head, style.WIDTHS[width] - left - 0.08, height)
    style.draw_matrix(axes, matrix, size, style.numbers(matrix))
    style.corner_note(figure, style.AROUND_CHANCE_WORDS, size)
    return figure, axes, size


@setups_by_model.drawn_by
@setups_by_domain.drawn_by
def draw_setups(frame: pd.DataFrame, width: str = "double") -> Figure:
    """Numbers on colours: white is chance, blue above, orange below."""
    ids = dict(zip(frame.row_id, frame.row, strict=True))
    columns = [name for name in EVAL_TYPES if name in set(frame.eval_type)]
    wide = frame.pivot(index="row_id", columns="eval_type", values="value")
    matrix = wide.reindex(index=list(ids), columns=columns).set_axis(list(ids.values()), axis=0)
    matrix.columns = ["\n".join(way_of(name).short) for name in columns]
    tall = 0.17 if width == "double" else 0.14
    figure, axes, size = map_around_chance(matrix, width, tall, 0.55)
    axes.tick_params(axis="x", pad=1.5)
    _paradigm_brackets(axes, columns, tall * len(matrix), size)
    return figure


def _paradigm_brackets(axes: Axes, columns: list[str], height: float, size: float) -> None:
    """The paradigm's name over its columns, with a thin rule under it."""
    paradigms = [way_of(name).paradigm for name in columns]
    for paradigm in dict.fromkeys(paradigms):
        first, last = (
            paradigms.index(paradigm),
            len(paradigms) - 1 - paradigms[::-1].index(paradigm),
        )
        middle = (first + last + 1) / 2
        above = axes.get_xaxis_transform()
        up = 1 + 0.30 / height
        axes.plot(
            [first + 0.1, last + 0.9],
            [up, up],
            color=style.SOFT_INK,
            lw=0.5,
            transform=above,
            clip_on=False,
        )
        axes.text(
            middle,
            up + 0.03 / height,
            TITLES[paradigm],
            transform=above,
            ha="center",
            va="bottom",
            fontsize=size,
        )
