"""A contract's rules are read from its class, and every one of them is kept when rows are
checked.
"""

from __future__ import annotations

import importlib
import re

import pandas as pd
import pyarrow as arrow
import pytest

from worldprobe.contracts import (
    ContractError,
    Table,
    column,
    read_table,
    read_tables,
    validate,
    write_table,
)
from worldprobe.provenance import Provenance


class Visits(Table, name="visits", version=1, key=["visit"]):
    """A row per visit."""

    visit: int = column(ge=1, le=9)
    place: str = column(min_length=2, str_matches=r"^[a-z]+$")
    kind: str = column(isin=("short", "long"))
    path: str = column(str_startswith="[", nullable=True)
    length: float = column(gt=0, nullable=True)
    people: int = column(nullable=True)
    is_first: bool


def visits(**changes: list) -> pd.DataFrame:
    columns = {
        "is_first": [True, False],
        "visit": [2, 1],
        "place": ["lake", "hill"],
        "kind": ["short", "long"],
        "path": ["[1]", None],
        "length": [0.5, None],
        "people": pd.array([None, 3], "Int64"),
    }
    return pd.DataFrame(
        {name: values for name, values in (columns | changes).items() if values is not None}
    )


def test_rows_come_back_in_order_with_their_types(tmp_path):
    write_table(visits(), Visits, tmp_path / "t.parquet", Provenance())
    found = read_table(tmp_path / "t.parquet", Visits)
    assert (
        list(found.columns)
        == list(Visits.columns)
        == ["visit", "place", "kind", "path", "length", "people", "is_first"]
    )
    assert found.visit.tolist() == [1, 2]
    assert found.people.tolist() == [3, pd.NA]
    pd.testing.assert_frame_equal(found, validate(visits(), Visits))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"visit": [0, 1]}, 'column "visit": 0 is not at least 1'),
        ({"visit": [10, 1]}, 'column "visit": 10 is not at most 9'),
        ({"visit": [1, 1]}, "1 rows are repeated, the first with visit 1"),
        ({"visit": [1.0, 2.0]}, 'column "visit" contains double instead of whole numbers'),
        ({"place": ["x", "hill"]}, "column \"place\": 'x' has fewer than 2 characters"),
        ({"place": ["Lake", "hill"]}, "column \"place\": 'Lake' does not have the expected form"),
        ({"place": ["lake", None]}, 'column "place" has no value in 1 rows'),
        ({"place": [3, "hill"]}, "visits: "),
        ({"place": pd.Categorical(["lake", "hill"])}, 'column "place" contains categories'),
        ({"kind": ["short", "wide"]}, "column \"kind\": 'wide' is not one of 'short', 'long'"),
        ({"path": ["1]", None]}, "column \"path\": '1]' does not start with '['"),
        ({"length": [0.0, 1.0]}, 'column "length": 0.0 is not more than 0'),
        ({"length": [float("inf"), 1.0]}, 'column "length": inf is not a finite number'),
        ({"is_first": [0, 1]}, 'column "is_first" contains int64 instead of true or false'),
        ({"surplus": [1, 2]}, 'a column "surplus" that does not belong to the table'),
        ({"kind": None}, 'lacks the column "kind"'),
    ],
)
def test_a_row_that_breaks_a_rule_is_refused_and_the_rule_named(changes, words):
    with pytest.raises(ContractError) as caught:
        validate(visits(**changes), Visits)
    assert words in str(caught.value)


def test_a_column_of_an_unknown_type_is_a_mistake_in_the_contract():
    with pytest.raises(TypeError, match=r"Days\.day has none of the types"):

        class Days(Table):
            day: date  # noqa: F821


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_table_without_a_value_in_a_column_hides_no_values_of_another(tmp_path, order):
    paths = [tmp_path / "without.parquet", tmp_path / "with.parquet"]
    nothing = {"path": [None, None], "length": [None, None], "people": [None, None]}
    write_table(visits(**nothing), Visits, paths[0], Provenance())
    write_table(
        visits(visit=[3, 4], path=["[3]", "[4]"], length=[3.0, 4.0], people=[3, 4]),
        Visits,
        paths[1],
        Provenance(),
    )
    found = read_tables([paths[number] for number in order], Visits).set_index("visit").loc[[3, 4]]
    assert found.path.tolist() == ["[3]", "[4]"]
    assert found.length.tolist() == [3.0, 4.0]
    assert found.people.tolist() == [3, 4]


def test_a_column_of_numbers_without_a_value_keeps_its_type(tmp_path):
    write_table(
        visits(length=[None, None], people=[None, None]),
        Visits,
        tmp_path / "t.parquet",
        Provenance(),
    )
    found = read_table(tmp_path / "t.parquet", Visits)
    assert (found.length.dtype, found.people.dtype) == ("float64", "Int64")


class Weights(Table, name="weights", version=1, key=["weight"]):
    """A column that lacks no value."""

    weight: float


def test_a_number_that_is_none_is_a_missing_value_however_it_is_kept():
    kept = pd.arrays.ArrowExtensionArray(arrow.array([float("nan"), 1.0]))
    for values in ([float("nan"), 1.0], [None, 1.0], kept):
        with pytest.raises(ContractError, match="has no value in 1 rows"):
            validate(pd.DataFrame({"weight": values}), Weights)


def test_every_p_has_the_smallest_difference_that_its_test_finds_next_to_it_and_every_interval_says_over_what_it_is():
    for package in (
        "worldprobe.benchmarks.ewok",
        "worldprobe.benchmarks.worldsense",
        "worldprobe_lab",
        "worldprobe_training",
    ):
        importlib.import_module(f"{package}.contracts")
    known = descendants(Table)
    assert sum("p" in one.columns for one in known) >= 5
    assert [
        one.Config.name for one in known if "p" in one.columns and "detectable" not in one.columns
    ] == []
    with_interval = [
        one for one in known if "ci_low" in one.columns and "interval_over" not in one.columns
    ]
    assert len(with_interval) >= 5
    said = {one.Config.name: one.columns["ci_low"].description for one in with_interval}
    assert [
        name
        for name, text in said.items()
        if not re.search(r"for other|drawn again|over (what|pairs)", text)
    ] == []


def descendants(kind: type[Table]) -> list[type[Table]]:
    """Our tables that are of this kind."""
    found = [one for one in kind.__subclasses__() if one.__module__.startswith("worldprobe")]
    return [*found, *(further for one in found for further in descendants(one))]
