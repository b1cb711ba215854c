"""Accuracy and bias by tuples, the rebalancing, and the reader of results, on invented trials
with answers known by hand.
"""

import bz2
import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from command_line import run
from worldprobe.benchmarks.worldsense.analysis.answers import read_series
from worldprobe.benchmarks.worldsense.analysis.questions import (
    ABSENT,
    INVALID,
    WORDS,
    read_questions,
)
from worldprobe.benchmarks.worldsense.analysis.statistics import (
    COLUMNS,
    compute_statistics,
    count_answers,
    score_tuples,
)
from worldprobe.benchmarks.worldsense.skins.vocabulary import DISGUISE, answers_of
from worldprobe.errors import UserError

CHAIN = {3: "[(0, 1),(1, 2)]", 4: "[(0, 1),(1, 2),(2, 3)]"}


def line(key: int, tuple_id: str, problem: str, gold: str, query: str, **changes) -> dict:
    size = changes.get("problemsize", 3)
    return {
        "Key": key,
        "problemname": problem,
        "tuple_ID": tuple_id,
        "text": "Some lamps are in a row.",
        "expectedresp": list(answers_of(problem)),
        "span": 1,
        "descr": CHAIN[size],
        "query": query,
        "objects": [f"lamp {n}" for n in range(size)],
        "problemsize": size,
        "skin": "trips",
        "qskin": "directQ1",
        "complexity": "Complexity_0",
        "query_len": query.count(",") + 1,
        "goldresp_obfusc": DISGUISE[gold],
    } | changes


def inference(key: int, tuple_id: str, problem: str = "Infer.normal", **changes) -> list[dict]:
    return [
        line(key, tuple_id, problem, "TRUE", "(0, 2)", **changes),
        line(key + 1, tuple_id, problem, "FALSE", "(2, 0)", **changes),
    ]


def completeness(key: int, tuple_id: str, **changes) -> list[dict]:
    partial = changes | {"descr": "[(0, 1),(0, 2)]"}
    return [
        line(key, tuple_id, "Compl.normal", "3", "(1, 2)", **partial),
        line(key + 1, tuple_id, "Compl.normal", "2", "(1, 0)", **partial),
        line(key + 2, tuple_id, "Compl.normal", "1", "(0, 1)", **partial),
    ]


TRIALS = [
    *inference(-(2**62), "a"),
    *inference(11, "b", problemsize=4),
    *inference(21, "c", problemsize=4, skin="tall/short"),
    *inference(41, "t", "Infer.trivial", skin="obj_LeftRight"),
    *completeness(31, "d", skin="rich/poor"),
]


def write(path: Path, rows: list[dict]) -> Path:
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    pack = {".bz2": bz2.compress, ".gz": gzip.compress}.get(path.suffix, bytes)
    path.write_bytes(pack(content))
    return path


def answer(
    folder: Path, answers: dict[int, str], name: str = "basic___made-up___results.jsonl"
) -> Path:
    return write(folder / name, [{"Key": key, "resp": word} for key, word in answers.items()])


@pytest.fixture
def trials(tmp_path: Path) -> Path:
    return write(tmp_path / "trials.jsonl.bz2", TRIALS)


ANSWERS = {
    -(2**62): "TRUE",
    -(2**62) + 1: "TRUE",
    11: "TRUE",
    12: "FALSE",
    21: "FALSE",
    22: "",
    31: "3",
    32: "1",
    33: "3",
}


def test_a_tuple_is_scored_by_weights_and_folding(trials: Path, tmp_path: Path) -> None:
    questions = read_questions(trials)
    [series] = read_series([answer(tmp_path, ANSWERS)], questions)
    scores = score_tuples(questions, series.answers)
    # 1 instead of 2 is right when folded, 3 instead of 1 wrong: 0.5 + 0.25.
    assert scores["accuracy"].tolist()[:3] == [0.5, 1.0, 0.0]
    assert np.isnan(scores["accuracy"][3])
    assert scores["accuracy"][4] == 0.75
    assert scores["bias"].tolist()[:3] == [1.0, 0.0, -0.5]
    assert scores["bias"][4] == -0.5 + 0.25 - 0.25
    assert scores["strict"].tolist()[:3] == [0.5, 1.0, 0.0]
    assert scores["strict"][4] == pytest.approx(1 / 3)
    assert scores["invalid"].tolist()[:3] == [0.0, 0.0, 0.5]


