"""Consistency, against models whose consistency is known."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from generated_trials import make_trials, other_answers
from worldprobe.benchmarks.worldsense.analysis.answers import AnswerSeries
from worldprobe.benchmarks.worldsense.analysis.questions import (
    INVALID,
    WORDS,
    Questions,
    add_properties,
    from_frame,
)
from worldprobe_lab.consistency import FEWEST, _over_problems, measure_consistency


@pytest.fixture(scope="module")
def questions() -> Questions:
    trials = make_trials("test", sizes=[3, 4], per_cell=2)
    return add_properties(from_frame(trials, "test"), trials)


def consistency_of(questions: Questions, answers: np.ndarray) -> pd.DataFrame:
    found = measure_consistency(
        "test", questions, AnswerSeries("basic", "m", answers.astype(np.int8)[None], {}), n_draws=50
    )
    return found.set_index(["group", "metric"])


def test_answers_that_depend_on_the_abstract_problem_alone_are_consistent_beyond_accuracy(
    questions: Questions,
) -> None:
    rng = np.random.default_rng(0)
    is_right = rng.random(int(questions.abstract.max()) + 1)[questions.abstract] < 0.6
    gold = questions.gold["released"]
    found = consistency_of(questions, np.where(is_right, gold, other_answers(gold)))
    for problem in ("Infer.normal", "Compl.normal"):
        assert found.loc[(problem, "consistency"), "mean"] == pytest.approx(1)
        assert found.loc[(problem, "explained"), "ci_high"] < 0.7


def test_a_model_that_is_right_by_chance_alone_has_no_consistency_beyond_its_accuracy(
    questions: Questions,
) -> None:
    rng = np.random.default_rng(1)
    gold = questions.gold["released"]
    found = consistency_of(
        questions,
        np.where(rng.random(len(gold)) < 0.85, gold, other_answers(gold)),
    )
    row, null = found.loc[("Infer.normal", "consistency")], found.loc[("Infer.normal", "explained")]
    assert row["mean"] > 0.3  # it is right in most trials, and so agrees with itself
    assert row["ci_low"] <= null["mean"] <= row["ci_high"]


def test_the_mean_over_problems_has_no_interval_where_a_problem_has_none() -> None:
    basis = {"metric": "consistency", "n": 100, "ci_low": np.nan, "ci_high": np.nan}
    known = basis | {"mean": 0.2, "sem": 0.1, "n_clusters": 6, "status": "ok"}
    for sem in (0.0, np.nan):
        (found,) = _over_problems(
            [known, basis | {"mean": 1.0, "sem": sem, "n_clusters": 2, "status": "no_spread"}],
            np.zeros((2, 3)),
        )
        assert found["mean"] == pytest.approx(0.6)
        assert found["status"] == "no_spread"
        assert pd.isna([found["sem"], found.get("ci_low"), found.get("ci_high")]).all()


def test_invalid_answers_never_agree_and_one_answer_throughout_is_no_consistency(
    questions: Questions,
) -> None:
    nothing = consistency_of(questions, np.full(len(questions.trial_id), INVALID))
    assert nothing.loc[("Infer.normal", "agreement"), "mean"] == 0
    assert nothing.loc[("Infer.normal", "consistency"), "mean"] == 0
    kinds = questions.tuples["problem"].astype(str).str[:3].to_numpy()[questions.tuple_of]
    first = np.array(
        [WORDS.index({"Inf": "TRUE", "Con": "POSSIBLE", "Com": "1"}[kind]) for kind in kinds]
    )
    always = consistency_of(questions, first)
    assert always.loc[("Infer.normal", "consistency"), "status"] == "one_answer"
    assert always.xs("consistency", level="metric")["mean"].isna().all()


def test_one_odd_answer_in_the_only_pair_is_too_few_to_say_anything(questions: Questions) -> None:
    """Few pairs have no number, and an average that lacks a problem is missing rather than of
    the others.
    """
    number, places = np.unique(questions.abstract, return_inverse=True)
    apart = np.arange(len(questions.abstract)) + len(number)
    problem = questions.tuples["problem"].astype(str).to_numpy()[questions.tuple_of]
    few = replace(questions, abstract=np.where(problem == "Infer.normal", apart, places))
    pair = np.flatnonzero(problem == "Infer.normal")[[0, -1]]
    few.abstract[pair] = few.abstract[pair[0]]
    answers = np.random.default_rng(0).permutation(questions.gold["released"])
    found = consistency_of(few, answers)
    assert found.loc[("Infer.normal", "consistency"), "status"] in ("too_few_pairs",)
    assert found.loc[("Infer.normal", "consistency"), "n"] < FEWEST
    assert found.loc[("all", "consistency"), "status"] == "missing_problem"
    assert np.isnan(found.loc[("all", "consistency"), "mean"])
    means = found["mean"].dropna()
    assert means.between(-1, 1).all()
