"""From items to human accuracy, through the survey itself: lists, people over HTTP, export,
cleaning, accuracy.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from worldprobe.benchmarks.ewok.contracts import Items, Judgements, Ratings
from worldprobe.cli import main
from worldprobe.contracts import read_provenance, read_table, write_table
from worldprobe_survey.contracts import HumanStatistics, ListKeys, Raters, StudyLists
from worldprobe_survey.server_cli import _read_questionnaire

N_ITEMS, N_PEOPLE = 12, 24


def run(*words: object) -> None:
    assert main([str(word) for word in words]) == 0, words


@pytest.mark.long
def test_people_who_know_the_world_score_one_and_who_says_the_opposite_is_left_out(
    make_lab: Callable[..., Any], tmp_path: Path
) -> None:
    items, lists, key = (tmp_path / f"{name}.parquet" for name in ("items", "lists", "key"))
    run("items", "build", "builtin", "--versions", "0", "--out", tmp_path / "all.parquet")
    every = read_table(tmp_path / "all.parquet", Items)
    write_table(
        every.iloc[:: len(every) // N_ITEMS][:N_ITEMS],
        Items,
        items,
        read_provenance(tmp_path / "all.parquet"),
    )
    run("human", "lists", items, "--shortest", 3, "--catch", 1, "--key-out", key, "--out", lists)
    questionnaire = _read_questionnaire(lists, "ewok")
    right = read_table(key, ListKeys).set_index("question")["expected"].to_dict()
    right_of = {
        (
            *(text for text in (row.first_context, row.second_context) if isinstance(text, str)),
            row.target,
        ): right[row.question]
        for row in read_table(lists, StudyLists).itertuples()
    }
    lab = make_lab(questionnaire, break_every=0, ratings_per_item=6)
    for number in range(N_PEOPLE):
        person = lab.person(number)
        person.begin()
        trial = person.trial()
        while trial["state"] == "trial":
            wanted = right_of.get((*trial["contexts"], trial["target"]), 3)  # 3: practice
            is_catch = not trial["contexts"]
            trial = person.answer(trial, wanted if number or is_catch else 6 - wanted).json()
        assert trial["state"] == "complete"
    export, ratings, answers, raters = (
        tmp_path / "export",
        tmp_path / "r.parquet",
        tmp_path / "a.parquet",
        tmp_path / "p.parquet",
    )
    run("human", "export", lab.folder, "--out", export)
    outputs = f"--out {ratings} --answers-out {answers} --raters-out {raters}".split()
    run(
        "human", "clean", export, "--key", key, "--skip", "too_fast", *outputs
    )  # a test answers faster than people read
    assert read_table(raters, Raters)["excluded_by"].value_counts().to_dict() == {
        "": N_PEOPLE - 1,
        "isc": 1,
    }
    rated = read_table(ratings, Ratings)
    assert len(rated) == 4 * N_ITEMS
    assert (
        rated["rating"] == rated["context"].eq(rated["target"]).map({True: 5.0, False: 1.0})
    ).all()
    assert rated["n_raters"].between(5, 6).all()
    run(
        "human",
        "agreement",
        items,
        answers,
        "--key",
        key,
        "--draws",
        20,
        "--out",
        tmp_path / "h.parquet",
    )
    people = read_table(tmp_path / "h.parquet", HumanStatistics)
    assert (people.query("quantity == 'accuracy' and grouping == 'overall'")["value"] == 1.0).all()
    run("judge", items, ratings, "--out", tmp_path / "j.parquet")
    judged = read_table(tmp_path / "j.parquet", Judgements)
    assert len(judged) == 2 * N_ITEMS
    assert (judged["accuracy"] == 1.0).all()
    others = tmp_path / "others.parquet"  # of the same ids
    table = read_table(items, Items)
    write_table(
        table.assign(context1=table["context2"], context2=table["context1"]),
        Items,
        others,
        read_provenance(items),
    )
    for command in (
        ["judge", others, ratings],
        f"human agreement {others} {answers} --key {key}".split(),
    ):
        assert main([*map(str, command), "--out", str(tmp_path / "x.parquet")]) == 2, (
            "people answered about other items"
        )
    assert not (tmp_path / "x.parquet").exists()
