"""Picks from the summaries table that tables, figures and the report share."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from worldprobe.errors import UserError, did_you_mean
from worldprobe.present.roster import is_yardstick

#: The version of the row that summarises all versions of a group.
OVER_VERSIONS = -1


def pick(
    summaries: pd.DataFrame,
    grouping: str,
    eval_type: str | None,
    metric: str = "accuracy",
    yardsticks: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Rows of one grouping and metric, all versions, for one eval_type (None: each) and the yardsticks.

    Args:
        summaries: a benchmark's summary table.
        grouping: what the rows are grouped by.
        eval_type: way of asking of the models' rows; None: each.
        metric: which measure.
        yardsticks: yardstick -> the only eval_type under which it has rows; it is shown with every eval_type of the models.

    Raises:
        UserError: the summaries have no such rows; the message says what they have.
    """
    rows = summaries[(summaries.grouping == grouping) & (summaries.metric == metric)]
    is_model = ~rows.model.map(is_yardstick)
    wanted = is_model if eval_type is None else is_model & (rows.eval_type == eval_type)
    if not wanted.any():
        raise UserError(f"summaries, eval_type {eval_type}", *_nothing(summaries, grouping, eval_type, metric))
    if yardsticks:
        wanted |= rows.model.map(lambda model: yardsticks.get(model, "")).eq(rows.eval_type)
    return rows[wanted].reset_index(drop=True)


def _nothing(summaries: pd.DataFrame, grouping: str, eval_type: str | None, metric: str) -> tuple[str, str]:
    held = {
        column: sorted(summaries[column].unique().tolist())
        for column, wanted in (("grouping", grouping), ("metric", metric), ("eval_type", eval_type))
        if wanted is not None and wanted not in set(summaries[column])
    }
    if not held:
        return (
            f"no model has rows for {grouping}, {metric} and this eval_type together.",
            "Summarize the judgements of such a run.",
        )
    column, names = next(iter(held.items()))
    wanted = {"grouping": grouping, "metric": metric, "eval_type": str(eval_type)}[column]
    return (
        f'there is no {column} "{wanted}" in these summaries{did_you_mean(wanted, names)}',
        f"They have: {', '.join(names)}. Add what is missing to the configuration and summarize again.",
    )


def over_versions(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows that summarise all versions."""
    return rows[rows.version == OVER_VERSIONS].reset_index(drop=True)


def single_versions(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of each version on its own."""
    return rows[rows.version != OVER_VERSIONS].reset_index(drop=True)


def language_models(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of language models, without humans and baselines."""
    return rows[~rows.model.map(is_yardstick)].reset_index(drop=True)


def in_words(label: str) -> str:
    """A label as it is written in a sentence.

    >>> in_words("social-interactions")
    'social interactions'
    """
    return label.replace("-", " ").replace("_", " ")