def test_sizes_and_then_problems_weigh_equally(trials: Path, tmp_path: Path) -> None:
    questions = read_questions(trials)
    table = compute_statistics(questions, read_series([answer(tmp_path, ANSWERS)], questions))
    assert tuple(table.columns) == COLUMNS
    released = table[(table["gold"] == "released") & (table["measure"] == "accuracy")].set_index(
        list(COLUMNS[4:10])
    )
    everything = ("all",) * 6
    infer = ("Infer.normal", *everything[1:])
    # Size 3: 0.5 from one tuple; size 4: 1 and 0. Each size counts one tuple.
    assert released.loc[infer, "mean"] == pytest.approx((0.5 + 0.5) / 2)
    assert released.loc[infer, "count"] == 2
    assert released.loc[everything, "mean"] == pytest.approx((0.5 + 0.75) / 2)
    assert ("Infer.trivial", *everything[1:]) not in released.index
    four = ("Infer.normal", "4", *everything[2:])
    assert released.loc[four, "sem"] == pytest.approx(np.std([1.0, 0.0], ddof=1) / np.sqrt(2))
    assert released.loc[four, "conf95"] == pytest.approx(
        1.96 * np.std([1.0, 0.0], ddof=1) / np.sqrt(2)
    )
    assert released.loc[("Infer.normal", "3", "Complexity_0", "bin", "all", "all"), "mean"] == 0.5
    assert released.loc[("Infer.normal", "all", "all", "all", "temporal", "all"), "count"] == 2
    assert released.loc[("all", "all", "all", "all", "all", "ood"), "mean"] == 0.75


def test_the_variance_of_merged_cells_is_that_of_their_mixture(tmp_path: Path) -> None:
    rows = [
        row
        for n in range(6)
        for row in inference(100 * n + 1, f"x{n}", problemsize=3 if n < 4 else 4)
    ]
    trials = write(tmp_path / "trials.jsonl", rows)
    right = {100 * n + 1: "TRUE" for n in range(6)} | {
        100 * n + 2: "FALSE" if n in (0, 1, 4) else "TRUE" for n in range(6)
    }
    questions = read_questions(trials)
    table = compute_statistics(questions, read_series([answer(tmp_path, right)], questions))
    row = table[
        (table["problemname"] == "Infer.normal") & (table.iloc[:, 5:10] == "all").all(axis=1)
    ].iloc[0]
    three, four = np.array([1, 1, 0.5, 0.5]), np.array([1, 0.5])
    mean = (three.mean() + four.mean()) / 2
    square = (three.var(ddof=1) + three.mean() ** 2 + four.var(ddof=1) + four.mean() ** 2) / 2
    assert row["count"] == 4
    assert row["mean"] == pytest.approx(mean)
    assert row["sem"] == pytest.approx(np.sqrt(square - mean**2) / 2)


def test_wrong_gold_answers_are_corrected_beside_the_released_ones(tmp_path: Path) -> None:
    rows = completeness(1, "d")
    rows[1] |= {"query": "(2, 1)"}  # labelled 2, in truth undecided
    questions = read_questions(write(tmp_path / "trials.jsonl.gz", rows))
    assert [WORDS[n] for n in questions.gold["released"]] == ["3", "2", "1"]
    assert [WORDS[n] for n in questions.gold["corrected"]] == ["3", "3", "1"]
    [series] = read_series([answer(tmp_path, {1: "3", 2: "3", 3: "1"})], questions)
    assert score_tuples(questions, series.answers, "released")["accuracy"][0] == 0.75
    assert score_tuples(questions, series.answers, "corrected")["accuracy"][0] == 1.0


def test_lines_in_the_plane_are_solved_from_their_text_and_have_no_domain(tmp_path: Path) -> None:
    names = ["Ash Lane", "Elm Lane", "Oak Lane"]
    text = (
        "Ash Lane is parallel to Elm Lane and Elm Lane is perpendicular to Oak Lane. Is Ash Lane {}"
        " to Oak Lane?"
    )
    rows = [
        row
        | {
            "problemname": "Infer.parallel",
            "objects": names,
            "span": None,
            "query": "(0, 1)",
            "skin": "lanes",
        }
        for row in inference(1, "p")
    ]
    rows[0]["text"], rows[1]["text"] = text.format("perpendicular"), text.format("parallel")
    questions = read_questions(write(tmp_path / "trials.jsonl", rows))
    assert [WORDS[n] for n in questions.gold["corrected"]] == ["TRUE", "FALSE"]
    [series] = read_series([answer(tmp_path, {1: "TRUE", 2: "TRUE"})], questions)
    table = compute_statistics(questions, [series])
    assert set(table["problemname"]) == {"Infer.parallel", "all"}
    assert set(table["domain"]) == {"all"}
    assert set(table["intraining"]) == {"all"}


