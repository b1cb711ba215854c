"""Counts of who took part: complete, and in cells in which nobody can be recognised."""

from __future__ import annotations

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from worldprobe.contracts import validate
from worldprobe_survey.cleaning import FEWEST, MERGED, UNKNOWN, count_people, merge_small
from worldprobe_survey.contracts import PeopleCounts
from worldprobe_survey.displays import human_people

ATTRIBUTES = ("age", "gender", "country", "first_language")


def people_of(n: int, **given: list[object]) -> pd.DataFrame:
    known = {name: given.get(name, [None] * n) for name in ATTRIBUTES}
    return pd.DataFrame({"participant": [f"p{k:015d}" for k in range(n)]} | known)


@given(st.dictionaries(st.text(min_size=1, max_size=3), st.integers(1, 30), max_size=8))
def test_no_count_is_small_and_nobody_is_lost(counts: dict[str, int]) -> None:
    merged = merge_small(counts)
    assert sum(merged.values()) == sum(counts.values())
    assert all(n >= FEWEST for n in merged.values()) or sum(counts.values()) < FEWEST


def test_every_question_counts_all_people_also_those_without_an_answer() -> None:
    people = people_of(
        12,
        age=[25.0] * 6 + [64.0] * 5 + [33.0],
        gender=["woman"] * 11 + [None],
        country=["Chile"] * 12,
    )
    more = [*people["participant"], "x" * 16]  # one whose row is missing
    counts = validate(count_people(more, people), PeopleCounts)
    assert counts.groupby("attribute")["n"].sum().to_dict() == dict.fromkeys(ATTRIBUTES, 13)
    found = counts.set_index(["attribute", "answer"])["n"].to_dict()
    assert found["age", "18-29"] == 6
    # One of 33 and one unknown are two; the five of 60 and over join them, for they would be found
    # by subtraction.
    assert found["age", MERGED] == 7
    assert found["gender", MERGED] == 13
    assert found["country", MERGED] == 13
    assert found["first_language", UNKNOWN] == 13


def test_typed_answers_that_differ_in_case_or_blanks_are_one() -> None:
    countries = (
        ["Chile"] * 4 + ["chile "] * 3 + ["CHILE"] + ["New  Zealand"] * 2 + ["New Zealand"] * 3
    )
    people = people_of(13, country=countries)
    counts = count_people(people["participant"], people).query("attribute == 'country'")
    assert counts.set_index("answer")["n"].to_dict() == {"Chile": 8, "New Zealand": 5}


def test_an_answer_that_is_called_as_the_merged_ones_does_not_lose_them() -> None:
    assert merge_small({"a": 20, MERGED: 7, "b": 2}) == {"a": 20, MERGED: 9}
    people = people_of(14, country=["Other Answers"] * 6 + ["Not said"] * 7 + [None])
    counts = count_people(people["participant"], people).query("attribute == 'country'")
    assert counts.set_index("answer")["n"].to_dict() == {UNKNOWN: 8, MERGED: 6}


def test_only_people_who_count_are_counted_and_no_table_means_no_answers() -> None:
    people = people_of(20, country=["Peru"] * 10 + ["Chile"] * 10)
    assert count_people(people["participant"][:10], people).query("attribute == 'country'")[
        "n"
    ].tolist() == [10]
    counts = count_people(people["participant"], None)
    assert set(counts["answer"]) == {UNKNOWN}
    assert counts["n"].tolist() == [20] * 4


def test_the_table_of_people_has_ages_in_order_and_the_rest_by_frequency() -> None:
    people = people_of(
        30,
        age=[70.0] * 10 + [20.0] * 15 + [45.0] * 5,
        gender=["man"] * 9 + ["woman"] * 15 + [None] * 6,
    )
    sheet = human_people(count_people(people["participant"], people))
    shown = sheet.frame[["attribute", "answer"]].to_records(index=False).tolist()
    assert shown[:6] == [
        ("age", "18-29"),
        ("age", "40-49"),
        ("age", "60 and over"),
        ("gender", "woman"),
        ("gender", "man"),
        ("gender", UNKNOWN),
    ]
    assert "50.0%" in sheet.to_markdown()
    assert "fewer than 5" in sheet.to_markdown()
