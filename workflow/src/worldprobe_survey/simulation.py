"""People with known noise who answer lists, in the form of an export: what is estimated can be
compared with the truth.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from worldprobe_survey.contracts import ANSWERS
from worldprobe_survey.lists import Export
from worldprobe_survey.study_settings import Simulation

#: good: the expected answer, but for a share (noise) of guesses; reversed: the scale upside down;
#: random: always guesses; constant: one answer for all; straight_liner: one answer for a dozen
#: trials, then another; fast: guesses in no time.
KINDS = ("good", "reversed", "random", "constant", "straight_liner", "fast")
#: Those who read what they are asked.
_READERS = ("good", "reversed")
#: Of those, the share of catch trials that they pass.
_PASSED = 0.98
_DAY = "2026-01-01"
#: In place of the digest of a survey's settings and words.
_DESIGN = "0" * 64
_GENDERS = ("woman", "man", "non-binary", None)
_LANGUAGES = ("English", "Spanish", None)


def simulate(
    trials: pd.DataFrame, key: pd.DataFrame, lists_digest: str, crowd: Simulation
) -> tuple[Export, pd.DataFrame]:
    """Everybody answers a list.

    Args:
        trials: contracts.StudyLists.
        key: contracts.ListKeys, which the people know, as far as they are good.
        lists_digest: of the lists.
        crowd: who takes part.

    Returns:
        The export, and what nobody knows of real people: participant, list, kind, has_left.
    """
    random = np.random.default_rng([crowd.seed, 14])
    people = _draw_people(sorted(trials["list"].unique()), crowd, random)
    ordered = trials.sort_values(["list", "position"])
    rows = (
        people.merge(ordered, on="list")
        .sort_values(["participant", "position"])
        .reset_index(drop=True)
    )
    rows["answer"] = _draw_answers(rows, key, crowd, random)
    fast = rows["person_kind"] == "fast"
    rows["rt_ms"] = np.round(
        np.exp(random.normal(np.where(fast, np.log(300), np.log(8000)), np.where(fast, 0.2, 0.5)))
    )
    rows["presented"] = rows["position"]
    if crowd.abandon:
        length = rows.groupby("participant")["position"].transform("max")
        rows = rows[
            ~rows["has_left"] | (rows["position"] <= np.floor(rows["left_at"] * length))
        ].reset_index(drop=True)
    raw = pd.DataFrame(
        {
            "participant": rows["participant"],
            "session": 1,
            "list": rows["list"],
            "position": rows["position"],
            "presented": rows["presented"],
            "question": rows["question"],
            "kind": rows["kind"],
            "eval_type": rows["eval_type"],
            "response": rows["answer"].astype(str),
            "rt_ms": rows["rt_ms"],
            "is_resumed": False,
            "n_blurs": 0,
            "lists_digest": lists_digest,
        }
    )
    return (
        Export(
            raw, _sessions(people, trials, raw, lists_digest), _draw_demographics(people, random)
        ),
        people,
    )


def _draw_people(lists: list[str], crowd: Simulation, random: np.random.Generator) -> pd.DataFrame:
    list_numbers = np.repeat(lists, crowd.people_per_list)[
        random.permutation(len(lists) * crowd.people_per_list)
    ]
    kinds = np.full(len(list_numbers), "good", dtype=object)
    begin = 0
    for kind, share in sorted(crowd.kinds):
        count = round(share * len(list_numbers))
        kinds[begin : begin + count] = kind
        begin += count
    people = pd.DataFrame(
        {
            "number": np.arange(len(list_numbers)),
            "list": list_numbers,
            "person_kind": random.permutation(kinds),
        }
    )
    people["participant"] = [f"simulated-{number:05d}" for number in people["number"]]
    people["has_left"] = random.random(len(people)) < crowd.abandon
    people["left_at"] = random.random(len(people))
    return people


def _draw_answers(
    rows: pd.DataFrame, key: pd.DataFrame, crowd: Simulation, random: np.random.Generator
) -> np.ndarray:
    """Everybody's answers, a number each."""
    expected = (
        rows["question"]
        .map(key.drop_duplicates("question").set_index("question")["expected"])
        .to_numpy(int)
    )
    most = (
        rows["eval_type"].map({way: max(answers) for way, answers in ANSWERS.items()}).to_numpy(int)
    )
    kind = rows["person_kind"].to_numpy(str)
    noise = (
        rows["domain"]
        .map(dict(crowd.domain_noise))
        .astype(float)
        .fillna(crowd.noise)
        .to_numpy(float, copy=True)
    )
    is_catch = (rows["kind"] == "catch").to_numpy(bool)
    noise[is_catch] = 1 - _PASSED
    guess = random.integers(1, most + 1)
    is_guess = random.random(len(rows)) < noise
    answer = np.where(is_guess, guess, expected)
    answer = np.where((kind == "reversed") & ~is_catch, most + 1 - answer, answer)
    # One answer a person, or one for about twelve trials.
    person = rows["number"].to_numpy(int)
    block = np.where(kind == "straight_liner", rows["position"].to_numpy(int) // 12, 0)
    _, same = np.unique(person * 10_000 + block, return_inverse=True)
    stuck = (random.random(same.max() + 1)[same] * most).astype(int) + 1
    return np.select(
        [np.isin(kind, _READERS), np.isin(kind, ("constant", "straight_liner"))],
        [answer, stuck],
        guess,
    )


def _sessions(
    people: pd.DataFrame, trials: pd.DataFrame, raw: pd.DataFrame, lists_digest: str
) -> pd.DataFrame:
    minutes = (raw.groupby("participant")["rt_ms"].sum() / 60_000).round()
    way = trials.groupby("list")["eval_type"].first()
    has_left = people["has_left"].to_numpy(bool)
    return pd.DataFrame(
        {
            "participant": people["participant"],
            "session": 1,
            "list": people["list"],
            "eval_type": people["list"].map(way),
            "status": np.where(has_left, "partial", "complete"),
            "is_late": False,
            "day": _DAY,
            "minutes": people["participant"].map(minutes).where(~has_left),
            "n_tries": 1,
            "design": _DESIGN,
            "lists_digest": lists_digest,
        }
    )


def _draw_demographics(people: pd.DataFrame, random: np.random.Generator) -> pd.DataFrame:
    n = len(people)
    ages = np.clip(np.round(random.normal(38, 13, n)), 18, 80)
    ages[random.random(n) < 0.02] = np.nan
    return pd.DataFrame(
        {
            "participant": people["participant"],
            "age": ages,
            "gender": np.array(_GENDERS, dtype=object)[
                random.choice(4, n, p=[0.48, 0.46, 0.04, 0.02])
            ],
            "country": "United States",
            "first_language": np.array(_LANGUAGES, dtype=object)[
                random.choice(3, n, p=[0.95, 0.03, 0.02])
            ],
        }
    )
