"""Lessons in reading: what they say is right, nothing of a test is in them, and the same seed
gives the same ones.
"""

from __future__ import annotations

import re
from itertools import islice

import pytest

from worldprobe.benchmarks.worldsense.problems.worlds import before
from worldprobe.benchmarks.worldsense.skins.rendering import render_clause
from worldprobe.benchmarks.worldsense.skins.skins import read_skins
from worldprobe.benchmarks.worldsense.trials.sets import blocks_of, plan_set, stream_set
from worldprobe_authoring.audit import read_by_any
from worldprobe_authoring.statements import StatementReader
from worldprobe_training.reading_lessons import (
    LessonCheck,
    ReadingLesson,
    draw_lessons,
    pieces_of,
    tokens_of_skins,
    words_of_skin,
)
from worldprobe_training.tokenizer import UNKNOWN, phrase_tokenizer
from worldprobe_training.trainings import ReadingLessons

SKINS = [skin for skin in read_skins() if skin.use != "ood-problem"]
ONE = [skin for skin in SKINS if skin.name == "train_old/young"]
EVERYTHING = ReadingLessons(
    kinds={"copy": 1, "judge": 1, "asked": 1},
    number=500,
    sizes=[2, 3, 4, 5, 6],
    complexities=["0", "1", "2", "incomplete"],
    invented=0.5,
)


def said(lesson: ReadingLesson) -> list[str]:
    """What the model is to say."""
    return [text for text, is_answer in lesson if is_answer]


def asked(lesson: ReadingLesson) -> list[str]:
    """Everything else."""
    return [text for text, is_answer in lesson if not is_answer]


@pytest.mark.parametrize("changes", [1, 2])
def test_verdicts_of_two_entities_follow_from_the_only_clause(changes: int) -> None:
    how = ReadingLessons(kinds={"judge": 1}, number=50, sizes=[2], statements=8, changes=changes)
    seen = set()
    for lesson in draw_lessons(how, ONE):
        description, first = asked(lesson)[0].split(".\n")
        told = re.fullmatch(r".*: (.+) is (older|younger) than (.+)", description).groups()
        for statement, verdict in zip([first, *asked(lesson)[1:]], said(lesson), strict=True):
            says = re.fullmatch(r"\s*(.+) is (older|younger) than (.+)", statement).groups()
            is_same_word, is_same_order = says[1] == told[1], says[::2] == told[::2]
            if {says[0], says[2]} == {told[0], told[2]}:
                assert verdict == ("TRUE" if is_same_word == is_same_order else "FALSE")
                assert changes == 2 or is_same_word or is_same_order
            else:
                assert verdict == "UNKNOWN"
            seen.add(verdict)
    assert seen == {"TRUE", "FALSE", "UNKNOWN"}


STORIES = ReadingLessons(
    kinds={"asked": 1},
    number=150,
    sizes=[4, 5],
    statements=2,
    ternary=0,
    unknown=0,
    updates=[0, 1, 2, 3],
    seed=5,
)


def test_what_is_said_of_stories_is_what_the_solver_reads_in_them() -> None:
    readers = [StatementReader(skin) for skin in SKINS if skin.use == "train"]
    n_changes, check = set(), LessonCheck(SKINS)
    for lesson in draw_lessons(STORIES, SKINS):
        check.checked(lesson)
        text = asked(lesson)[0].removesuffix("\nAnswer:")
        assert read_by_any(readers, text).answer() == said(lesson)[0]
        n_changes.add(text.count("hange: "))
    assert n_changes == {0, 1, 2, 3}


THREE, AT_LAST = (
    "are three changes, one after another",
    "\nConsider how things are after all changes.",
)


def test_no_lesson_has_a_relation_an_entity_or_a_description_of_a_test() -> None:
    check = LessonCheck(SKINS)
    for lesson in draw_lessons(EVERYTHING, SKINS):
        check.checked(lesson)


@pytest.mark.long
def test_tokens_cover_every_trial_and_every_lesson() -> None:
    skins = read_skins()
    tokenizer = phrase_tokenizer(tokens_of_skins(skins))
    texts = [
        " ".join(text for text, _ in lesson)
        for lesson in islice(draw_lessons(EVERYTHING, SKINS), 100)
    ]
    for name in (
        "test",
        "test-new",
        "train-10k",
        "ood-query",
        "ood-problem",
        "test-motion",
        "train-hard",
    ):
        plan = plan_set(name, per_cell=1)
        texts += next(stream_set(plan, blocks_of(plan, skins), 0))["text"].tolist()[::7]
    for encoding in tokenizer.encode_batch([f"{text}\nAnswer: TRUE" for text in texts]):
        assert UNKNOWN not in encoding.tokens
        assert encoding.tokens[-2:] == ["Answer:", "TRUE"]


TESTED = [skin for skin in SKINS if skin.use in ("test", "test-new")]


def test_lessons_in_the_words_of_tests_are_found() -> None:
    """The lessons of before: statements with the relations and the entities of all skins behind
    a training skin's sentence.
    """
    check = LessonCheck(SKINS)
    situation = next(skin.situation for skin in SKINS if skin.use == "train").format(number="three")
    for skin in TESTED:
        foreign = next(other for other in SKINS if other.use == "train")
        with_entities = render_clause(before(0, 1), skin.entities[:2], foreign, flip=False)
        assert check.found_in([f"{situation}: {with_entities}."]), skin.name
        words = set(pieces_of([skin.clauses["before"]]))
        if not any(
            words <= set(pieces_of(words_of_skin(other))) for other in SKINS if other.use == "train"
        ):
            with_relation = render_clause(before(0, 1), foreign.entities[:2], skin, flip=False)
            assert check.found_in([f"{situation}: {with_relation}."]), skin.name
