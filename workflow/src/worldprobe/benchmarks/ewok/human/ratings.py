"""People's answers back at the items: what was asked once counts for all items that have the sentences."""

from __future__ import annotations

import pandas as pd

from worldprobe.benchmarks.ewok.ratings import DECIMALS
from worldprobe.errors import UserError

_QUESTION = ["item_id", "target", "context"]


def rate_items(answers: pd.DataFrame, key: pd.DataFrame) -> pd.DataFrame:
    """Mean Likert rating, number of raters and standard deviation of every sub-item.

    Args:
        answers: contracts.CleanAnswers; Choice has no ratings and is left aside.
        key: contracts.ListKeys.

    Returns:
        contracts.Ratings: four rows per item of the key; a sub-item without answers has no rating and 0 raters, so that
        ``judge`` counts it as missing and not as wrong.

    Raises:
        UserError: the key has no Likert questions.
    """
    asked = key[(key["kind"] == "test") & (key["eval_type"] == "likert")]
    if asked.empty:
        problem = "has no Likert questions, so there are no ratings."
        raise UserError("the answer key", problem, "Ask people by Likert too, or compare both ways by `human agreement`.")
    groups = answers[answers["eval_type"] == "likert"].groupby("question")["value"]
    # As means of ratings from elsewhere, so that equal ratings tie.
    found = groups.agg(rating="mean", n_raters="size", sd="std")
    table = asked[[*_QUESTION, "question"]].merge(found, left_on="question", right_index=True, how="left")
    table["rating"], table["sd"] = table["rating"].round(DECIMALS), table["sd"].round(DECIMALS)
    table["n_raters"] = table["n_raters"].fillna(0)
    return table.drop(columns="question").astype({"rating": "float64", "n_raters": "float64", "sd": "float64"})
