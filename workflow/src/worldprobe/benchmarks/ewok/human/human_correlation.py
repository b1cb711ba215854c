"""Do models prefer a context as clearly as people do? Correlation with people's ratings, and what their noise permits.

Accuracy asks only which context wins. Here the size of the difference counts too: for every target, the mean rating after
context 1 minus that after context 2, against the model's difference of log probabilities or ratings.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from worldprobe.analysis.bootstrap import draw_counts, on_grid, percentile_interval
from worldprobe.benchmarks.ewok.analysis.clusters import DEFAULT_CLUSTER, cluster_codes
from worldprobe.benchmarks.ewok.analysis.judge import Evidence
from worldprobe.benchmarks.ewok.eval_types import EVAL_TYPES, is_graded
from worldprobe.errors import UserError
from worldprobe.human.reliability import correlate

_KEY = ["item_id", "target"]


def measure_likeness(
    items: pd.DataFrame, ratings: pd.DataFrame, evidence: Iterable[Evidence], n_draws: int, seed: int
) -> pd.DataFrame:
    """Pearson's r of every model with people, and the r that people's own noise permits (contracts.Likeness).

    Args:
        items: contracts.Items.
        ratings: contracts.Ratings of people.
        evidence: what models answered in degrees; answers that are choices are passed over.
        n_draws: bootstrap samples of pairs of concepts.
        seed: of the samples.

    Raises:
        UserError: a table is of other items, a model answers twice in one way, no evidence is in degrees, or it is not about
            targets that people rated.
    """
    _refuse_strangers(items, ratings, "ratings", "people")
    people = people_differ(ratings)
    clusters = pd.Series(cluster_codes(items, DEFAULT_CLUSTER), index=items["item_id"].astype(str))
    counts = draw_counts(np.random.default_rng([seed, 5]), n_draws, int(clusters.max()) + 1)
    rows: list[dict[str, object]] = []
    for one in evidence:
        _refuse_strangers(items, one.rows, "evidence", one.model)
        for eval_type, differences in model_differs(one):
            if any((row["model"], row["eval_type"]) == (one.model, eval_type) for row in rows):
                fix = "Give each table once, and one table for each model and way of asking."
                raise UserError("evidence", f"has answers of {one.model} ({eval_type}) a second time.", fix)
            both = people.join(differences.rename("model"), how="inner").dropna(subset=["people", "model"])
            cluster = clusters.reindex(both.index.get_level_values("item_id")).to_numpy()
            x, y = both["people"].to_numpy(float), both["model"].to_numpy(float)
            low, high = _interval(x, y, cluster, counts)
            rows.append(
                {
                    "model": one.model,
                    "eval_type": eval_type,
                    "r": correlate(x, y) if len(both) > 2 else np.nan,
                    "ci_low": low,
                    "ci_high": high,
                    "ceiling": find_ceiling(both),
                    "n": len(both),
                }
            )
    if not any(row["n"] for row in rows):
        problem = "contains no log probability and no rating of a target that people rated after both contexts."
        raise UserError("evidence", problem, "Give scores or Likert answers to the items that people rated.")
    return pd.DataFrame(rows)


def people_differ(ratings: pd.DataFrame) -> pd.DataFrame:
    """The difference of people's mean ratings for every target, and its squared standard error (missing where not known).

    Returns:
        Columns people and error, by item and target; targets that were not rated after both contexts are left out.
    """
    n = ratings["n_raters"].to_numpy(float)
    error = ratings["sd"].to_numpy(float) ** 2 / np.where(n > 0, n, np.nan)
    wide = ratings.assign(error=error).set_index([*_KEY, "context"])[["rating", "error"]].astype(float)
    first, second = (wide[wide.index.get_level_values("context") == context].droplevel("context") for context in (1, 2))
    frame = pd.DataFrame({"people": (first - second)["rating"], "error": (first + second)["error"]})
    return frame.dropna(subset=["people"])


def find_ceiling(people: pd.DataFrame) -> float:
    """The correlation with people's differences that somebody without any noise would reach.

    The square root of their reliability, which is the share of their variance that is not the squared standard error of two mean
    ratings. Missing where the raters' standard deviations are not known, or where there is nothing but noise.

    >>> noiseless = pd.DataFrame({"people": [2.0, -2.0, 1.0], "error": [0.0, 0.0, 0.0]})
    >>> find_ceiling(noiseless), find_ceiling(noiseless.assign(error=float("nan")))
    (1.0, nan)
    """
    known = people.dropna(subset=["error"])
    variance = float(known["people"].var(ddof=1)) if len(known) > 2 else 0.0
    if variance <= 0:
        return float("nan")
    reliability = 1 - float(known["error"].mean()) / variance
    return float(np.sqrt(reliability)) if reliability > 0 else float("nan")


def model_differs(evidence: Evidence) -> list[tuple[str, pd.Series]]:
    """Each way of asking that answers in degrees, with the difference between contexts by item and target."""
    rows = evidence.rows
    if evidence.kind == "target_scores":
        return [("logprobs", _difference(rows[rows["context"] > 0], "logprob"))]
    if evidence.kind != "responses":
        return []
    found = []
    for eval_type in (name for name in EVAL_TYPES if name in set(rows["eval_type"]) and is_graded(name)):
        part = rows[(rows["eval_type"] == eval_type) & (rows["status"] == "ok")]
        places = part["presentation"].astype(str)
        part = part.assign(target=places.str[1].astype(int), context=places.str[3].astype(int))
        found.append((eval_type, _difference(part, "value")))
    return found


def _refuse_strangers(items: pd.DataFrame, table: pd.DataFrame, name: str, who: str) -> None:
    strangers = sorted(set(table["item_id"].astype(str)) - set(items["item_id"].astype(str)))
    if strangers:
        problem = (
            f"has answers of {who} about {len(strangers)} items that are not in the items table, the first is {strangers[0]}."
        )
        raise UserError(name, problem, "Give the table of the items that were rated and scored.")


def _difference(rows: pd.DataFrame, value: str) -> pd.Series:
    wide = rows.pivot(index=_KEY, columns="context", values=value).reindex(columns=[1, 2])
    return wide[1] - wide[2]


def _interval(x: np.ndarray, y: np.ndarray, cluster: np.ndarray, counts: np.ndarray) -> tuple[float, float]:
    """95 % bootstrap interval of Pearson's r: clusters are drawn, so their sums of products are all that is needed."""
    if len(x) < 3:
        return float("nan"), float("nan")
    x, y = x - x.mean(), y - y.mean()
    terms = np.stack([np.ones(len(x)), x, y, x * x, y * y, x * y])
    sums = np.stack([np.bincount(cluster, term, counts.shape[1]) for term in terms], axis=1)
    n, sx, sy, sxx, syy, sxy = (counts.astype(float) @ np.apply_along_axis(on_grid, 0, sums, counts.shape[1])).T
    with np.errstate(invalid="ignore", divide="ignore"):
        variances = (n * sxx - sx * sx) * (n * syy - sy * sy)
        drawn = np.where(variances > 0, (n * sxy - sx * sy) / np.sqrt(variances), np.nan)
    low, high = np.clip(percentile_interval(drawn[:, None])[:, 0], -1, 1)
    return float(low), float(high)
