"""The table and the figure that compare the conditions of a study."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from worldprobe.contracts import validate
from worldprobe.report.model_names import Roster
from worldprobe_lab import conditions
from worldprobe_lab.contracts import ConditionComparisons


@pytest.fixture
def compared() -> pd.DataFrame:
    """Two models, two conditions besides the reference."""
    rows = []
    for model, base in (("small", 0.6), ("large", 0.7)):
        for condition, change in (("nonce", -0.08), ("western", 0.01)):
            row = {
                "model_a": model,
                "model_b": model,
                "eval_type": "logprobs",
                "condition_a": condition,
                "condition_b": "main",
            }
            row |= {"grouping": "overall", "interval_over": "pairs of concepts and versions"}
            row |= {"group": "all", "mean_b": base, "mean_a": base + change, "difference": change}
            row |= {"low_b": base - 0.01, "high_b": base + 0.02, "n_versions_b": 5}
            row |= {"low_a": base + change - 0.03, "high_a": base + change, "n_versions_a": 5}
            row |= {
                "ci_low": change - 0.02,
                "ci_high": change + 0.02,
                "p": 0.01 if change < 0 else 0.4,
                "status": "ok",
            }
            row |= {
                "p_holm": 0.02 if change < 0 else 0.4,
                "detectable": 0.03,
                "n": 100,
                "n_clusters": 40,
            }
            rows.append(
                row
                | {"n_items_b": 500, "n_items_a": 500, "enough_versions": 0, "finding": "x"}
                | {"n_targets": 200, "n_missing_a": 0, "n_missing_b": 0}
            )
    return validate(pd.DataFrame(rows), ConditionComparisons)


def test_the_table_has_a_row_per_model_and_condition(compared):
    cells = conditions.conditions(compared, Roster()).cells()
    assert cells[0][:6] == ["large", "nonce", "0.700", "0.620", "0.690–0.720", "0.590–0.620"]
    assert cells[0][6:] == ["−0.080", "−0.100 to −0.060", "0.020", "0.030", "100"]
    assert len(cells) == 4


def test_the_figure_marks_every_condition_and_its_range(compared):
    frame = conditions.condition_differences(compared, Roster())
    assert set(frame.condition) == {"main", "nonce", "western"}
    assert frame[frame.condition == "main"].difference.tolist() == [0.0, 0.0]
    shown = conditions.draw_conditions(frame).axes[0]
    ranges, marks = shown.collections[::2], shown.collections[1::2]
    assert len(ranges) == len(marks) == 3
    assert np.isclose(marks[0].get_offsets()[:, 0], [0.7, 0.6]).all()
    assert np.isclose(
        [line[:, 0] for line in ranges[0].get_segments()], [[0.69, 0.72], [0.59, 0.62]]
    ).all()
