"""The table and the figure that compare the conditions of a study."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from worldprobe.benchmarks.ewok.contracts import ConditionComparisons
from worldprobe.cli import main
from worldprobe.contracts import validate, write_table
from worldprobe.errors import UserError
from worldprobe.provenance import Provenance
from worldprobe.report.model_names import Roster


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
            rows.append(row | {"n_items_b": 500, "n_items_a": 500, "sentence": "x"})
    return validate(pd.DataFrame(rows), ConditionComparisons)


def test_the_table_has_a_row_per_model_and_condition(compared):
    from worldprobe.benchmarks.ewok.tables.accuracy import conditions

    cells = conditions(compared, Roster()).cells()
    assert cells[0] == [
        "large",
        "nonce",
        "0.700",
        "0.620",
        "0.690–0.720",
        "0.590–0.620",
        "−0.080",
        "−0.100 to −0.060",
        "0.020",
        "0.030",
        "100",
    ]
    assert len(cells) == 4


def test_the_figure_marks_every_condition_and_its_interval(compared, tmp_path):
    from worldprobe.benchmarks.ewok.figures.accuracy import conditions, draw_conditions

    frame = conditions(compared, Roster())
    assert set(frame.condition) == {"main", "nonce", "western"}
    assert frame[frame.condition == "main"].difference.tolist() == [0.0, 0.0]
    accuracy, difference = draw_conditions(frame).axes
    ranges, marks = accuracy.collections[::2], accuracy.collections[1::2]
    assert len(ranges) == len(marks) == 3
    assert np.isclose(marks[0].get_offsets()[:, 0], [0.7, 0.6]).all()
    assert np.isclose(
        [line[:, 0] for line in ranges[0].get_segments()], [[0.69, 0.72], [0.59, 0.62]]
    ).all()
    assert (
        len(difference.collections) == 4
    )  # a mark and an interval for each condition but the reference
    assert accuracy.get_xlim() == (0.45, 0.75)  # no wider than the accuracies


def test_conditions_bear_the_titles_that_the_study_gives_them(compared):
    from worldprobe.benchmarks.ewok.figures import accuracy as figure
    from worldprobe.benchmarks.ewok.tables.accuracy import conditions

    titled = Provenance(details={"titles": {"main": "Real words", "nonce": "Nonwords"}})
    frame = figure.conditions(compared, Roster(), titled)
    drawn = figure.draw_conditions(frame)
    labels = [text.get_text() for text in drawn.legends[0].get_texts()]
    assert labels[:3] == ["Real words", "Nonwords", "western"]
    shown = {
        drawn.axes[1].get_title(loc) for loc in ("left", "center", "right")
    }  # the style decides where
    assert "difference from Real words" in shown
    sheet = conditions(compared, Roster(), titled)
    assert sheet.title == "Accuracy in each condition, compared with Real words."
    assert {row[1] for row in sheet.cells()} == {"Nonwords", "western"}


def test_both_are_commands(compared, tmp_path):
    write_table(compared, ConditionComparisons, tmp_path / "conditions.parquet", Provenance())
    for kind, name in (("table", "conditions.json"), ("figure", "conditions.svg")):
        assert (
            main(
                [
                    kind,
                    "conditions",
                    str(tmp_path / "conditions.parquet"),
                    "--out",
                    str(tmp_path / name),
                ]
            )
            == 0
        )


def test_a_way_of_asking_that_was_not_compared_is_named(compared):
    from worldprobe.benchmarks.ewok.figures.accuracy import conditions

    with pytest.raises(UserError, match="was not compared"):
        conditions(compared, Roster(), eval_type="choice_free_two")
