"""What findings count at their edges: one model, all at chance, ties, intervals that are missing, models
of several kinds.
"""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from worldprobe.analysis.comparisons import above_or_below
from worldprobe.report.findings import _difference, against_chance, lead_values, pairs_finding
from worldprobe.report.model_names import Roster
from worldprobe.report.page import render_template

NONE = float("nan")


def found_of(**rows: tuple[float, float, float]) -> dict[str, Any]:
    frame = pd.DataFrame(
        [(name, *row) for name, row in rows.items()],
        columns=["model", "mean", "ci_low", "ci_high"],
    )
    return lead_values(against_chance(frame, list(rows), Roster()))


ABOVE, AT, BELOW, UNKNOWN = (
    (0.6, 0.55, 0.65),
    (0.5, 0.45, 0.55),
    (0.4, 0.35, 0.45),
    (0.6, NONE, NONE),
)
HIGH = (0.7, 0.65, 0.75)


@pytest.mark.parametrize(
    ("rows", "lowest", "highest", "n_above", "n_below"),
    [
        ({"A": ABOVE}, 0.6, 0.6, 1, 0),
        ({"A": AT}, 0.5, 0.5, 0, 0),
        ({"A": BELOW}, 0.4, 0.4, 0, 1),
        ({"A": UNKNOWN}, 0.6, 0.6, 0, 0),
        ({"A": ABOVE, "B": AT}, 0.5, 0.6, 1, 0),
        ({"A": ABOVE, "B": HIGH, "C": AT}, 0.5, 0.7, 2, 0),
        ({"A": ABOVE, "B": (0.6001, NONE, NONE), "C": (0.5, NONE, NONE)}, 0.5, 0.6001, 1, 0),
        ({"A": UNKNOWN, "B": (0.5, NONE, NONE)}, 0.5, 0.6, 0, 0),
    ],
)
def test_means_are_counted_against_chance(rows, lowest, highest, n_above, n_below):
    found = found_of(**rows)
    assert (found["lowest"], found["highest"]) == (lowest, highest)
    assert (found["n_above"], found["n_below"], found["n_models"]) == (n_above, n_below, len(rows))


@pytest.mark.long
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
        rows = pd.DataFrame({"model": [f"m{k}" for k in range(20)], "mean": mean} | ends)
        named += lead_values(against_chance(rows, list(rows["model"]), Roster()))["n_above"] > 0
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
    assert above_or_below(rows).tolist() == [
        "no interval",
        "no interval",
        "above",
        "below",
        "near ties",
    ]


def test_a_model_is_above_chance_alone_in_a_comparison_and_beside_one_other_or_in_none():
    """The report called a model above chance (0.508 to 0.624) whose comparison said "neither is
    shown to be above chance".
    """
    rows = pd.DataFrame(
        {
            "mean": [0.567, 0.5, 0.48],
            "ci_low": [0.508, 0.45, 0.43],
            "ci_high": [0.624, 0.55, 0.53],
            "std_error": 0.028,
            "n_clusters": 30,
        }
    )
    assert [above_or_below(rows[:n]).iloc[0] for n in (1, 2, 3)] == ["above", "above", "open"]
    assert above_or_below(rows, n_intervals=1).tolist() == ["above", "open", "open"]


def test_a_count_of_pairs_says_of_what_they_are_and_by_which_measure():
    """Two sentences below each other read "12 of 22 pairs differ"."""
    rows = pd.DataFrame({"p_holm": [0.01, 0.5], "metric": "accuracy"})
    assert pairs_finding(rows).startswith("1 of 2 pairs of models differs (p")
    assert pairs_finding(rows.assign(metric="pairing")).startswith("By pairing, 1 of 2 pairs of")


def test_a_difference_without_an_interval_shows_none():
    """It read "95% interval: – to –"."""
    row = {"table": "t", "mean_a": 0.9, "mean_b": 0.9, "difference": 0.0, "status": "no_spread"}
    row |= {"model_a": "a", "model_b": "b", "ci_low": NONE, "ci_high": NONE}
    assert _difference(row).endswith("0.0\ue002 points (not tested)")


def test_what_is_not_known_of_a_difference_is_not_printed():
    """It read "versions needed to halve that: –"."""
    row = {"difference": 0.1, "ci_low": 0.0, "ci_high": 0.2, "p": 0.1, "p_holm": 0.1}
    row |= {"detectable": 0.1, "enough_versions": 0}
    text = render_template("worldprobe.report", "assets/difference.txt.jinja", row=row)
    assert "80% of such studies: 10.0 points\n" in text
    assert "halve" not in text
