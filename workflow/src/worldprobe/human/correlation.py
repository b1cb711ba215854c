"""Inter-subject correlation: does a person rate as the others do (paper, Section 4.4 and Appendix A.1)?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
