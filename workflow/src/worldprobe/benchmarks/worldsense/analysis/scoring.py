"""Scores of tuples (paper, Section 4.2; docs/worldsense.md says how each is computed)."""

from __future__ import annotations

import warnings

import numpy as np

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
