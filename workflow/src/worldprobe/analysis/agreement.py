"""Do two ways of asking give one answer? Choice against the choice that Likert ratings imply (EWoK, Figure 7)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from worldprobe.contracts import PREFERENCES
from worldprobe.errors import UserError
from worldprobe.vocabulary import GENERATIONS, SHOTS


def agree(judgements: pd.DataFrame) -> pd.DataFrame:
    """Confusion matrices of the two paradigms' preferences.

    For every target, Likert prefers the context under which it was rated higher; equal ratings are no preference. Choice prefers
    the context that was chosen; where the contexts were also shown in swapped order and the answer followed the position, there
    is no preference. An answer that cannot be read makes the preference missing. Without swapped presentations Choice
    always has a preference. All this follows from the judgements: a target that is right prefers its own context, one that is
    wrong the other, and a half is no preference.

    Args:
        judgements: contracts.Judgements of any models and set-ups.

    Returns:
        contracts.Agreements: every model and set-up that was asked both ways.

    Raises:
        UserError: no model was asked both ways in one set-up.
    """
    tables = []
    for model, rows in judgements.groupby("model", observed=True, sort=True):
        for setup in (f"{g}_{s}" for g in GENERATIONS for s in SHOTS):
            likert = rows[rows["eval_type"] == f"likert_{setup}"]
            choice = rows[rows["eval_type"] == f"choice_{setup}"]
            if len(likert) and len(choice):
                tables.append(_matrix(likert, choice).assign(model=str(model), setup=setup))
    if not tables:
        raise UserError(
            "judgements", "no model has both Likert and Choice answers in one set-up.", "Give both tables of a model."
        )
    return pd.concat(tables, ignore_index=True)


def agreement_rate(matrix: pd.DataFrame) -> float:
    """The share of rows with the same context in both, of those where both prefer one.

    Args:
        matrix: rows of contracts.Agreements of one model and set-up.

    Returns:
        Between 0 and 1; missing where no row has two preferences.
    """
    decided = matrix[matrix["likert"].isin(PREFERENCES[:2]) & matrix["choice"].isin(PREFERENCES[:2])]
    total = decided["n"].sum()
    return float(decided.loc[decided["likert"] == decided["choice"], "n"].sum() / total) if total else float("nan")


def _matrix(likert: pd.DataFrame, choice: pd.DataFrame) -> pd.DataFrame:
    rated, chosen = _preferences(likert), _preferences(choice)
    both = rated.index.intersection(chosen.index)
    counts = pd.crosstab(rated[both], chosen[both]).reindex(index=PREFERENCES, columns=PREFERENCES, fill_value=0)
    stacked = counts.rename_axis(index="likert", columns="choice").stack()
    table = pd.DataFrame({"n": stacked}).reset_index()
    return table.assign(n=table["n"].astype(int), share=table["n"] / max(len(both), 1) if len(both) else np.nan)


def _preferences(rows: pd.DataFrame) -> pd.Series:
    """Which context each target prefers, by item_id and target."""
    accuracy, target = rows["accuracy"].to_numpy(float), rows["target"].to_numpy(int)
    is_first = (accuracy == 1) == (target == 1)
    names = np.select(
        [rows["status"] != "ok", accuracy == 0.5, is_first], [PREFERENCES[3], PREFERENCES[2], PREFERENCES[0]], PREFERENCES[1]
    )
    return pd.Series(names, index=pd.MultiIndex.from_arrays([rows["item_id"].astype(str), target]))
