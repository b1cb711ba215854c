"""Scores of tuples (paper, Section 4.2), and their means with the paper's rebalancing and intervals (specification, Section 10).

Sizes weigh equally within a problem, and problems weigh equally in an average: the values are averaged within the cells of
the grouping and of the fields to rebalance, then the cells are merged, each with the smallest number of tuples among them.

All sums are taken once, in the finest cells; every grouping adds up cells. The scores of tuples are multiples of 1/4, so these
sums are exact.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from worldprobe.benchmarks.worldsense.analysis.questions import ABSENT, INVALID, WORDS, Questions

#: Answers that the paper takes for one: 1 and 2 are both KNOW.
FOLDED = np.array([0, 1, 2, 3, 4, 4, 6])
#: Weight of a trial in its tuple by its gold answer.
WEIGHT = np.array([0.5, 0.5, 0.5, 0.5, 0.25, 0.25, 0.5])
#: +1 for TRUE, POSSIBLE, 1 and 2; -1 for FALSE, IMPOSSIBLE and 3.
POLARITY = np.array([1, -1, 1, -1, 1, 1, -1])
MEASURES = ("accuracy", "bias", "strict", "invalid")
GOLDS = ("released", "corrected")
assert len(FOLDED) == len(WEIGHT) == len(POLARITY) == len(WORDS)


def score_tuples(questions: Questions, answers: np.ndarray, gold: str = "released") -> dict[str, np.ndarray]:
    """Every measure of every tuple, the mean over samples; missing (NaN) where a tuple was not answered as a whole.

    Args:
        questions: of the set.
        answers: of one model, shape (samples, trials).
        gold: "released" or "corrected".

    Returns:
        Measure -> shape (tuples,): accuracy and strict from 0 to 1, bias from -1 to 1, invalid from 0 to 1.
    """
    samples = [_score(questions, sample, questions.gold[gold]) for sample in answers]
    if len(samples) == 1:
        return samples[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a tuple that no sample answered
        return {measure: np.nanmean([scores[measure] for scores in samples], axis=0) for measure in MEASURES}


def score_metrics(questions: Questions, answers: np.ndarray) -> dict[str, np.ndarray]:
    """Every metric of every tuple, by the released gold answers and (corrected) by the solver's.

    Args:
        questions: of the set.
        answers: of one model, shape (samples, trials).
    """
    released, corrected = (score_tuples(questions, answers, gold) for gold in GOLDS)
    return released | {f"{metric}_corrected": corrected[metric] for metric in MEASURES if metric != "invalid"}


def _score(questions: Questions, answers: np.ndarray, gold: np.ndarray) -> dict[str, np.ndarray]:
    tuple_of, n_trials = questions.tuple_of, questions.tuples["n_trials"].to_numpy()
    n_tuples = len(n_trials)

    def over_tuples(values: np.ndarray) -> np.ndarray:
        return np.bincount(tuple_of, values, n_tuples)

    is_whole = over_tuples(answers != ABSENT) == n_trials
    weight = np.where(gold >= 0, WEIGHT[gold], 0.5)
    is_valid = answers >= 0
    right = is_valid & (gold >= 0) & (FOLDED[answers] == FOLDED[gold])
    total = over_tuples(weight)
    found = {
        "accuracy": over_tuples(weight * right) / total,
        "bias": over_tuples(np.where(is_valid, weight * POLARITY[answers], 0.0)) / total,
        "strict": over_tuples(is_valid & (answers == gold)) / n_trials,
        "invalid": over_tuples(answers == INVALID) / n_trials,
    }
    return {measure: np.where(is_whole, values, np.nan) for measure, values in found.items()}


Z = 1.96
#: Fields over which cells are merged, in this order, unless they are part of a grouping.
REBALANCED = ("size", "problem")


@dataclass(frozen=True)
class Cells:
    """The finest cells of a set: combinations of the columns that tuples have.

    Attributes:
        keys: one row per cell, a code per column.
        values: column -> what its codes stand for; a missing value has the code -1.
        cell_of: the cell of each tuple, shape (tuples,).
    """

    keys: pd.DataFrame
    values: dict[str, list[object]]
    cell_of: np.ndarray


@dataclass(frozen=True)
class Moments:
    """Sums in the finest cells.

    Attributes:
        count, total, squares: number of values, their sum and the sum of their squares; shape (series, cells).
    """

    count: np.ndarray
    total: np.ndarray
    squares: np.ndarray


@dataclass(frozen=True)
class Means:
    """Statistics of groups; a group without any value has the count 0 and missing statistics.

    Attributes:
        groups: one row per group, a code per column of the grouping.
        mean, sem, count: shape (series, groups).
    """

    groups: pd.DataFrame
    mean: np.ndarray
    sem: np.ndarray
    count: np.ndarray


def find_cells(tuples: pd.DataFrame, columns: Sequence[str]) -> Cells:
    """The finest cells by these columns.

    Args:
        tuples: one row per tuple.
        columns: of ``tuples``; categories, numbers or text.
    """
    codes, values = {}, {}
    which = np.zeros(len(tuples), np.int64)
    for column in columns:
        series = tuples[column]
        if isinstance(series.dtype, pd.CategoricalDtype):
            code, kinds = series.cat.codes.to_numpy().astype(np.int64), list(series.cat.categories)
        else:
            code, found = pd.factorize(series, sort=True)
            kinds = list(found)
        codes[column], values[column] = code, kinds
        which = which * (len(kinds) + 1) + code + 1
    _, first, cell_of = np.unique(which, return_index=True, return_inverse=True)
    return Cells(pd.DataFrame({column: code[first] for column, code in codes.items()}), values, cell_of)


def sum_in_cells(cells: Cells, scores: np.ndarray) -> Moments:
    """Sums of scores in the finest cells; missing scores are left out.

    Args:
        cells: of the tuples.
        scores: shape (series, tuples).
    """
    n_cells = len(cells.keys)
    moments = np.zeros((3, len(scores), n_cells))
    for number, row in enumerate(scores):
        known = ~np.isnan(row)
        cell, values = (cells.cell_of, row) if known.all() else (cells.cell_of[known], row[known])
        for place, weights in enumerate((None, values, values * values)):
            moments[place, number] = np.bincount(cell, weights, n_cells)
    return Moments(*moments)


def average(cells: Cells, moments: Moments, by: Sequence[str]) -> Means:
    """Rebalanced means by a grouping.

    Args:
        cells: the finest cells.
        moments: sums of the scores in them.
        by: columns of the grouping; groups where one of them is missing are left out.
    """
    keys, columns, merged, keep, indicator = _base_cells(cells, by)
    count, total, squares = (part[:, keep] @ indicator for part in (moments.count, moments.total, moments.squares))
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


def _base_cells(cells: Cells, by: Sequence[str]) -> tuple[pd.DataFrame, list[str], list[str], np.ndarray, np.ndarray]:
    """Cells of a grouping and its fields to rebalance: keys, columns, fields; which finest cells belong to which of them."""
    merged = [field for field in REBALANCED if field not in by and field in cells.keys]
    columns = [*by, *merged]
    keep = (cells.keys[list(by)] >= 0).all(axis=1).to_numpy()
    keys, group_of = _unique(cells.keys.loc[keep, columns])
    indicator = np.zeros((int(keep.sum()), len(keys)))
    indicator[np.arange(len(indicator)), group_of] = 1
    return keys, columns, merged, keep, indicator


def _unique(keys: pd.DataFrame) -> tuple[pd.DataFrame, np.ndarray]:
    """The different rows, sorted, and which of them each row is."""
    if not keys.columns.size:
        return pd.DataFrame(index=range(min(1, len(keys)))), np.zeros(len(keys), int)
    found, inverse = np.unique(keys.to_numpy(), axis=0, return_inverse=True)
    return pd.DataFrame(found, columns=keys.columns), inverse.reshape(-1)


def _merge(
    keys: pd.DataFrame, columns: list[str], mean: np.ndarray, variance: np.ndarray, count: np.ndarray
) -> tuple[pd.DataFrame, np.ndarray, np.ndarray, np.ndarray]:
    """Merge the cells that agree in ``columns``: every one counts as many values as the smallest of them."""
    groups, group_of = _unique(keys[columns])
    shape = (len(mean), len(groups))
    merged_mean, merged_variance, merged_count = np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(shape)
    for group in range(len(groups)):
        inside = group_of == group
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
