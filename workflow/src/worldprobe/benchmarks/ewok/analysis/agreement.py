"""Do two ways of asking give one answer? Choice against the choice that Likert ratings imply (EWoK, Figure 7)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from worldprobe.benchmarks.ewok.contracts import PREFERENCES
from worldprobe.benchmarks.ewok.eval_types import GENERATIONS, SHOTS
from worldprobe.errors import UserError


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
    item = pd.factorize(judgements["item_id"])[0]
    place = 2 * item + judgements["target"].to_numpy(int) - 1
    preference = _preferences(judgements)
    series: dict[Any, Any] = dict(judgements.groupby(["model", "eval_type"], observed=True).indices)
    tables = []
    for model in sorted({str(model) for model, _ in series}):
        for setup in (f"{g}_{s}" for g in GENERATIONS for s in SHOTS):
            likert, choice = (series.get((model, f"{paradigm}_{setup}")) for paradigm in ("likert", "choice"))
            if likert is not None and choice is not None:
                spread = np.full((2, place.max() + 1), -1)
                spread[0, place[likert]], spread[1, place[choice]] = preference[likert], preference[choice]
                tables.append(_matrix(*spread[:, (spread >= 0).all(axis=0)]).assign(model=model, setup=setup))
    if not tables:
        raise UserError(
            "judgements", "no model has both Likert and Choice answers in one set-up.", "Give both tables of a model."
        )
    return pd.concat(tables, ignore_index=True)


def _matrix(likert: np.ndarray, choice: np.ndarray) -> pd.DataFrame:
    """Counts and shares of every pair of preferences; both arguments are positions in PREFERENCES, a pair per target."""
    kinds = len(PREFERENCES)
    counts = np.bincount(likert * kinds + choice, minlength=kinds * kinds)
    pairs = pd.MultiIndex.from_product([PREFERENCES, PREFERENCES], names=["likert", "choice"]).to_frame(index=False)
    return pairs.assign(n=counts, share=counts / len(likert) if len(likert) else np.nan)


def _preferences(rows: pd.DataFrame) -> np.ndarray:
    """Which context each row's target prefers, as a position in PREFERENCES."""
    accuracy, target = rows["accuracy"].to_numpy(float), rows["target"].to_numpy(int)
    is_first = (accuracy == 1) == (target == 1)
    return np.select([(rows["status"] != "ok").to_numpy(bool), accuracy == 0.5, is_first], [3, 2, 0], 1)
