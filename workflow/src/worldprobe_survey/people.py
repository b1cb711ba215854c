"""People's answers about EWoK's items: how they are asked, how far they agree, and how models'
preferences follow theirs (EWoK, Section 4.4 and Appendices A.1 and B.1).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.special import ndtri, stdtrit

from worldprobe.analysis.components import LEVEL, korn_graubard
from worldprobe.analysis.sign_flips import FEWEST
from worldprobe.benchmarks.ewok.analysis.judge import Evidence, people_differ
from worldprobe.benchmarks.ewok.analysis.panel import DEFAULT_CLUSTER, cluster_codes
from worldprobe.benchmarks.ewok.contracts import PREFERENCES
from worldprobe.benchmarks.ewok.vocabulary import EVAL_TYPES, contrast_group, is_graded
from worldprobe.errors import TooLittleError, UserError
from worldprobe_survey.cleaning import pearson, reliability_of_answers
from worldprobe_survey.lists import QUESTION_COLUMNS
from worldprobe_survey.ratings import DECIMALS, QUESTION

#: (target, context): Likert rates the target after the context; Choice shows this context first.
_CELLS = ((1, 1), (1, 2), (2, 2), (2, 1))


def ask_people(
    items: pd.DataFrame, eval_types: Sequence[str], unit: str = "template"
) -> pd.DataFrame:
    """The questions about items, with the answers that the design expects.

    Likert: does the target make sense after the context? 5 if they belong together, 1 if not.
    Choice: which context fits the target, the first shown (1) or the second (2)? Each target is
    asked with either context first.

    Args:
        items: contracts.Items.
        eval_types: likert, choice or both.
        unit: ``meta_template`` counts all templates of one target and context as one unit;
            otherwise a template is one.

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
                        "expected": (
                            (5 if is_match else 1) if way == "likert" else (1 if is_match else 2)
                        ),
                    }
                )
            )
    return pd.concat(parts, ignore_index=True)[list(QUESTION_COLUMNS)]


def select_norms(items: pd.DataFrame) -> pd.DataFrame:
    """One item for every pair of contexts in either order: the one with the shortest targets, so
    without a frame around them.

    Args:
        items: contracts.Items.
    """
    first = items["context1"].where(items["context1"] <= items["context2"], items["context2"])
    second = items["context2"].where(items["context1"] <= items["context2"], items["context1"])
    ranked = items.assign(
        _first=first,
        _second=second,
        _length=items["target1"].str.len() + items["target2"].str.len(),
    )
    chosen = ranked.sort_values(["_length", "item_id"]).drop_duplicates(["_first", "_second"]).index
    return items.loc[items.index.isin(chosen)]


def rate_items(answers: pd.DataFrame, key: pd.DataFrame) -> pd.DataFrame:
    """Mean Likert rating, number of raters and standard deviation of every sub-item.

    Args:
        answers: contracts.CleanAnswers; Choice has no ratings and is left aside.
        key: contracts.ListKeys.

    Returns:
        contracts.Ratings: four rows per item of the key; a sub-item without answers has no rating
        and 0 raters, so that ``judge`` counts it as missing and not as wrong.

    Raises:
        TooLittleError: the key has no Likert questions.
    """
    asked = key[(key["kind"] == "test") & (key["eval_type"] == "likert")]
    if asked.empty:
        problem = "People were not asked by Likert, so there are no ratings."
        raise TooLittleError(
            "the answer key",
            problem,
            "Ask people by Likert too, or compare both ways by `human agreement`.",
        )
    groups = answers[answers["eval_type"] == "likert"].groupby("question")["value"]
    # As means of ratings from elsewhere, so that equal ratings tie.
    means = groups.agg(rating="mean", n_raters="size", sd="std")
    table = asked[[*QUESTION, "question"]].merge(
        means, left_on="question", right_index=True, how="left"
    )
    table["rating"], table["sd"] = table["rating"].round(DECIMALS), table["sd"].round(DECIMALS)
    table["n_raters"] = table["n_raters"].fillna(0)
    return table.drop(columns="question").astype(
        {"rating": "float64", "n_raters": "float64", "sd": "float64"}
    )


