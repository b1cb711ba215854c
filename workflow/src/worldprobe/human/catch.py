"""Catch trials: the scenario itself says what to answer, so anyone who reads can pass."""

from __future__ import annotations

import numpy as np
import pandas as pd

from worldprobe.human.contracts import ANSWERS

#: No memory is needed, nothing is hidden, and no opinion is asked: what Prolific requires of an attention check.
_TEXTS = {
    "likert": "This is not a scenario but a check that you are reading. Please answer with {answer}.",
    "choice": "This is not a scenario but a check that you are reading. Please choose context {answer}.",
}
#: Shown in place of the contexts of a Choice trial.
_CONTEXT = "Please read the scenario."


def write_catch_trials(eval_type: str) -> pd.DataFrame:
    """A catch trial for each answer, in the order of the answers.

    Args:
        eval_type: likert or choice.
    """
    answers = list(ANSWERS[eval_type])
    return pd.DataFrame(
        {
            "question": [f"catch-{eval_type}-{answer}" for answer in answers],
            "kind": "catch",
            "eval_type": eval_type,
            "domain": None,
            "version": -1,
            "first_context": _CONTEXT if eval_type == "choice" else None,
            "second_context": _CONTEXT if eval_type == "choice" else None,
            "target": [_TEXTS[eval_type].format(answer=answer) for answer in answers],
        }
    )


def add_catch_trials(tests: np.ndarray, catch: np.ndarray, n_catch: int, random: np.random.Generator) -> np.ndarray:
    """A list's trials with catch trials at spread positions, each asking for another answer as far as there are others.

    Args:
        tests: numbers of the list's test trials.
        catch: numbers of the catch trials, one for each answer.
        n_catch: catch trials to add.
        random: draws which answers they ask for.
    """
    turns = [number for _ in range(-(-n_catch // len(catch))) for number in random.permutation(catch)][:n_catch]
    places = (np.arange(1, n_catch + 1) * len(tests)) // (n_catch + 1)
    return np.insert(tests, places, turns)


def key_of_catch_trials(questions: pd.Series) -> pd.DataFrame:
    """Rows of contracts.ListKeys for the catch trials among these questions."""
    names = sorted({name for name in questions if name.startswith("catch-")})
    return pd.DataFrame(
        {
            "question": names,
            "kind": "catch",
            "eval_type": [name.split("-")[1] for name in names],
            "item_id": "",
            "target": 0,
            "context": 0,
            "unit": "",
            "expected": [int(name.split("-")[2]) for name in names],
        }
    ).astype({"expected": "int64"})  # also where there are none
