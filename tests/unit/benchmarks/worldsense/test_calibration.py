"""Calibrated answers: what a model prefers anyway does not decide, what a text says does."""

import hashlib
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from worldprobe.benchmarks.worldsense.contracts import Responses
from worldprobe.benchmarks.worldsense.inference.ask import ask, choose_answer, usual_odds
from worldprobe.benchmarks.worldsense.inference.prompts import load_prompt_set
from worldprobe.benchmarks.worldsense.settings import TrialAsking
from worldprobe.benchmarks.worldsense.skins.vocabulary import ANSWER_OF
from worldprobe.contracts import validate
from worldprobe.inference.store import open_store
from worldprobe.models.engine import EngineFacts, Scored

SKINS = ["tall/short", "trips", "people_LeftRight"]


@pytest.fixture(scope="module")
def calibration(measurement) -> ModuleType:
    return measurement("worldsense_calibration")


@pytest.fixture(scope="module")
def trials(calibration: ModuleType) -> pd.DataFrame:
    return calibration.make_trials("test", SKINS, [3])


class Habitual:
    """A model that gives each answer a log probability of its own, plus ``knows`` nats if the
    answer is right, plus noise.

    ``nonsense`` is the answer that it knows to be right wherever the text is not one of the trials.
    """

    def __init__(
        self, habit: dict[str, float], gold: dict[str, str], knows: float, noise: float = 0.0
    ) -> None:
        self.facts = EngineFacts("habitual", None, "0", "scripted", "float32", {}, 4096, {})
        self.habit, self.gold, self.knows, self.noise = habit, gold, knows, noise
        self.nonsense = ("FALSE", "IMPOSSIBLE", "3")

    def rendered(self, prompt, chooses=False):
        return prompt

    def score(self, queries, *, skip=(), per_token=False):
        for i, query in enumerate(queries):
            if i in skip:
                continue
            if "broken" in self.habit:
                yield i, Scored(None, 1, ("not_finite",))
                continue
            text = query.context.removesuffix("\nAnswer:")
            is_right = (
                self.gold[text] == query.target
                if text in self.gold
                else query.target in self.nonsense
            )
            value = self.habit[query.target] + self.knows * (is_right if self.gold else 0)
            seed = int.from_bytes(
                hashlib.sha256(f"{text}{query.target}".encode()).digest()[:8], "big"
            )
            yield (
                i,
                Scored(
                    value + self.noise * np.random.default_rng(seed).standard_normal(),
                    len(query.target),
                ),
            )


HABITS = {
    "TRUE": -9.0,
    "FALSE": -12.0,
    "POSSIBLE": -20.0,
    "IMPOSSIBLE": -29.0,
    "1": -3.0,
    "2": -5.0,
    "3": -7.0,
}


def asked(
    trials: pd.DataFrame, engine: Habitual, folder: Path, name: str = "constrained"
) -> tuple[pd.DataFrame, dict]:
    frame, facts = ask(
        trials, engine, load_prompt_set(name), open_store(folder, engine), TrialAsking()
    )
    validate(frame, Responses)
    return trials.merge(frame, on="trial_id"), facts


def folded(answers: pd.Series) -> pd.Series:
    return answers.replace({"1": "KNOWN", "2": "KNOWN"})


def test_a_little_knowledge_outweighs_a_strong_habit(trials: pd.DataFrame, tmp_path: Path) -> None:
    gold = dict(zip(trials["text"], trials["gold"].map(ANSWER_OF), strict=True))
    rows, facts = asked(trials, Habitual(HABITS, gold, knows=1.0), tmp_path)
    is_decided = rows["problem"].str.partition(".")[0] != "Compl"
    assert (rows["answer"] == rows["gold"].map(ANSWER_OF))[is_decided].all()
    assert (folded(rows["answer"]) == folded(rows["gold"].map(ANSWER_OF))).mean() > 0.9
    assert facts["answer_tokens"]["IMPOSSIBLE"] == [10]
    assert facts["calibrated_forms"] == trials.groupby(["problem", "wording", "arity"]).ngroups
    plain, _ = asked(trials, Habitual(HABITS, gold, knows=1.0), tmp_path, "constrained_sum")
    assert set(plain["answer"]) == {"TRUE", "POSSIBLE", "1"}