#: In place of a model and its set-up in contracts.Agreements.
PEOPLE, SETUP = "human", "people"
_GROUPINGS = ("domain", "version", "context_type", "context_contrast", "target_contrast")


@dataclass(frozen=True)
class Sums:
    """People's answers about every target of every item, as whole numbers, so that ties and
    boundaries are exact.

    Attributes:
        total: Likert: sum of the ratings; Choice: how often the context was chosen. Shape (items, 2
            targets, 2 contexts).
        count: Likert: how many ratings; Choice: how many choices, the same for both contexts. Same
            shape.
    """

    total: np.ndarray
    count: np.ndarray

    def difference(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean after context 1 minus mean after context 2, times a positive whole number, and that
        number (0: unknown).
        """
        scale = self.count[:, :, 0] * self.count[:, :, 1]
        return (
            self.total[:, :, 0] * self.count[:, :, 1] - self.total[:, :, 1] * self.count[:, :, 0],
            scale,
        )


class Adder:
    """Sums answers by item, target and context, again and again with other people.

    Args:
        items: contracts.Items.
        answers: contracts.CleanAnswers of one way of asking.
        key: contracts.ListKeys.
        eval_type: likert or choice.
    """

    def __init__(
        self, items: pd.DataFrame, answers: pd.DataFrame, key: pd.DataFrame, eval_type: str
    ) -> None:
        self.is_choice = eval_type == "choice"
        self.n_items = len(items)
        asked = key[(key["kind"] == "test") & (key["eval_type"] == eval_type)]
        self.names = np.unique(answers["question"].to_numpy(str))
        question = pd.Index(self.names).get_indexer(asked["question"])
        item = pd.Index(items["item_id"]).get_indexer(asked["item_id"])
        is_known = (question >= 0) & (item >= 0)
        self.question = question[is_known]
        self.item = item[is_known]
        self.target = asked["target"].to_numpy(int)[is_known] - 1
        self.context = asked["context"].to_numpy(int)[is_known] - 1
        self.asked = np.searchsorted(self.names, answers["question"].to_numpy(str))
        self.answer = answers["answer"].to_numpy(int)

    def add(self) -> Sums:
        """The sums."""
        n = np.bincount(self.asked, minlength=len(self.names)).astype(np.int64)
        points = (self.answer == 1) if self.is_choice else self.answer
        total = np.bincount(self.asked, points, len(self.names)).astype(np.int64)
        totals = np.zeros((self.n_items, 2, 2), np.int64)
        counts = np.zeros((self.n_items, 2, 2), np.int64)
        rows = self.question
        if (
            self.is_choice
        ):  # first shown or second shown: the chosen context gets the point, both were on offer
            np.add.at(totals, (self.item, self.target, self.context), total[rows])
            np.add.at(totals, (self.item, self.target, 1 - self.context), (n - total)[rows])
            for context in (0, 1):
                np.add.at(counts, (self.item, self.target, context), n[rows])
        else:
            np.add.at(totals, (self.item, self.target, self.context), total[rows])
            np.add.at(counts, (self.item, self.target, self.context), n[rows])
        return Sums(totals, counts)

    def share(self, participant: np.ndarray) -> sparse.csr_array:
        """Whose answers each target rests on: every person's share of the answers about it.

        Args:
            participant: of each answer.

        Returns:
            Shape (items * 2 targets, people); rows of targets that were asked add up to 1.
        """
        people, person = np.unique(participant, return_inverse=True)
        gave = sparse.csr_array(
            (np.ones(len(person)), (self.asked, person)), shape=(len(self.names), len(people))
        )
        rows = (np.ones(len(self.item)), (2 * self.item + self.target, self.question))
        given = sparse.csr_array(
            sparse.csr_array(rows, shape=(2 * self.n_items, len(self.names))) @ gave
        )
        total = given.sum(axis=1)
        return sparse.csr_array(given.multiply((1 / np.where(total > 0, total, 1))[:, None]))


def judge_sums(sums: Sums) -> np.ndarray:
    """Accuracy of each target, as ``judge`` finds it of mean ratings: 1, 0.5 (tie), 0; missing.
    Shape (items, 2).
    """
    difference, scale = sums.difference()
    right = np.sign(difference) * np.array([1, -1])
    return np.where(scale > 0, (right + 1) / 2, np.nan)


def prefer(sums: Sums, eval_type: str) -> np.ndarray:
    """The context that people prefer for each target, as a position in PREFERENCES (Figure 7's
    caption).

    Likert: a preference is a difference of the mean ratings of 1 or more. Choice: a mean choice (1
    or 2) that is 0.2 or more away from 1.5. Computed in whole numbers: 7 of 10 are a preference, 4
    of 7 are not.

    Returns:
        Shape (items, 2).
    """
    difference, scale = sums.difference()
    # Choice: both contexts have n on offer, so the difference of the shares is difference / n^2,
    # and 0.4 or more is meant.
    is_clear = (
        np.abs(difference) >= scale
        if eval_type == "likert"
        else 5 * np.abs(difference) >= 2 * scale
    )
    return np.select([scale == 0, ~is_clear, difference > 0], [3, 2, 0], 1)


def confuse(likert: Sums, choice: Sums) -> pd.DataFrame:
    """Counts and shares of every pair of preferences, Likert's and Choice's (contracts.Agreements),
    over items and targets.

    Targets that were asked in neither way do not count; asked in one alone, they are ``missing`` in
    the other.
    """
    first, second = prefer(likert, "likert").ravel(), prefer(choice, "choice").ravel()
    is_asked = (first < 3) | (second < 3)
    kinds = len(PREFERENCES)
    counts = np.bincount(first[is_asked] * kinds + second[is_asked], minlength=kinds * kinds)
    pairs = pd.MultiIndex.from_product(
        [PREFERENCES, PREFERENCES], names=["likert", "choice"]
    ).to_frame(index=False)
    return pairs.assign(
        model=PEOPLE, setup=SETUP, n=counts, share=counts / max(int(is_asked.sum()), 1)
    )


def compare_ways(likert: Sums, choice: Sums) -> tuple[float, int]:
    """Pearson's r over items and targets of the Likert difference and the share that chose context
    1; and how many there are.

    The paper reports R = 0.96 (Section 4.4) without saying what it was computed of; this is our
    definition.
    """
    difference, scale = likert.difference()
    n = choice.count[:, :, 0]
    is_both = (scale > 0) & (n > 0)
    if is_both.sum() < 3:
        return float("nan"), int(is_both.sum())
    return pearson(
        difference[is_both] / scale[is_both], choice.total[:, :, 0][is_both] / n[is_both]
    ), int(is_both.sum())


def measure(
    items: pd.DataFrame, answers: pd.DataFrame, key: pd.DataFrame, n_draws: int, seed: int
) -> pd.DataFrame:
    """All numbers about people (contracts.HumanStatistics).

    Intervals of accuracy are over templates and the people who were asked about them, see
    ``mean_accuracy``.

    Args:
        items: contracts.Items.
        answers: contracts.CleanAnswers.
        key: contracts.ListKeys.
        n_draws: splits into halves.
        seed: of the splits.
    """
    items = items.sort_values("item_id").reset_index(drop=True)
    rows: list[dict[str, object]] = []
    sums: dict[str, Sums] = {}
    for way in sorted(set(answers["eval_type"])):
        part = answers[answers["eval_type"] == way]
        adder = Adder(items, part, key, way)
        sums[way] = adder.add()
        raters = adder.share(part["participant"].to_numpy(str))
        rows += [
            row | {"eval_type": way}
            for row in _accuracies(items, name_clusters(items, key), sums[way], raters)
        ]
        rows += [row | {"eval_type": way} for row in _reliabilities(part, n_draws, seed)]
        rows += [row | {"eval_type": way} for row in _labels(part)] if way == "likert" else []
    if len(sums) == 2:
        r, n = compare_ways(sums["likert"], sums["choice"])
        rows.append(_row("likert_choice_r", "overall", "overall", r, n=n) | {"eval_type": "likert"})
    return pd.DataFrame(rows)


def name_clusters(items: pd.DataFrame, key: pd.DataFrame) -> np.ndarray:
    """The unit of each item: what shares sentences, and so errs together."""
    asked = key[key["kind"] == "test"].drop_duplicates("item_id").set_index("item_id")["unit"]
    return pd.factorize(items["item_id"].map(asked).fillna(items["item_id"]))[0]


def across(unit: np.ndarray, raters: sparse.csr_array) -> float:
    """Sum over pairs of targets of different units of what their rows have in common; no pair is
    formed.

    Args:
        unit: of each target, from 0.
        raters: a row for each target.
    """
    columns = np.arange(len(unit))
    by_unit = sparse.csr_array(
        (np.ones(len(unit)), (unit, columns)), shape=(int(unit.max()) + 1, len(unit))
    )
    return float((raters.sum(axis=0) ** 2).sum() - (by_unit @ raters).power(2).sum())


@dataclass(frozen=True)
class Accuracy:
    """Mean accuracy of some targets.

    Attributes:
        mean: of the targets.
        n: how many.
        n_clusters: units that they are of.
        squares: variance of their sum, as far as units differ from each other; NaN where none errs,
            or all do.
    """

    mean: float
    n: int
    n_clusters: int
    squares: float

    @property
    def spread(self) -> float:
        """Variance of a single independent target with this mean."""
        return self.mean * (1 - self.mean)


def accuracy_of_targets(accuracy: np.ndarray, cluster: np.ndarray) -> Accuracy:
    """The mean, and what the units of items say about its variance.

    Args:
        accuracy: 0, 0.5 or 1 of each target.
        cluster: of each target, from 0.
    """
    mean, n_clusters = float(accuracy.mean()), len(np.unique(cluster))
    squares = float((np.bincount(cluster, accuracy - mean) ** 2).sum())
    is_varied = squares > 1e-9 and n_clusters > 1
    return Accuracy(
        mean,
        len(accuracy),
        n_clusters,
        squares * n_clusters / (n_clusters - 1) if is_varied else float("nan"),
    )


def find_likeness(accuracy: np.ndarray, cluster: np.ndarray, raters: sparse.csr_array) -> float:
    """By how much targets err together because the same people were asked: the share of a target's
    variance that is people's.

    From the products of residuals of targets of different units (a moment estimator, as in
    random-effects analysis of variance with multiple membership); 0 where they do not err together.
    Residuals are about the estimated mean, which makes products too small by the variance of that
    mean.

    Args:
        accuracy: 0, 0.5 or 1 of each target.
        cluster: of each target, from 0.
        raters: ``Adder.share`` of these targets.
    """
    estimate = accuracy_of_targets(accuracy, cluster)
    # With columns for each unit's people apart, only targets of one unit have anything in common.
    rows, people = raters.nonzero()
    within = sparse.csr_array(
        (raters.data, (rows, cluster[rows] * raters.shape[1] + people)),
        shape=(estimate.n, (cluster.max() + 1) * raters.shape[1]),
    )
    squares = (raters.T @ raters).power(2).sum() - (within @ within.T).power(2).sum()
    if np.isnan(estimate.squares) or squares <= 1e-9:
        return 0.0
    together = across(
        cluster, sparse.csr_array(raters.multiply((accuracy - estimate.mean)[:, None]))
    )
    variance = (together + across(cluster, raters) * estimate.squares / estimate.n**2) / squares
    return max(float(variance), 0.0) / estimate.spread


def mean_accuracy(
    accuracy: np.ndarray, cluster: np.ndarray, raters: sparse.csr_array, likeness: float
) -> tuple[float, float, float]:
    """Mean accuracy with its 95 % interval over units of items and the people who were asked about
    them.

    Accuracy is decided anew for each target from few answers, so drawing the same people again
    exaggerates how often it would turn (nearly twice the width near 1). Instead the variance has
    two parts: of units, whose targets share sentences, and of people, who differ and are asked
    about targets of many units. It gives the number of independent targets that would be as
    uncertain, of which ``korn_graubard`` is the interval. ``docs/simulations/people_intervals.py``
    measures it.

    Args:
        accuracy: 0, 0.5 or 1 of each target.
        cluster: of each target, from 0.
        raters: ``Adder.share`` of these targets.
        likeness: ``find_likeness`` of all targets.
    """
    estimate = accuracy_of_targets(accuracy, cluster)
    of_units = (
        1 / estimate.n_clusters
        if np.isnan(estimate.squares)
        else estimate.squares / estimate.spread / estimate.n**2
    )
    worth = 1 / (of_units + likeness * across(cluster, raters) / estimate.n**2)
    quantile = stdtrit(max(estimate.n_clusters - 1, 1), (1 + LEVEL) / 2)
    low, high = korn_graubard(estimate.mean, worth * (ndtri((1 + LEVEL) / 2) / quantile) ** 2)
    return estimate.mean, float(low), float(high)


def _accuracies(
    items: pd.DataFrame, cluster: np.ndarray, sums: Sums, raters: sparse.csr_array
) -> Iterator[dict[str, object]]:
    accuracy, unit = judge_sums(sums).ravel(), np.repeat(cluster, 2)
    is_known = np.isfinite(accuracy)
    if not is_known.any():  # no target was answered in both contexts, as where few people took part
        return
    likeness = find_likeness(accuracy[is_known], unit[is_known], raters[is_known])
    for grouping, group, is_in in _groups(items):
        asked = is_known & np.repeat(is_in, 2)
        if n := int(asked.sum()):
            mean, low, high = mean_accuracy(accuracy[asked], unit[asked], raters[asked], likeness)
            yield _row("accuracy", grouping, group, mean, min(low, mean), max(high, mean), n)


def _groups(items: pd.DataFrame) -> Iterator[tuple[str, str, np.ndarray]]:
    yield "overall", "overall", np.ones(len(items), bool)
    for grouping in _GROUPINGS:
        labels = items[grouping]
        if grouping == "context_contrast":
            labels = labels.astype(object).where(labels.notna(), None).map(contrast_group)
        for group in sorted(set(labels)):
            yield grouping, str(group), (labels == group).to_numpy(bool)


def _reliabilities(answers: pd.DataFrame, n_splits: int, seed: int) -> Iterator[dict[str, object]]:
    reliability = reliability_of_answers(answers, n_splits, seed)
    if reliability is not None:
        yield _row(
            "split_half_r",
            "overall",
            "overall",
            reliability.r,
            reliability.low,
            reliability.high,
            reliability.n_cells,
        )
        yield _row(
            "noise_ceiling_r",
            "overall",
            "overall",
            reliability.ceiling,
            reliability.ceiling_low,
            reliability.ceiling_high,
            reliability.n_cells,
        )
    yield _row(
        "n_people", "overall", "overall", float(answers["participant"].nunique()), n=len(answers)
    )


def _labels(answers: pd.DataFrame) -> Iterator[dict[str, object]]:
    """Correlation of mean ratings with the design's labels: as they are, and binarised as the
    original did (4 and 5, 1 and 2).
    """
    cells = answers.groupby("cell").agg(mean=("value", "mean"), label=("expected", "first"))
    mean, label = cells["mean"].to_numpy(float), cells["label"].to_numpy(float)
    binary = np.select([mean >= 4, mean <= 2], [5.0, 1.0], mean)
    statistics: dict[str, Callable[[], float]] = {
        "label_r": lambda: pearson(mean, label),
        "label_r_binarised": lambda: pearson(binary, label),
    }
    for quantity, compute in statistics.items():
        yield _row(quantity, "overall", "overall", compute(), n=len(cells))


def _row(
    quantity: str,
    grouping: str,
    group: str,
    value: float,
    low: float = np.nan,
    high: float = np.nan,
    n: int = 0,
) -> dict[str, object]:
    key = {"quantity": quantity, "grouping": grouping, "group": group}
    return key | {"value": float(value), "ci_low": float(low), "ci_high": float(high), "n": n}


_KEY = ["item_id", "target"]


def measure_likeness(
    items: pd.DataFrame,
    ratings: pd.DataFrame,
    evidence: Iterable[Evidence],
    n_draws: int,
    seed: int,
) -> pd.DataFrame:
    """Pearson's r of every model with people, and the r that people's own noise permits
    (contracts.Likeness).

    Args:
        items: contracts.Items.
        ratings: contracts.Ratings of people.
        evidence: what models answered in degrees; answers that are choices are passed over.
        n_draws: bootstrap samples of pairs of concepts.
        seed: of the samples.

    Raises:
        UserError: a table is of other items, a model answers twice in one way, no evidence is in
            degrees, or it is not about targets that people rated.
    """
    _refuse_strangers(items, ratings, "ratings", "people")
    people = people_differ(ratings)
    clusters = pd.Series(cluster_codes(items, DEFAULT_CLUSTER), index=items["item_id"].astype(str))
    counts = draw_counts(np.random.default_rng([seed, 5]), n_draws, int(clusters.max()) + 1)
    rows: list[dict[str, object]] = []
    for judged in evidence:
        _refuse_strangers(items, judged.rows, "evidence", judged.model)
        for eval_type, differences in model_differs(judged):
            if any((row["model"], row["eval_type"]) == (judged.model, eval_type) for row in rows):
                fix = "Give each table once, and one table for each model and way of asking."
                raise UserError(
                    "evidence", f"has answers of {judged.model} ({eval_type}) a second time.", fix
                )
            both = people.join(differences.rename("model"), how="inner").dropna(
                subset=["people", "model"]
            )
            cluster = clusters.reindex(both.index.get_level_values("item_id")).to_numpy()
            x, y = both["people"].to_numpy(float), both["model"].to_numpy(float)
            low, high = _interval(x, y, cluster, counts)
            rows.append(
                {
                    "model": judged.model,
                    "eval_type": eval_type,
                    "r": pearson(x, y) if len(both) > 2 else np.nan,
                    "ci_low": low,
                    "ci_high": high,
                    "ceiling": find_ceiling(both),
                    "n": len(both),
                }
            )
    if not any(row["n"] for row in rows):
        problem = (
            "contains no log probability and no rating of a target that people rated after both"
            " contexts."
        )
        raise UserError(
            "evidence", problem, "Give scores or Likert answers to the items that people rated."
        )
    return pd.DataFrame(rows)


def find_ceiling(people: pd.DataFrame) -> float:
    """The correlation with people's differences that somebody without any noise would reach.

    The square root of their reliability, which is the share of their variance that is not the
    squared standard error of two mean ratings. Missing where the raters' standard deviations are
    not known, or where there is nothing but noise.

    >>> noiseless = pd.DataFrame({"people": [2.0, -2.0, 1.0], "error": [0.0, 0.0, 0.0]})
    >>> find_ceiling(noiseless), find_ceiling(noiseless.assign(error=float("nan")))
    (1.0, nan)
    """
    measured = people.dropna(subset=["error"])
    variance = float(measured["people"].var(ddof=1)) if len(measured) > 2 else 0.0
    if variance <= 0:
        return float("nan")
    reliability = 1 - float(measured["error"].mean()) / variance
    return float(np.sqrt(reliability)) if reliability > 0 else float("nan")


def model_differs(evidence: Evidence) -> list[tuple[str, pd.Series]]:
    """Each way of asking that answers in degrees, with the difference between contexts by item and
    target.
    """
    rows = evidence.rows
    if evidence.kind == "target_scores":
        return [("logprobs", _difference(rows[rows["context"] > 0], "logprob"))]
    if evidence.kind != "responses":
        return []
    differences = []
    for eval_type in (
        name for name in EVAL_TYPES if name in set(rows["eval_type"]) and is_graded(name)
    ):
        part = rows[(rows["eval_type"] == eval_type) & (rows["status"] == "ok")]
        codes = part["presentation"].astype(str)
        part = part.assign(target=codes.str[1].astype(int), context=codes.str[3].astype(int))
        differences.append((eval_type, _difference(part, "value")))
    return differences


def _refuse_strangers(items: pd.DataFrame, table: pd.DataFrame, name: str, who: str) -> None:
    strangers = sorted(set(table["item_id"].astype(str)) - set(items["item_id"].astype(str)))
    if strangers:
        problem = (
            f"has answers of {who} about {len(strangers)} items that are not in the items table,"
            f" the first is {strangers[0]}."
        )
        raise UserError(name, problem, "Give the table of the items that were rated and scored.")


def _difference(rows: pd.DataFrame, value: str) -> pd.Series:
    wide = rows.pivot(index=_KEY, columns="context", values=value).reindex(columns=[1, 2])
    return wide[1] - wide[2]


def _interval(
    x: np.ndarray, y: np.ndarray, cluster: np.ndarray, counts: np.ndarray
) -> tuple[float, float]:
    """95 % bootstrap interval of Pearson's r: clusters are drawn, so their sums of products are all
    that is needed; missing with fewer than ``FEWEST`` clusters, whose samples are too much alike.
    """
    if len(x) < 3 or len(np.unique(cluster)) < FEWEST:
        return float("nan"), float("nan")
    x, y = x - x.mean(), y - y.mean()
    terms = np.stack([np.ones(len(x)), x, y, x * x, y * y, x * y])
    sums = np.stack([np.bincount(cluster, term, counts.shape[1]) for term in terms], axis=1)
    n, sx, sy, sxx, syy, sxy = (
        counts.astype(float) @ np.apply_along_axis(on_grid, 0, sums, counts.shape[1])
    ).T
    with np.errstate(invalid="ignore", divide="ignore"):
        variances = (n * sxx - sx * sx) * (n * syy - sy * sy)
        drawn = np.where(variances > 0, (n * sxy - sx * sy) / np.sqrt(variances), np.nan)
    low, high = np.clip(percentile_interval(drawn[:, None])[:, 0], -1, 1)
    return float(low), float(high)


def draw_counts(rng: np.random.Generator, n_draws: int, n_units: int) -> np.ndarray:
    """How often each of ``n_units`` is drawn in samples of as many, shape (n_draws, n_units),
    float32.
    """
    return rng.multinomial(n_units, np.full(n_units, 1 / n_units), size=n_draws).astype(np.float32)


def on_grid(parts: np.ndarray, n_units: int) -> np.ndarray:
    """Values rounded to a binary grid on which sums of drawn parts are exact, and so the same in
    whatever order a BLAS adds.

    Args:
        parts: values of units, any shape, float64; rounded by less than one in 2**52 of the largest
            possible sum.
        n_units: how many units a sample consists of; one unit is drawn so often at most.

    >>> float(on_grid(np.array([0.1, 0.5]), 1000)[0] - 0.1) < 1e-12
    True
    """
    bound = n_units * float(np.abs(parts).max(initial=0))
    if bound == 0:
        return parts
    step = 2.0 ** (math.ceil(math.log2(bound)) - 52)
    return np.asarray(np.round(parts / step) * step)


def percentile_interval(means: np.ndarray) -> np.ndarray:
    """The 2.5% and 97.5% quantiles of every column, linear between order statistics; missing means
    are left out.

    Args:
        means: shape (draws, series).

    Returns:
        Shape (2, series).
    """
    ends = np.array([(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    is_whole = ~np.isnan(means).any(axis=0)
    if not is_whole.all():
        bounds = np.full((2, means.shape[1]), np.nan)
        bounds[:, is_whole] = percentile_interval(means[:, is_whole])
        for column in np.flatnonzero(~is_whole & ~np.isnan(means).all(axis=0)):
            bounds[:, column] = np.nanquantile(means[:, column], ends)
        return bounds
    positions = ends * (len(means) - 1)
    low = np.floor(positions).astype(int)
    high = np.minimum(low + 1, len(means) - 1)
    ordered = np.sort(
        np.ascontiguousarray(means.T), axis=1
    )  # whole rows of float32: five times as fast as numpy's partition
    share = positions - low
    return (ordered[:, low] * (1 - share) + ordered[:, high] * share).T
