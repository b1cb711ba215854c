"""Scores of tuples (paper, Section 4.2), and their means with the paper's rebalancing and intervals
(specification, Section 10).

Sizes weigh equally within a problem, and problems weigh equally in an average: the values are
averaged within the cells of the grouping and of the fields to rebalance, then the cells are merged,
each with the smallest number of tuples among them.

The scores of tuples are multiples of 1/4, so sums of them are exact.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from worldprobe.benchmarks.worldsense.analysis.answers import AnswerSeries
from worldprobe.benchmarks.worldsense.analysis.questions import ABSENT, INVALID, WORDS, Questions
from worldprobe.benchmarks.worldsense.skins.skins import TRAININGS
from worldprobe.benchmarks.worldsense.skins.vocabulary import DOMAINS, PROBLEMS

#: Answers that the paper takes for one: 1 and 2 are both KNOW.
FOLDED = np.array([0, 1, 2, 3, 4, 4, 6])
#: Weight of a trial in its tuple by its gold answer.
WEIGHT = np.array([0.5, 0.5, 0.5, 0.5, 0.25, 0.25, 0.5])
#: +1 for TRUE, POSSIBLE, 1 and 2; -1 for FALSE, IMPOSSIBLE and 3.
POLARITY = np.array([1, -1, 1, -1, 1, 1, -1])
MEASURES = ("accuracy", "bias", "strict", "invalid")
GOLDS = ("released", "corrected")
assert len(FOLDED) == len(WEIGHT) == len(POLARITY) == len(WORDS)


def score_tuples(
    questions: Questions, answers: np.ndarray, gold: str = "released"
) -> dict[str, np.ndarray]:
    """Every measure of every tuple, the mean over samples; missing (NaN) where a tuple was not
    answered as a whole.

    Args:
        questions: of the set.
        answers: of one model, shape (samples, trials).
        gold: "released" or "corrected".

    Returns:
        Measure -> shape (tuples,): accuracy and strict from 0 to 1, bias from -1 to 1, invalid from
        0 to 1.
    """
    samples = [_score(questions, sample, questions.gold[gold]) for sample in answers]
    if len(samples) == 1:
        return samples[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a tuple that no sample answered
        return {
            measure: np.nanmean([scores[measure] for scores in samples], axis=0)
            for measure in MEASURES
        }


def score_metrics(questions: Questions, answers: np.ndarray) -> dict[str, np.ndarray]:
    """Every metric of every tuple, by the released gold answers and (corrected) by the solver's.

    Args:
        questions: of the set.
        answers: of one model, shape (samples, trials).
    """
    released, corrected = (score_tuples(questions, answers, gold) for gold in GOLDS)
    return released | {
        f"{metric}_corrected": corrected[metric] for metric in MEASURES if metric != "invalid"
    }


def are_right(answers: np.ndarray, gold: np.ndarray) -> np.ndarray:
    """Whether answers are the gold ones; 1 and 2 count as one.

    Args:
        answers: numbers in ``WORDS``, shape (..., trials).
        gold: the same of the right answers, shape (trials,).
    """
    return (answers >= 0) & (gold >= 0) & (FOLDED[answers] == FOLDED[gold])


def _score(questions: Questions, answers: np.ndarray, gold: np.ndarray) -> dict[str, np.ndarray]:
    tuple_of, n_trials = questions.tuple_of, questions.tuples["n_trials"].to_numpy()
    n_tuples = len(n_trials)

    def over_tuples(values: np.ndarray) -> np.ndarray:
        return np.bincount(tuple_of, values, n_tuples)

    is_whole = over_tuples(answers != ABSENT) == n_trials
    weight = np.where(gold >= 0, WEIGHT[gold], 0.5)
    is_valid, right = answers >= 0, are_right(answers, gold)
    total = over_tuples(weight)
    scores = {
        "accuracy": over_tuples(weight * right) / total,
        "bias": over_tuples(np.where(is_valid, weight * POLARITY[answers], 0.0)) / total,
        "strict": over_tuples(is_valid & (answers == gold)) / n_trials,
        "invalid": over_tuples(answers == INVALID) / n_trials,
    }
    return {measure: np.where(is_whole, values, np.nan) for measure, values in scores.items()}


Z = 1.96
#: Fields over which cells are merged, in this order, unless they are part of a grouping.
REBALANCED = ("size", "problem")


@dataclass(frozen=True)
class Means:
    """Statistics of groups; a group without any value has the count 0 and missing statistics.

    Attributes:
        groups: one row per group, the values of the grouping's columns.
        mean, sem, count: shape (series, groups).
    """

    groups: pd.DataFrame
    mean: np.ndarray
    sem: np.ndarray
    count: np.ndarray


def average(tuples: pd.DataFrame, scores: np.ndarray, by: Sequence[str]) -> Means:
    """Rebalanced means by a grouping.

    Args:
        tuples: one row per tuple.
        scores: shape (series, tuples); missing (NaN) where a tuple was not answered.
        by: columns of the grouping; tuples where one of them is missing are left out.
    """
    merged = [field for field in REBALANCED if field not in by and field in tuples]
    columns = [*by, *merged]
    inside = tuples[list(by)].notna().all(axis=1).to_numpy()
    keys, codes = _number_groups(tuples.loc[inside, columns])
    here = scores[:, inside]
    is_known = ~np.isnan(here)
    values = np.where(is_known, here, 0)
    count, total, squares = (
        _sum_in_cells(part, codes, len(keys)) for part in (is_known, values, values**2)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = total / count
        variance = (squares - count * mean**2) / (count - 1)
    variance = np.where(np.isnan(variance), np.nan, np.maximum(variance, 0))
    variance[count < 2] = np.nan
    for field in merged:
        columns.remove(field)
        keys, mean, variance, count = _merge(keys, columns, mean, variance, count)
    with np.errstate(invalid="ignore", divide="ignore"):
        return Means(keys, mean, np.sqrt(variance) / np.sqrt(count), count)


def _sum_in_cells(values: np.ndarray, cell_of: np.ndarray, n_cells: int) -> np.ndarray:
    return np.array([np.bincount(cell_of, row, n_cells) for row in values]).reshape(
        len(values), n_cells
    )


def _number_groups(keys: pd.DataFrame) -> tuple[pd.DataFrame, np.ndarray]:
    """The different rows in order, and which of them each row is."""
    if not keys.columns.size:
        return pd.DataFrame(index=range(min(1, len(keys)))), np.zeros(len(keys), int)
    number = keys.groupby(list(keys), sort=True, observed=True).ngroup().to_numpy(int)
    first = np.unique(number, return_index=True)[1]
    return keys.iloc[first].reset_index(drop=True), number


def _merge(
    keys: pd.DataFrame,
    columns: list[str],
    mean: np.ndarray,
    variance: np.ndarray,
    count: np.ndarray,
) -> tuple[pd.DataFrame, np.ndarray, np.ndarray, np.ndarray]:
    """Merge the cells that agree in ``columns``: every one counts as many values as the smallest of
    them.
    """
    groups, codes = _number_groups(keys[columns])
    shape = (len(mean), len(groups))
    merged_mean, merged_variance, merged_count = (
        np.full(shape, np.nan),
        np.full(shape, np.nan),
        np.zeros(shape),
    )
    for group in range(len(groups)):
        inside = codes == group
        here = count[:, inside]
        present = here > 0
        number = present.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            first = np.where(present, mean[:, inside], 0).sum(axis=1) / number
            square = variance[:, inside] + mean[:, inside] ** 2
            second = np.where(present, square, 0).sum(axis=1) / number
        merged_count[:, group] = np.where(present, here, here.max()).min(axis=1) * number
        merged_mean[:, group] = first
        merged_variance[:, group] = np.maximum(second - first**2, 0)
    return groups, merged_mean, merged_variance, merged_count


ALL = "all"
#: Our column of the tuples -> the column of the statistics.
OFFICIAL = {
    "problem": "problemname",
    "size": "problemsize",
    "complexity": "complexity",
    "query": "query",
    "domain": "domain",
    "intraining": "intraining",
}
GROUPINGS: tuple[tuple[str, ...], ...] = (
    (),
    ("problem",),
    ("problem", "size"),
    ("problem", "size", "complexity", "query"),
    ("problem", "domain"),
    ("domain",),
    ("intraining",),
    ("problem", "intraining"),
)
COLUMNS = (
    "measure",
    "gold",
    "prompting",
    "model",
    *OFFICIAL.values(),
    "mean",
    "sem",
    "conf95",
    "count",
)
_ORDER = {"problem": PROBLEMS, "domain": DOMAINS, "intraining": TRAININGS}


def compute_statistics(questions: Questions, series: Sequence[AnswerSeries]) -> pd.DataFrame:
    """Accuracy and bias by every grouping, in the official layout, with the released gold answers
    and with the solver's.

    Args:
        questions: of the set.
        series: the answers, sorted.

    Returns:
        ``COLUMNS``; a column that was averaged over is "all". Groups without a whole tuple have no
        row.
    """
    scored = [
        (gold, run, score_tuples(questions, run.answers, gold)) for gold in GOLDS for run in series
    ]
    labels, scores = [], []
    for measure in ("accuracy", "bias"):
        for gold, run, measured in scored:
            labels.append((measure, gold, run.prompting, run.model))
            scores.append(measured[measure])
    named = pd.DataFrame(labels, columns=list(COLUMNS[:4]))
    blocks = []
    for by in GROUPINGS:
        means = average(questions.tuples, np.array(scores), by)
        groups = means.groups.sort_values(list(by), key=_rank) if by else means.groups
        positions = groups.index.to_numpy()
        spelled = {
            official: groups[ours].astype(str) if ours in by else ALL
            for ours, official in OFFICIAL.items()
        }
        here = pd.DataFrame(spelled, index=groups.index)
        numbers = {
            "mean": means.mean,
            "sem": means.sem,
            "conf95": Z * means.sem,
            "count": means.count.astype(int),
        }
        picked = {name: values[:, positions].ravel() for name, values in numbers.items()}
        which = np.repeat(np.arange(len(named)), len(groups))
        parts = (
            named.iloc[which],
            here.iloc[np.tile(np.arange(len(groups)), len(named))],
            pd.DataFrame({**picked, "which": which}),
        )
        blocks.append(pd.concat([part.reset_index(drop=True) for part in parts], axis=1))
    table = pd.concat(blocks, ignore_index=True).sort_values("which", kind="stable")
    return table.loc[table["count"] > 0, list(COLUMNS)].reset_index(drop=True)


def _rank(column: pd.Series) -> pd.Series:
    """Where each value belongs in the order of the paper; sizes by number, anything else by
    name.
    """
    order = _ORDER.get(str(column.name))
    if order:
        return column.astype(str).map(order.index)
    return column if pd.api.types.is_integer_dtype(column) else column.astype(str)


def count_answers(questions: Questions, series: Sequence[AnswerSeries]) -> pd.DataFrame:
    """Numbers of answers, of trials left out and of invalid answers, one row per prompting and
    model.
    """
    n_trials = questions.tuples["n_trials"].to_numpy()
    rows = []
    for run in series:
        asked = (run.answers != ABSENT).any(axis=0)
        per_tuple = np.bincount(questions.tuple_of, asked, len(n_trials))
        reasons = "; ".join(f"{reason} {number}" for reason, number in sorted(run.invalid.items()))
        rows.append(
            {
                "prompting": run.prompting,
                "model": run.model,
                "trials": int(asked.sum()),
                "tuples": int((per_tuple == n_trials).sum()),
                "incomplete_tuples": int(((per_tuple > 0) & (per_tuple < n_trials)).sum()),
                "invalid": sum(run.invalid.values()),
                "reasons": reasons,
                "not_in_set": run.n_foreign_keys,
            }
        )
    return pd.DataFrame(rows)