@pytest.mark.parametrize("habits", [HABITS, dict.fromkeys(HABITS, -5.0)])
def test_knowledge_through_noise_has_no_bias_whatever_a_model_says_to_nonsense(
    habits: dict[str, float], trials: pd.DataFrame, calibration: ModuleType, tmp_path: Path
) -> None:
    """It rejects whatever is no trial; the halfway point must not follow."""
    gold = dict(zip(trials["text"], trials["gold"].map(ANSWER_OF), strict=True))
    rows, _ = asked(trials, Habitual(habits, gold, knows=4.0, noise=1.0), tmp_path)
    for kind, group in rows.groupby(rows["problem"].str.partition(".")[0]):
        accuracy, bias = calibration.score(group["answer"], group["gold"].map(ANSWER_OF))
        # A habit that sets 1 and 2 two nats apart takes that much from what is known of one of
        # them.
        is_narrow = kind == "Compl" and habits is HABITS
        assert accuracy > (0.9 if is_narrow else 0.97), kind
        assert abs(bias) < (0.15 if is_narrow else 0.05), kind


def test_a_lean_of_some_trials_stays_in_the_bias(
    trials: pd.DataFrame, calibration: ModuleType, tmp_path: Path
) -> None:
    """A model that overlooks half of the contradictions says POSSIBLE too often, and
    calibration leaves that so.
    """
    gold = dict(zip(trials["text"], trials["gold"].map(ANSWER_OF), strict=True))
    seen = {
        text: "POSSIBLE" if len(text) % 2 and right == "IMPOSSIBLE" else right
        for text, right in gold.items()
    }
    rows, _ = asked(trials, Habitual(dict.fromkeys(HABITS, -5.0), seen, knows=4.0), tmp_path)
    group = rows[rows["problem"].str.startswith("Consist")]
    said = group["text"].map(seen)
    assert (group["answer"] == said).all()
    assert calibration.score(group["answer"], group["gold"].map(ANSWER_OF))[1] > 0.3


def test_the_usual_odds_of_a_tuple_are_halfway_whichever_answer_it_has_twice() -> None:
    known, unknown = np.array([2.0, 0.3]), np.array([-1.0, 0.3])
    assert (
        usual_odds([[known, known, unknown]]).tolist()
        == usual_odds([[known, unknown, unknown]]).tolist()
        == [0.5, 0.3]
    )


@pytest.mark.parametrize("number", [0.1, 1 / 3, -7.7])
def test_habit_without_knowledge_leaves_ties_which_are_counted(
    number: float, trials: pd.DataFrame, tmp_path: Path
) -> None:
    rows, facts = asked(
        trials, Habitual({name: -9.0 + number * len(name) for name in HABITS}, {}, 0.0), tmp_path
    )
    assert set(rows["status"]) == {"invalid"}
    assert facts["near_ties"]["trials"] == len(rows)


def test_what_a_model_cannot_compute_has_a_status(trials: pd.DataFrame, tmp_path: Path) -> None:
    rows, facts = asked(trials, Habitual({"broken": 0.0}, {}, 0.0), tmp_path)
    assert set(rows["status"]) == {"not_finite"}
    assert facts["status"] == {"not_finite": len(trials)}


@pytest.mark.parametrize(
    ("logprobs", "usual", "answer", "margin"),
    [
        ([-1.0, -3.0], [0.0], 0, 2.0),
        ([-1.0, -3.0], [5.0], 1, 3.0),
        ([-2.0, -2.0, -2.0], [0.0, 0.0], 0, 0.0),
        ([-2.0, -3.0, -4.0], [0.0, 0.0], 0, 1.0),
        ([-2.0, -3.0, -4.0], [0.0, 4.0], 1, np.log(np.exp(-2) + np.exp(-3)) + 4),
        ([-2.0, -3.0, -4.0], [9.0, 0.0], 2, 9 - np.log(np.exp(-2) + np.exp(-3)) - 4),
    ],
)
def test_the_answer_is_what_a_text_adds_to_the_usual_odds(
    logprobs: list[float], usual: list[float], answer: int, margin: float
) -> None:
    found, behind = choose_answer(logprobs, np.array(usual))
    assert (found, behind) == (answer, pytest.approx(margin))
