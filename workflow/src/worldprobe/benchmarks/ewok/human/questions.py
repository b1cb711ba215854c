"""An item as people are asked about it: four sub-items for Likert, two for Choice, the latter in both orders (Appendix A.1)."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from worldprobe.benchmarks.ewok.ratings import DECIMALS
from worldprobe.errors import UserError
from worldprobe.human.lists import QUESTION_COLUMNS

#: (target, context): Likert rates the target after the context; Choice shows this context first.
_CELLS = ((1, 1), (1, 2), (2, 2), (2, 1))


def ask_people(items: pd.DataFrame, eval_types: Sequence[str], unit: str = "template") -> pd.DataFrame:
    """The questions about items, with the answers that the design expects.

    Likert: does the target make sense after the context? 5 if they belong together, 1 if not. Choice: which context fits the
    target, the first shown (1) or the second (2)? Each target is asked with either context first.

    Args:
        items: contracts.Items.
        eval_types: likert, choice or both.
        unit: ``meta_template`` counts all templates of one target and context as one unit; otherwise a template is one.

    Returns:
        human.lists.QUESTION_COLUMNS.
    """
    name = items["domain"] + "_" + items["meta_template"].astype(str)
    if unit != "meta_template":
        name = name + "_" + items["template"].astype(str)
    parts = []
    for way in eval_types:
        for target, context in _CELLS:
            is_match = target == context
            other = 3 - context
            parts.append(
                pd.DataFrame(
                    {
                        "item_id": items["item_id"],
                        "target": target,
                        "context": context,
                        "unit": name,
                        "domain": items["domain"],
                        "version": items["version"],
                        "eval_type": way,
                        "first_context": items[f"context{context}"],
                        "second_context": items[f"context{other}"] if way == "choice" else None,
                        "target_text": items[f"target{target}"],
                        "expected": (5 if is_match else 1) if way == "likert" else (1 if is_match else 2),
                    }
                )
            )
    return pd.concat(parts, ignore_index=True)[list(QUESTION_COLUMNS)]


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
