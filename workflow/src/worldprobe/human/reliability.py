"""How well the mean answer is known: halves of the people compared, and each person with the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Reliability:
    """Of the mean answers of all people.

    Attributes:
        r: correlation of two halves' means, stepped up by Spearman and Brown to all people; the mean over splits.
        low, high: the central 95 % of the splits.
        ceiling: square root of r: the correlation with the mean answers that a rater without any noise would reach, and so what
            can be expected of a model at most.
        n_cells: sub-items that both halves answered, on average.
    """

    r: float
    low: float
    high: float
    ceiling: float
    n_cells: int


def group_people(answers: pd.DataFrame) -> pd.Series:
    """What lists each person took: people of one group can stand for each other. By participant, in order."""
    return answers.groupby("participant")["list"].agg(lambda names: ",".join(sorted(set(names)))).sort_index()


def halve_people(groups: pd.Series, random: np.random.Generator) -> np.ndarray:
    """Which half each person is in, 0 or 1: as many of each group in either as possible; the odd one is drawn."""
    half = np.zeros(len(groups), dtype=np.int64)
    for places in _places(groups):
        shuffled = random.permutation(places)
        half[shuffled[: (len(places) + int(random.integers(2))) // 2]] = 1
    return half


def split_half(answers: pd.DataFrame, n_splits: int, seed: int) -> Reliability | None:
    """Reliability of the mean answers to the sub-items; None where fewer than three have two answers.

    Args:
        answers: contracts.CleanAnswers of one way of asking.
        n_splits: random splits of the people.
        seed: of the splits.
    """
    groups = group_people(answers)
    person = groups.index.get_indexer(pd.Index(answers["participant"]))
    cell, names = pd.factorize(answers["cell"], sort=True)
    value = answers["value"].to_numpy(float)
    random = np.random.default_rng([seed, 3])
    found, sizes = [], []
    for _ in range(n_splits):
        half = halve_people(groups, random)[person]
        sums = np.stack([np.bincount(cell[half == side], value[half == side], len(names)) for side in (0, 1)])
        counts = np.stack([np.bincount(cell[half == side], minlength=len(names)) for side in (0, 1)])
        is_both = (counts > 0).all(axis=0)
        if is_both.sum() < 3:
            return None
        first, second = sums[:, is_both] / counts[:, is_both]
        r = correlate(first, second)
        found.append(2 * r / (1 + r) if r > -1 else np.nan)
        sizes.append(int(is_both.sum()))
    mean = float(np.mean(found))
    low, high = (float(x) for x in np.quantile(found, [0.025, 0.975]))
    ceiling = float(np.sqrt(mean)) if mean >= 0 else float("nan")
    return Reliability(mean, low, high, ceiling, round(float(np.mean(sizes))))


def correlate(first: np.ndarray, second: np.ndarray) -> float:
    """Pearson's r; NaN where either side does not vary.

    >>> correlate(np.array([1.0, 2, 3]), np.array([2.0, 4, 6]))
    1.0
    """
    a, b = first - first.mean(), second - second.mean()
    product = float((a * a).sum() * (b * b).sum())
    return float(np.clip((a * b).sum() / np.sqrt(product), -1, 1)) if product > 1e-18 else float("nan")


def _places(groups: pd.Series) -> list[np.ndarray]:
    return [np.asarray(places) for _, places in sorted(groups.reset_index(drop=True).groupby(groups.to_numpy()).indices.items())]


#: What is known of a person's correlation.
DEFINED, CONSTANT, TOO_FEW, NO_CO_RATER, CONSTANT_OTHERS = "defined", "constant", "too_few", "no_co_rater", "constant_others"
#: Sums of squares below this are rounding: ratings are whole numbers and their means.
_ZERO = 1e-9


@dataclass(frozen=True)
class Correlations:
    """A person each.

    Attributes:
        r: Pearson's r of the own answers with the mean of the others'; NaN where it is not defined.
        n: questions that someone else answered too.
        std_error: of r, sqrt((1 - r^2) / (n - 2)).
        status: why r is not defined, or ``defined``.
    """

    r: np.ndarray
    n: np.ndarray
    std_error: np.ndarray
    status: np.ndarray


def correlate_people(person: np.ndarray, question: np.ndarray, value: np.ndarray, min_corated: int) -> Correlations:
    """Every person's correlation with the mean of the others on the questions that both answered, all pooled.

    Args:
        person: whose answer, from 0; each answers a question once. Shape (answers,), as the others.
        question: to which question, from 0.
        value: the answer.
        min_corated: with fewer questions that others answered too, r is not defined.

    Returns:
        One entry per person.
    """
    n_people = int(person.max()) + 1 if len(person) else 0
    total = np.bincount(question, value)
    count = np.bincount(question)
    is_shared = count[question] > 1
    who, own = person[is_shared], value[is_shared].astype(float)
    asked = question[is_shared]
    others = (total[asked] - own) / (count[asked] - 1)
    n = np.bincount(who, minlength=n_people)
    divisor = np.maximum(n, 1)
    own = own - (np.bincount(who, own, n_people) / divisor)[who]
    others = others - (np.bincount(who, others, n_people) / divisor)[who]
    own_squares = np.bincount(who, own * own, n_people)
    other_squares = np.bincount(who, others * others, n_people)
    product = np.bincount(who, own * others, n_people)
    status = np.select(
        [n == 0, n < min_corated, own_squares < _ZERO, other_squares < _ZERO],
        [NO_CO_RATER, TOO_FEW, CONSTANT, CONSTANT_OTHERS],
        DEFINED,
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        r = np.where(status == DEFINED, np.clip(product / np.sqrt(own_squares * other_squares), -1, 1), np.nan)
        std_error = np.where(n > 2, np.sqrt((1 - r * r) / (n - 2)), np.nan)
    return Correlations(r, n, std_error, status)
