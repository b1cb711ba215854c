"""Test tuples in a training file: found by id and text in test sets that are given, and by the skins that only tests use."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from worldprobe.benchmarks.worldsense.finetuning.training_files import Dialogue
from worldprobe.benchmarks.worldsense.render import NUMBERS
from worldprobe.benchmarks.worldsense.skin_groups import TEST_SKINS
from worldprobe.benchmarks.worldsense.skins import Skin
from worldprobe.benchmarks.worldsense.trials import read_trials
from worldprobe.errors import UserError
from worldprobe.log import LOGGER

#: Ids that an error names.
SHOWN = 5


@dataclass
class TestedTuples:
    """What must not be trained on.

    Attributes:
        tuple_ids: of the test sets' tuples.
        tuples: text or trial id -> its tuple's id.
        skins: names of skins that only tests use.
        situations: finds the sentence that begins a description in the words of these skins.
    """

    tuple_ids: set[str] = field(default_factory=set)
    tuples: dict[str, str] = field(default_factory=dict)
    skins: frozenset[str] = frozenset()
    situations: re.Pattern[str] = re.compile(r"(?!)")


def read_tests(paths: Iterable[Path | str], skins: Iterable[Skin]) -> TestedTuples:
    """Test sets, and the skins that only tests use.

    Args:
        paths: sets of trials in any layout.
        skins: of the repository or the user.
    """
    used = [skin for skin in skins if skin.use != "train"]
    number = "|".join(NUMBERS.values())
    situations = {f"(?:{number})".join(map(re.escape, skin.situation.split("{number}"))) for skin in used}
    tests = TestedTuples(
        skins=frozenset({*TEST_SKINS, *(skin.name for skin in used)}),
        situations=re.compile("|".join(sorted(situations)) or r"(?!)"),
    )
    for path in paths:
        trials = read_trials(path)
        tests.tuple_ids |= set(trials["tuple_id"])
        tests.tuples |= dict(zip(trials["text"], trials["tuple_id"], strict=True))
        tests.tuples |= dict(zip(trials["trial_id"].astype(str), trials["tuple_id"], strict=True))
    return tests


def in_trials(trials: pd.DataFrame, tests: TestedTuples) -> list[str]:
    """Ids of the test tuples among trials, in their order."""
    found = trials["tuple_id"].isin(tests.tuple_ids) | trials["text"].isin(tests.tuples) | trials["skin"].isin(tests.skins)
    return list(dict.fromkeys(trials.loc[found, "tuple_id"]))


def in_dialogues(dialogues: Sequence[Dialogue], tests: TestedTuples) -> list[str]:
    """Ids of the test tuples among dialogues; where only the words are known, ids or lines of the dialogues."""
    return list(dict.fromkeys(_matches(dialogues, tests)))


def _matches(dialogues: Sequence[Dialogue], tests: TestedTuples) -> Iterator[str]:
    for dialogue in dialogues:
        texts = [message.content for message in dialogue.messages]
        known = next((tests.tuples[key] for key in (dialogue.name, *texts) if key in tests.tuples), None)
        if known is not None:
            yield known
        elif any(map(tests.situations.search, texts)):
            yield dialogue.name


def refuse_tests(path: Path | str, found: Sequence[str], is_allowed: bool) -> None:
    """Refuse a training file with test tuples, or warn where it is allowed.

    Raises:
        UserError: it contains some, with their ids.
    """
    if not found:
        return
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    problem = f"contains {len(found)} test tuple{'s' if len(found) > 1 else ''}: {', '.join(found[:SHOWN])}{more}."
    if not is_allowed:
        fix = "Leave them out (`worldsense generate train-...` has none). --allow-contamination trains on them and records it."
        raise UserError(path, problem, fix)
    LOGGER.warning("%s %s The model's card will say so.", path, problem)
