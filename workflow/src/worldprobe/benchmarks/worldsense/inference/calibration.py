"""What a model prefers whatever a text says, so that only what the text says decides between answers.

A sum of log probabilities compares answers of different lengths and frequencies: surface form competition (Holtzman et al. 2021,
arXiv 2104.08315). So the log odds of two answers are taken relative to what they are on average over all tuples of a form, as in
batch calibration (Zhou et al. 2024, arXiv 2309.17249). A tuple has each answer, so a model that knows all of them, and leans to
none, is usually halfway between: its border stays where it is. Texts without content do not have this property: nonsense
contradicts itself, and a model that sees it says so. All trials of one form have the same border, so it cannot tell them apart.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

#: Trials that have these in common have the same border between answers: problem, wording of the question, form of the query.
FORM = ("problem", "wording", "arity")


def usual_odds(tuples: Sequence[Sequence[np.ndarray]]) -> np.ndarray:
    """What log odds are on average over tuples, of each halfway between its largest and its smallest, in nats.

    Halfway, since two of a completeness tuple's three answers are known; so no gold answer is needed.

    Args:
        tuples: the ``log_odds`` of each trial, by tuple of one form.

    >>> usual_odds([[np.array([3.0]), np.array([1.0])], [np.array([2.5]), np.array([2.5])]])
    array([2.25])
    """
    halves = np.array([(np.max(trials, axis=0) + np.min(trials, axis=0)) / 2 for trials in tuples])
    usual: np.ndarray = halves[0] + np.mean(halves - halves[0], axis=0)  # exact where all are equal: these are ties
    return usual


def log_odds(logprobs: Sequence[float]) -> np.ndarray:
    """What is decided between answers, in nats: the first against the second; of three, known (1, 2) against 3, and 1 against 2.

    The paper folds 1 and 2 into one answer (Section 4.2). So must the decision: a model that draws one of three answers would say
    "known" twice as often as "unknown".

    >>> log_odds([-1.0, -3.0])
    array([2.])
    >>> log_odds([-1.0, -1.0, -1.0]).round(3)
    array([0.693, 0.   ])
    """
    if len(logprobs) == 2:
        return np.array([logprobs[0] - logprobs[1]])
    first, second, third = logprobs
    return np.array([np.logaddexp(first, second) - third, first - second])


def decide(logprobs: Sequence[float], usual: np.ndarray) -> tuple[int, float]:
    """The answer that a text speaks for, by its place, and the nats by which the nearest other one is behind.

    Args:
        logprobs: of each answer after the text.
        usual: the ``usual_odds`` of its form.
    """
    first, *second = log_odds(logprobs) - usual
    if not second:
        return int(first < 0), abs(float(first))
    if first < 0:
        return 2, abs(float(first))
    return int(second[0] < 0), float(min(first, abs(second[0])))