def test_answers_join_by_key_whatever_their_order_and_part(trials: Path, tmp_path: Path) -> None:
    questions = read_questions(trials)
    shuffled = dict(reversed(list(ANSWERS.items()))) | {999: "TRUE"}
    [series] = read_series([answer(tmp_path, shuffled, "cot___a.b___results.jsonl.bz2")], questions)
    assert (series.prompting, series.model) == ("cot", "a.b")
    assert series.answers[0, 0] == WORDS.index("TRUE")
    assert series.answers[0, 5] == INVALID
    assert series.answers[0, 6] == ABSENT
    assert series.n_foreign_keys == 1
    del shuffled[12]
    counted = count_answers(questions, read_series([answer(tmp_path, shuffled)], questions)).iloc[0]
    assert (counted["trials"], counted["tuples"], counted["incomplete_tuples"]) == (8, 3, 1)
    assert (counted["invalid"], counted["reasons"], counted["not_in_set"]) == (1, "empty 1", 1)


def test_words_that_a_problem_does_not_accept_are_wrong_and_do_not_move_the_bias(
    trials: Path, tmp_path: Path
) -> None:
    questions = read_questions(trials)
    [series] = read_series([answer(tmp_path, {11: "POSSIBLE", 12: "perhaps"})], questions)
    scores = score_tuples(questions, series.answers)
    assert scores["bias"][1] == 0
    assert scores["accuracy"][1] == 0
    assert series.invalid == {"foreign": 2}


def test_answers_that_are_all_digits_are_text(tmp_path: Path) -> None:
    questions = read_questions(write(tmp_path / "trials.jsonl", completeness(1, "d")))
    as_numbers = write(
        tmp_path / "basic___numbers___results.jsonl",
        [{"Key": n, "resp": w} for n, w in ((1, 3), (2, 2), (3, 1))],
    )
    series = read_series([answer(tmp_path, {1: "3", 2: "2", 3: "1"}), as_numbers], questions)
    for one in series:
        assert score_tuples(questions, one.answers)["strict"][0] == 1


BAD = {
    "a key that occurs twice": (
        [{"Key": 11, "resp": "TRUE"}, {"Key": 11, "resp": "TRUE"}],
        "same Key",
    ),
    "no text": ([{"Key": 11, "resp": "TRUE"}, {"Key": 12, "resp": None}], "line 2"),
    "a key with decimals": ([{"Key": 1.5, "resp": "TRUE"}], "64 bits"),
    "the answers to another set": ([{"Key": 999, "resp": "TRUE"}], "no answer to a trial"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_malformed_result_file_is_refused(
    case: str, trials: Path, tmp_path: Path, capsys
) -> None:
    rows, words = BAD[case]
    bad = write(tmp_path / "basic___m___results.jsonl", rows)
    assert run(f"worldsense analyse {trials} {bad} --out {tmp_path / 'out'}") == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_malformed_trial_is_named_by_its_line(tmp_path: Path, capsys) -> None:
    rows = [*inference(1, "a"), *inference(3, "b", descr="[(0, 9)]")]
    path = write(tmp_path / "trials.jsonl", rows)
    results = answer(tmp_path, {1: "TRUE"})
    assert run(f"worldsense analyse {path} {results} --out {tmp_path / 'out'}") == 2
    assert "line 3" in capsys.readouterr().err


def test_the_command_writes_statistics_and_what_was_answered(trials: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(f"worldsense analyse {trials} {answer(tmp_path, ANSWERS)} --out {out}") == 0
    assert pd.read_csv(out / "statistics.csv").columns.tolist() == list(COLUMNS)
    assert pd.read_csv(out / "answers.csv")["tuples"].tolist() == [4]


def test_a_file_that_was_cut_short_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "trials.jsonl.bz2", TRIALS)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(UserError, match="Compressed file ended"):
        read_questions(path)
