"""Sentences at their edges: one model, all at chance, ties, intervals that are missing, models
of several kinds.
"""

import numpy as np
import pandas as pd
import pytest

from worldprobe.analysis.comparisons import place
from worldprobe.report.model_names import against_chance

NONE = float("nan")


def means(**rows: tuple[float, float, float]) -> pd.DataFrame:
    return pd.DataFrame(
        [(name, *row) for name, row in rows.items()], columns=["name", "mean", "ci_low", "ci_high"]
    )


ABOVE, AT, BELOW, UNKNOWN = (
    (0.6, 0.55, 0.65),
    (0.5, 0.45, 0.55),
    (0.4, 0.35, 0.45),
    (0.6, NONE, NONE),
)
HIGH = (0.7, 0.65, 0.75)


@pytest.mark.parametrize(
    ("rows", "means_are", "against"),
    [
        (
            {"A": ABOVE},
            "A has a mean accuracy of 0.600 (95% interval 0.550 to 0.650)",
            ", and the interval lies above it",
        ),
        (
            {"A": AT},
            "A has a mean accuracy of 0.500 (95% interval 0.450 to 0.550)",
            ", which the interval contains",
        ),
        (
            {"A": BELOW},
            "A has a mean accuracy of 0.400 (95% interval 0.350 to 0.450)",
            ", and the interval lies below it",
        ),
        ({"A": UNKNOWN}, "A has a mean accuracy of 0.600", ""),
        (
            {"A": ABOVE, "B": AT},
            "Mean accuracies run from 0.500 (B) to 0.600 (A)",
            ", and the 95% interval (for all at once) of 1 of 2 models lies above it",
        ),
        (
            {"A": ABOVE, "B": HIGH, "C": AT},
            "Mean accuracies run from 0.500 (C) to 0.700 (B)",
            ", and the 95% intervals (for all at once) of 2 of 3 models lie above it",
        ),
        (
            {"A": AT, "B": AT},
            "Mean accuracies are all 0.500",
            ", and no model's 95% interval (for all at once) lies above it",
        ),
        (
            {"A": ABOVE, "B": (0.6001, NONE, NONE), "C": (0.5, NONE, NONE)},
            "Mean accuracies run from 0.500 (C) to 0.600 (A and B)",
            ", and the one 95% interval, that of A, lies above it",
        ),
        (
            {"A": UNKNOWN, "B": (0.5, NONE, NONE)},
            "Mean accuracies run from 0.500 (B) to 0.600 (A)",
            "; no model has an interval",
        ),
    ],
)
def test_means_are_told_against_chance_without_naming_a_best_model(rows, means_are, against):
    assert against_chance(means(**rows)) == f"{means_are}; chance is 0.5{against}."


def test_models_without_an_accuracy_are_said_to_have_none():
    assert against_chance(means(A=(NONE, NONE, NONE))) == "No model has a mean accuracy."


def test_twenty_models_at_chance_are_hardly_ever_said_to_be_above_it():
    """EWoK's headline takes intervals for all models at once, as WorldSense's: one by one, 41 %
    name some.
    """
    random = np.random.default_rng(0)
    named = 0
    for _ in range(200):
        mean = 0.5 + 0.02 * random.standard_normal(20)
        ends = {
            "ci_low": mean - 0.0392,
            "ci_high": mean + 0.0392,
            "std_error": 0.02,
            "n_clusters": 366,
        }
        rows = pd.DataFrame({"name": "m", "mean": mean} | ends)
        named += "no model's" not in against_chance(rows)
    assert named <= 16


def test_missing_intervals_and_near_ties_are_neither_right_nor_wrong():
    rows = pd.DataFrame(
        {
            "mean": [0.5, 0.9, 0.8, 0.2, 0.52],
            "ci_low": [NONE, NONE, 0.7, 0.1, 0.51],
            "ci_high": [NONE, NONE, 0.9, 0.3, 0.53],
            "n_clusters": [2, 2, 30, 30, 366],
            "n": 2380,
            "n_ties": 0,
            "n_near_ties": [0, 0, 0, 0, 4758],
        }
    )
    assert place(rows).tolist() == ["no interval", "no interval", "above", "below", "near ties"]
