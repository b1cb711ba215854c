"""inspect_evals' own functions next to ours, on the released responses and on random ones; skipped
where it is not installed.

They weigh a trial by the answer that was given, the paper by the right one, which is the same
except in Compl's tuples. There, their accuracy is ours when they are told the right answer. They
leave unreadable answers out; only readable ones are compared.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

REASON = "inspect_evals is not installed (envs/requirements-inspect.txt)"
peer = pytest.importorskip("inspect_evals.worldsense._utils", reason=REASON)

from inspect_ai.scorer import Score  # noqa: E402

from worldprobe.benchmarks.worldsense.analysis.answers import Series, read_series  # noqa: E402
from worldprobe.benchmarks.worldsense.analysis.questions import (  # noqa: E402
    TYPES,
    WORDS,
    Questions,
    read_questions,
)
from worldprobe.benchmarks.worldsense.analysis.statistics import (  # noqa: E402
    FOLDED,
    compute_statistics,
)
from worldprobe.benchmarks.worldsense.skins.vocabulary import ANSWERS, problem_type  # noqa: E402

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(reference: Path) -> Path:
    found = reference / "worldsense" / "test_set"
    if not (found / "results").is_dir():
        pytest.skip(
            "the released WorldSense responses are not among the reference data; their licence"
            " keeps them out"
        )
    return found


@pytest.fixture(scope="module")
def questions(folder: Path) -> Questions:
    return read_questions(folder / "trials.jsonl.bz2")


def columns(questions: Questions) -> pd.DataFrame:
    """What a score's metadata says of its trial."""
    tuples = questions.tuples[["tuple_id", "problem", "size"]].astype({"problem": str})
    named = tuples.rename(
        columns={"tuple_id": "tuple_ID", "problem": "problemname", "size": "problemsize"}
    )
    return named.iloc[questions.tuple_of].reset_index(drop=True)


def theirs(
    questions: Questions, right: np.ndarray, said: np.ndarray, of: np.ndarray
) -> tuple[float, float]:
    """Their accuracy and bias of trials, given correctness and the answer that each is weighed
    by.
    """
    words = np.array(WORDS)[said[of]].tolist()
    facts = columns(questions)[of].to_dict("records")
    scores = [
        Score(value=float(v), answer=w, metadata=m)
        for v, w, m in zip(right[of], words, facts, strict=True)
    ]
    grouped = peer.preprocess_scores(scores)
    return peer.compute_accuracy(grouped), peer.compute_bias(grouped)


def check(questions: Questions, one: Series) -> None:
    """Compare by type of problem, and by problem for Compl."""
    statistics = compute_statistics(questions, [one])
    fixed = ["problemsize", "complexity", "query", "domain", "intraining"]
    mine = statistics[(statistics["gold"] == "released") & (statistics[fixed] == "all").all(axis=1)]
    ours = mine.set_index(["measure", "problemname"])["mean"]
    gold, answers = questions.gold["released"], one.answers[0]
    assert (answers >= 0).all()
    right = FOLDED[answers] == FOLDED[gold]
    problem = columns(questions)["problemname"].to_numpy()
    for name in np.unique(problem):
        here = problem == name
        if problem_type(name) == "Compl":
            assert theirs(questions, right, gold, here)[0] == pytest.approx(
                ours["accuracy", name], abs=1e-12
            )
        else:
            expected = (ours["accuracy", name], ours["bias", name])
            assert theirs(questions, right, answers, here) == pytest.approx(expected, abs=1e-12)
    everything = np.ones(len(gold), bool)
    assert theirs(questions, right, gold, everything)[0] == pytest.approx(
        ours["accuracy", "all"], abs=1e-12
    )


def readable(questions: Questions, answers: np.ndarray) -> np.ndarray:
    """The answers, an accepted one for every trial that has none."""
    first = {kind: WORDS.index(ANSWERS[kind][0]) for kind in TYPES}
    instead = (
        questions.tuples["problem"]
        .astype(str)
        .map(lambda name: first[problem_type(name)])
        .to_numpy()
    )
    return np.where(answers >= 0, answers, instead[questions.tuple_of])


def test_accuracy_and_bias_of_the_released_responses_are_inspect_evals(
    questions: Questions, folder: Path
) -> None:
    [one, *_] = read_series(sorted((folder / "results").glob("*.bz2")), questions)
    check(questions, Series(one.prompting, one.model, readable(questions, one.answers), {}))


def test_accuracy_and_bias_of_random_responses_are_inspect_evals(questions: Questions) -> None:
    rng = np.random.default_rng(0)
    kinds = questions.tuples["problem"].astype(str).map(problem_type).to_numpy()[questions.tuple_of]
    answers = np.zeros((1, len(kinds)), np.int8)
    for kind in TYPES:
        options = [WORDS.index(word) for word in ANSWERS[kind]]
        answers[0, kinds == kind] = rng.choice(options, int((kinds == kind).sum()))
    check(questions, Series("random", "random", answers, {}))
