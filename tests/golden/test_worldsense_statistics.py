"""The released responses give every number of the paper's Tables 2, 6, 10 and 11, at full precision
and as printed.

Read at run time from outside the repository, never quoted.
"""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from worldprobe.benchmarks.worldsense.analysis.answers import AnswerSeries, read_series
from worldprobe.benchmarks.worldsense.analysis.questions import Questions, read_questions
from worldprobe.benchmarks.worldsense.analysis.statistics import compute_statistics

GROUPS = ["model", "problemname", "problemsize", "complexity", "query", "domain", "intraining"]


@pytest.fixture(scope="module")
def expected(worldsense_release: Path) -> dict[str, Any]:
    return json.loads((worldsense_release / "expected.json").read_text())


@pytest.fixture(scope="module")
def questions(worldsense_release: Path) -> Questions:
    return read_questions(worldsense_release / "test_set" / "trials.jsonl.bz2")


@pytest.fixture(scope="module")
def series(worldsense_release: Path, questions: Questions) -> list[AnswerSeries]:
    return read_series(
        sorted((worldsense_release / "test_set" / "results").glob("*.bz2")), questions
    )


@pytest.fixture(scope="module")
def statistics(questions: Questions, series: list[AnswerSeries]) -> pd.DataFrame:
    return compute_statistics(questions, series)


def cells(
    expected: dict[str, Any],
) -> list[tuple[str, tuple[str, ...], dict[str, Any], dict[str, str]]]:
    """Measure, group, numbers, and what is printed of them."""
    found = []

    def add(
        measure: str,
        numbers: dict[str, Any],
        printed: dict[str, str] | None = None,
        **group: object,
    ) -> None:
        key = tuple(str(group.get(name, "all")) for name in GROUPS)
        found.append((measure, key, numbers, printed or numbers.get("printed", {})))

    for model, numbers in expected["overall"].items():
        add("accuracy", numbers["accuracy"], numbers["printed_accuracy"], model=model)
        add("bias", numbers["bias"], model=model)
    for measure, models in expected["table6"].items():
        for model, problems in models.items():
            for problem, numbers in problems.items():
                add(measure, numbers, model=model, problemname=problem)
    for row in (*expected["by_problem_size"], *expected["table10"], *expected["table11"]):
        group = {name: row[name] for name in GROUPS if name in row}
        if group["problemname"] == "Avg":
            del group["problemname"]
        add("accuracy", row, **group)
    return found


@pytest.mark.long
def test_every_expected_number_comes_out_to_twelve_places(
    statistics: pd.DataFrame, expected: dict[str, Any]
) -> None:
    released = statistics[statistics["gold"] == "released"].set_index(["measure", *GROUPS])
    assert released.index.is_unique
    wanted = cells(expected)
    assert len(wanted) == 6 + 36 + 54 + 198 + 63
    for measure, key, numbers, _ in wanted:
        ours = released.loc[(measure, *key)]
        for column in ("mean", "sem", "conf95", "count"):
            if column in numbers:
                assert abs(ours[column] - numbers[column]) < 1e-12, (measure, key, column)


@pytest.mark.long
def test_every_printed_digit_of_four_tables_comes_out(
    statistics: pd.DataFrame, expected: dict[str, Any]
) -> None:
    released = statistics[statistics["gold"] == "released"].set_index(["measure", *GROUPS])
    n_printed = 0
    for measure, key, _, printed in cells(expected):
        for column, digits in printed.items():
            value = released.loc[(measure, *key), column]
            n_printed += 1
            assert (f"{100 * value:.1f}" if measure == "accuracy" else f"{value:.2f}") == digits, (
                measure,
                key,
                column,
            )
    assert n_printed == 594 + 6  # Tables 6, 10 and 11; Table 2


@pytest.mark.long
def test_corrected_gold_answers_move_one_problem_only(
    statistics: pd.DataFrame, questions: Questions, series: list[AnswerSeries]
) -> None:
    assert int((questions.gold["released"] != questions.gold["corrected"]).sum()) == 564
    by_problem = statistics[
        (statistics["measure"] == "accuracy") & (statistics.iloc[:, 5:10] == "all").all(axis=1)
    ]
    means = by_problem.pivot_table(index=["model", "problemname"], columns="gold", values="mean")
    moved = means[(means["released"] - means["corrected"]).abs() > 1e-12].index.get_level_values(
        "problemname"
    )
    assert set(moved) == {"Compl.normal", "all"}
    assert [sum(one.invalid.values()) for one in series] == [0, 0, 15]
