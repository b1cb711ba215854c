"""From training files to tokens; test tuples among them are found by id, by what test sets say and by the words of tests."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import pandas as pd

from worldprobe.benchmarks.worldsense.finetuning import training_files
from worldprobe.benchmarks.worldsense.finetuning.training_files import Dialogue
from worldprobe.benchmarks.worldsense.inference.prompts import PromptSet
from worldprobe.benchmarks.worldsense.skins.groups import TEST_SKINS
from worldprobe.benchmarks.worldsense.skins.skins import Skin
from worldprobe.benchmarks.worldsense.trials.files import read_trials
from worldprobe.errors import UserError
from worldprobe.log import LOGGER
from worldprobe.models.chat import Encoder
from worldprobe.training.contamination import TestContent, words_of
from worldprobe.training.lessons import Lesson, Material, encode_lessons

#: Ids that an error names.
SHOWN = 5
#: Words that say nothing of a relation.
_FUNCTION_WORDS = frozenset(
    ["a", "an", "and", "all", "at", "from", "in", "is", "of", "on", "other", "others", "than", "that", "the", "to", "was"]
)
#: Words at most between a relation's word and each of the two entities that it relates.
_GAP = 6


class TestWords:
    """What a test skin says: its entities, and the words of its relations, whoever words the sentences around them.

    Args:
        skin: that only tests use.
    """

    __test__ = False  # to pytest, a name that begins with Test is a class of tests

    def __init__(self, skin: Skin) -> None:
        names = [" ".join(words_of(name)).removeprefix("the ") for name in skin.entities]
        ways = [skin.clauses[kind] for kind in ("before", "after", "parallel", "perpendicular") if kind in skin.clauses]
        first, second = (set(words_of(re.sub(r"\{\w\}", " ", way))) for way in ways)
        self.relations = ({"between"} if "between" in skin.clauses else set()) | ((first ^ second) - _FUNCTION_WORDS)
        self.named = {word for name in names for word in name.split()}
        entity = f"(?:{'|'.join(sorted(map(re.escape, names), key=len, reverse=True))})"
        relation = f"(?:{'|'.join(map(re.escape, sorted(self.relations)))})"
        gap = rf"(?: \w+){{0,{_GAP}}}?"
        self._clause = re.compile(rf"\b(?=({entity}\b{gap} {relation}\b{gap} {entity})\b)")
        self._list = re.compile(rf"\b{entity}(?: the)? {entity}(?: the)? {entity}\b")

    def are_in(self, words: Sequence[str], seen: set[str]) -> bool:
        """Whether a text relates the skin's entities by its relation twice, or once next to a list of them.

        Args:
            words: of the text.
            seen: the same, as a set.
        """
        if seen.isdisjoint(self.relations) or len(seen & self.named) < 2:
            return False
        text = " ".join(words)
        clauses = set(self._clause.findall(text))
        return len(clauses) > 1 or bool(clauses and self._list.search(text))


@dataclass
class TestedTuples:
    """What must not be trained on.

    Attributes:
        tuple_ids: of the test sets' tuples.
        trial_ids: trial id, as text -> its tuple's id.
        content: what the tuples' trials describe, and items of other benchmarks.
        skins: names of skins that only tests use.
        words: what these skins say.
    """

    tuple_ids: set[str] = field(default_factory=set)
    trial_ids: dict[str, str] = field(default_factory=dict)
    content: TestContent = field(default_factory=TestContent)
    skins: frozenset[str] = frozenset()
    words: Sequence[TestWords] = ()

    def found_in(self, text: str, name: str) -> list[str]:
        """Ids of the test items that a text contains; its own name where only the words of a test skin are known."""
        words = words_of(text)
        seen = set(words)
        return self.content.find(words) or [name] * any(skin.are_in(words, seen) for skin in self.words)


def read_tests(paths: Iterable[Path | str], skins: Iterable[Skin]) -> TestedTuples:
    """Test sets, and the skins that only tests use.

    Args:
        paths: sets of trials in any layout.
        skins: of the repository or the user.
    """
    used = [skin for skin in skins if skin.use != "train"]
    tests = TestedTuples(skins=frozenset({*TEST_SKINS, *(skin.name for skin in used)}), words=[TestWords(skin) for skin in used])
    for path in paths:
        trials = read_trials(path)
        tests.tuple_ids |= set(trials["tuple_id"])
        tests.trial_ids |= dict(zip(trials["trial_id"].astype(str), trials["tuple_id"], strict=True))
        columns = ["tuple_id", "problem", "description", "entities", "text"]
        for tuple_id, problem, description, entities, text in trials[columns].itertuples(index=False, name=None):
            names = json.loads(entities)
            n_described = len(names) if problem == "Infer.trivial" else len(re.findall(r"-?\d+", description))
            tests.content.add(tuple_id, *_passages(text, names, n_described, problem == "Infer.trivial"))
    return tests


def _passages(text: str, names: Sequence[str], n_described: int, is_listing: bool) -> list[list[str]]:
    """What a text says of its entities: from the first to the last that the description mentions; of a list, the query too."""
    mention = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, sorted(names, key=len, reverse=True)))})(?!\w)")
    places = [match.span() for match in mention.finditer(text)]
    described, asked = places[:n_described], places[n_described:]
    spans = [described, asked] if is_listing and asked else [described or places]
    return [words_of(text[span[0][0] : span[-1][1]]) for span in spans if span]


def in_trials(trials: pd.DataFrame, tests: TestedTuples) -> list[str]:
    """Ids of the test tuples among trials, in their order."""
    is_known = (trials["tuple_id"].isin(tests.tuple_ids) | trials["skin"].isin(tests.skins)).to_numpy()
    found = [
        tuple_id
        for tuple_id, text, known in zip(trials["tuple_id"], trials["text"], is_known, strict=True)
        if known or tests.found_in(text, tuple_id)
    ]
    return list(dict.fromkeys(found))


def in_dialogues(dialogues: Sequence[Dialogue], tests: TestedTuples) -> list[str]:
    """Ids of the test tuples among dialogues; where only the words are known, ids or lines of the dialogues."""
    return list(dict.fromkeys(_matches(dialogues, tests)))


def _matches(dialogues: Sequence[Dialogue], tests: TestedTuples) -> Iterator[str]:
    for dialogue in dialogues:
        if dialogue.name in tests.trial_ids:
            yield tests.trial_ids[dialogue.name]
            continue
        text = "\n".join([*(message.content for message in dialogue.messages), dialogue.answer])
        yield from tests.found_in(text, dialogue.name)


def refuse_tests(path: Path | str, found: Sequence[str], is_allowed: bool) -> None:
    """Refuse a training file with test tuples, or warn where it is allowed.

    Raises:
        UserError: it contains some, with their ids.
    """
    if not found:
        return
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    what = "test item" if len(found) == 1 else "test items"
    problem = f"contains {len(found)} {what}: {', '.join(found[:SHOWN])}{more}."
    if not is_allowed:
        fix = "Leave them out (`worldsense generate train-...` has none). --allow-contamination trains on them and records it."
        raise UserError(path, problem, fix)
    LOGGER.warning("%s %s The model's card will say so.", path, problem)


@dataclass
class MaterialReader:
    """Reads training files, all in one form.

    Attributes:
        prompts: how a trial is asked.
        is_chat: lessons are written through the chat template; else as plain text.
        encoder: of the model that is trained.
        is_all: every token of a lesson counts for the loss; else the answer's alone.
        tests: what must not be trained on.
        is_contamination_allowed: test tuples are noted in ``contamination``; else they are refused.
        contamination: ids of the test tuples in what was read.
        canary: what was read carries it, if any.
    """

    prompts: PromptSet
    is_chat: bool
    encoder: Encoder
    is_all: bool
    tests: TestedTuples
    is_contamination_allowed: bool
    contamination: list[str] = field(default_factory=list)
    canary: str | None = None

    def read_train(self, paths: Sequence[Path], most: int | None) -> Material:
        """The lessons of files of trials or dialogues.

        Args:
            paths: the files.
            most: trials and dialogues to take, the first ones, trials as whole tuples; None: all.

        Raises:
            UserError: a file cannot be read, contains test tuples, or there are no lessons.
        """
        lessons: list[Iterator[Lesson]] = []
        for path in paths:
            if most == 0:
                break
            if training_files.is_trials(path):
                trials = training_files.first_tuples(read_trials(path), most)
                number = len(trials)
                lessons.append(training_files.lessons_of_trials(trials, self.prompts, self.is_chat))
                self._note(path, in_trials(trials, self.tests), training_files.canary_of(path))
            else:
                dialogues = training_files.read_dialogues(path)[:most]
                number = len(dialogues)
                lessons.append(self._of_dialogues(path, dialogues))
            most = None if most is None else max(most - number, 0)
        material = encode_lessons(chain(*lessons), self.encoder, self.is_all)
        if not len(material):
            raise UserError(", ".join(map(str, paths)), "contain no lessons.", "Give trials, or dialogues.")
        return material

    def read_mixed(self, paths: Sequence[Path], room: int) -> Material:
        """The lessons of dialogues that are mixed in; those of more than ``room`` tokens are left out and counted.

        Raises:
            UserError: a file cannot be read or contains test tuples, or all lessons are too long.
        """
        lessons = [self._of_dialogues(path, training_files.read_dialogues(path)) for path in paths]
        whole = encode_lessons(chain(*lessons), self.encoder, self.is_all)
        kept = whole.without(room)
        if not len(kept):
            problem = f"all {len(whole)} lessons have more than {room} tokens."
            raise UserError("--mix", problem, "Take a longer --sequence-length.")
        if len(kept) < len(whole):
            LOGGER.warning(
                "--mix: %d of %d lessons have more than %d tokens and are left out", len(whole) - len(kept), len(whole), room
            )
        return kept

    def _of_dialogues(self, path: Path, dialogues: Sequence[training_files.Dialogue]) -> Iterator[Lesson]:
        canary = training_files.canary_of(path, dialogues)
        self._note(path, in_dialogues(dialogues, self.tests), canary)
        return training_files.lessons_of_dialogues(dialogues, self.prompts, self.is_chat)

    def _note(self, path: Path, found: Sequence[str], canary: str | None) -> None:
        refuse_tests(path, found, self.is_contamination_allowed)
        self.contamination += found
        self.canary = canary or self.canary
