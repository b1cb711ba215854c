"""Test items in training texts, found by id, by what the tests say, and by the words of skins that
only tests use.

Case, marks, markup, digits, layout and the words around do not matter. A paraphrase in other
relation words, a translation, or a test item whose names were replaced is not found.
"""

from __future__ import annotations

import html
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import pandas as pd

from worldprobe.benchmarks.worldsense.problems.worlds import MOMENTS
from worldprobe.benchmarks.worldsense.skins.skins import TEST_SKINS, Skin
from worldprobe.benchmarks.worldsense.trials.files import read_trials
from worldprobe.contracts import table_name
from worldprobe.errors import UserError
from worldprobe.log import LOGGER
from worldprobe_training.training_files import TrainingDialogue

#: What is inside a word without being read: characters that are not seen, tags, and the hyphen at
#: the end of a line.
_INSIDE = re.compile(r"[\u00ad\u200b-\u200f\u2060\ufeff]|</?\w+>|(?<=\w)-\n\s*(?=\w)")
#: How JSON writes marks and the ends of lines.
_ESCAPE = re.compile(r"\\(?:[nrt]|u([0-9a-f]{4}))", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+")
#: An entity in the official notation; the number of a change that a moment names is none.
_MENTION = re.compile("".join(rf"(?<!{kind}\()" for kind in MOMENTS) + r"-?\d+")
_NUMBERS = dict(
    zip(
        "0123456789",
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"],
        strict=True,
    )
) | {"10": "ten"}
#: Words by which a passage is looked up.
_START = 3


def words_of(text: str) -> list[str]:
    """A text's words: small letters, without marks and markup, numbers up to ten in letters.

    >>> words_of("On 3 floors: ‘Ann’s BELOW Ben’.")
    ['on', 'three', 'floors', 'ann', 's', 'below', 'ben']
    """
    plain = _ESCAPE.sub(
        lambda match: chr(int(match[1], 16)) if match[1] else " ", html.unescape(text)
    )
    plain = _INSIDE.sub("", unicodedata.normalize("NFKC", plain).casefold())
    return [_NUMBERS.get(word, word) for word in _WORD.findall(plain)]


class TestContent:
    """Texts of test items. An item is passages, all of which a text with the item contains."""

    __test__ = False  # to pytest, a name that begins with Test is a class of tests

    def __init__(self) -> None:
        self._starts: dict[tuple[str, ...], list[tuple[tuple[str, ...], int]]] = {}
        self._items: list[tuple[str, int]] = []

    def __len__(self) -> int:
        return len(self._items)

    def add(self, name: str, *passages: Sequence[str]) -> None:
        """Note an item.

        Args:
            name: of the item; several may have one.
            passages: words of each.
        """
        number = len(self._items)
        distinct = {tuple(passage) for passage in passages if len(passage) >= _START}
        if not distinct:
            return
        self._items.append((name, len(distinct)))
        for passage in distinct:
            self._starts.setdefault(passage[:_START], []).append((passage, number))

    def find(self, words: Sequence[str]) -> list[str]:
        """Names of the items that a text contains.

        Args:
            words: the text's.
        """
        if not self._starts:
            return []
        seen: dict[int, set[tuple[str, ...]]] = {}
        for position, start in enumerate(zip(words, words[1:], words[2:], strict=False)):
            for passage, number in self._starts.get(start, ()):
                if passage == tuple(words[position : position + len(passage)]):
                    seen.setdefault(number, set()).add(passage)
        return list(
            dict.fromkeys(
                self._items[number][0]
                for number, passages in seen.items()
                if len(passages) == self._items[number][1]
            )
        )


#: Ids that an error names.
SHOWN = 5
#: Words that say nothing of a relation.
_FUNCTION_WORDS = frozenset(
    [
        "a",
        "an",
        "and",
        "all",
        "at",
        "from",
        "in",
        "is",
        "of",
        "on",
        "other",
        "others",
        "than",
        "that",
        "the",
        "to",
        "was",
    ]
)
#: Words at most between a relation's word and each of the two entities that it relates.
_GAP = 6


class TestWords:
    """Words of a test skin: its entities, and the words of its relations, whoever words the
    sentences around them.

    Args:
        skin: that only tests use.
    """

    __test__ = False  # to pytest, a name that begins with Test is a class of tests

    def __init__(self, skin: Skin) -> None:
        names = [" ".join(words_of(name)).removeprefix("the ") for name in skin.entities]
        ways = [
            skin.clauses[kind]
            for kind in ("before", "after", "parallel", "perpendicular")
            if kind in skin.clauses
        ]
        first, second = (set(words_of(re.sub(r"\{\w\}", " ", way))) for way in ways)
        self.relations = ({"between"} if "between" in skin.clauses else set()) | (
            (first ^ second) - _FUNCTION_WORDS
        )
        self.named = {word for name in names for word in name.split()}
        entity = f"(?:{'|'.join(sorted(map(re.escape, names), key=len, reverse=True))})"
        relation = f"(?:{'|'.join(map(re.escape, sorted(self.relations)))})"
        gap = rf"(?: \w+){{0,{_GAP}}}?"
        self._clause = re.compile(rf"\b(?=({entity}\b{gap} {relation}\b{gap} {entity})\b)")
        self._list = re.compile(rf"\b{entity}(?: the)? {entity}(?: the)? {entity}\b")

    def are_in(self, words: Sequence[str], seen: set[str]) -> bool:
        """Whether a text relates the skin's entities by its relation twice, or once next to a list
        of them.

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
    """Test items that must not be trained on.

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
        """Ids of the test items that a text contains; its own name where only the words of a test
        skin are known.
        """
        words = words_of(text)
        seen = set(words)
        return self.content.find(words) or [name] * any(
            skin.are_in(words, seen) for skin in self.words
        )


def read_tests(paths: Iterable[Path | str], skins: Iterable[Skin]) -> TestedTuples:
    """Test sets, and the skins that only tests use.

    Args:
        paths: sets of trials in any layout, and tables of minimal pairs (items of EWoK).
        skins: of the repository or the user.
    """
    used = [skin for skin in skins if skin.use != "train"]
    names = frozenset({*TEST_SKINS, *(skin.name for skin in used)})
    moving = [
        moved
        for skin in used
        if skin.motion
        for moved in [skin.in_motion()]
        if moved.clauses != skin.clauses
    ]
    tests = TestedTuples(skins=names, words=[TestWords(skin) for skin in (*used, *moving)])
    for path in paths:
        if str(path).endswith(".parquet") and table_name(path) == "items":
            _add_items(path, tests.content)
            continue
        trials = read_trials(path)
        tests.tuple_ids |= set(trials["tuple_id"])
        tests.trial_ids |= dict(
            zip(trials["trial_id"].astype(str), trials["tuple_id"], strict=True)
        )
        columns = ["tuple_id", "problem", "description", "entities", "text"]
        for tuple_id, problem, description, entities, text in trials[columns].itertuples(
            index=False, name=None
        ):
            names = json.loads(entities)
            n_described = (
                len(names) if problem == "Infer.trivial" else len(_MENTION.findall(description))
            )
            tests.content.add(
                tuple_id, *_passages(text, names, n_described, problem == "Infer.trivial")
            )
    return tests


def _add_items(path: Path | str, content: TestContent) -> None:
    """Items of minimal pairs: a context of an item together with a target of it."""
    columns = ["item_id", "context1", "context2", "target1", "target2"]
    for item_id, *texts in pd.read_parquet(path, columns=columns).itertuples(
        index=False, name=None
    ):
        words = [words_of(text) for text in texts]
        for context, target in product(words[:2], words[2:]):
            content.add(item_id, context, target)


def _passages(
    text: str, names: Sequence[str], n_described: int, is_listing: bool
) -> list[list[str]]:
    """Passages of a text about its entities: from the first to the last that the description
    mentions; of a list, the query too.
    """
    mention = re.compile(
        rf"(?<!\w)(?:{'|'.join(map(re.escape, sorted(names, key=len, reverse=True)))})(?!\w)"
    )
    mentions = [match.span() for match in mention.finditer(text)]
    described, asked = mentions[:n_described], mentions[n_described:]
    spans = [described, asked] if is_listing and asked else [described or mentions]
    return [words_of(text[span[0][0] : span[-1][1]]) for span in spans if span]


def in_trials(trials: pd.DataFrame, tests: TestedTuples) -> list[str]:
    """Ids of the test tuples among trials, in their order."""
    is_known = (
        trials["tuple_id"].isin(tests.tuple_ids) | trials["skin"].isin(tests.skins)
    ).to_numpy()
    ids = [
        tuple_id
        for tuple_id, text, is_test in zip(
            trials["tuple_id"], trials["text"], is_known, strict=True
        )
        if is_test or tests.found_in(text, tuple_id)
    ]
    return list(dict.fromkeys(ids))


def in_dialogues(dialogues: Sequence[TrainingDialogue], tests: TestedTuples) -> list[str]:
    """Ids of the test tuples among dialogues; where only the words are known, ids or lines of the
    dialogues.
    """
    return list(dict.fromkeys(_matches(dialogues, tests)))


def _matches(dialogues: Sequence[TrainingDialogue], tests: TestedTuples) -> Iterator[str]:
    for dialogue in dialogues:
        if dialogue.name in tests.trial_ids:
            yield tests.trial_ids[dialogue.name]
            continue
        text = "\n".join([*(message.content for message in dialogue.messages), dialogue.answer])
        yield from tests.found_in(text, dialogue.name)


def refuse_tests(path: Path | str, tests: Sequence[str], is_allowed: bool) -> None:
    """Refuse a training file with test tuples, or warn where it is allowed.

    Raises:
        UserError: it contains some, with their ids.
    """
    if not tests:
        return
    more = f" and {len(tests) - SHOWN} more" if len(tests) > SHOWN else ""
    what = "test item" if len(tests) == 1 else "test items"
    problem = f"contains {len(tests)} {what}: {', '.join(tests[:SHOWN])}{more}."
    if not is_allowed:
        fix = (
            "Leave them out (`worldsense generate train-...` has none), or set allow_contamination:"
            " true, which the card says."
        )
        raise UserError(path, problem, fix)
    LOGGER.warning("%s %s The model's card will say so.", path, problem)
