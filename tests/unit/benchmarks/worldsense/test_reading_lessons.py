"""Lessons in reading: what they say is true, none is a question of the benchmark, and the same seed gives the same ones."""

from __future__ import annotations

import gzip
import json
import re
from itertools import islice
from pathlib import Path

import pytest

from worldprobe.benchmarks.worldsense.finetuning.reading_lessons import LessonPlan, ReadingLesson, draw_lessons
from worldprobe.benchmarks.worldsense.phrases import phrases_of
from worldprobe.benchmarks.worldsense.skins import read_skins
from worldprobe.benchmarks.worldsense.vocabulary import CANARY
from worldprobe.cli import main

LINEAR = [skin for skin in read_skins() if skin.use != "ood-problem"]
ONE = [skin for skin in LINEAR if skin.name == "train_old/young"]
EVERYTHING = LessonPlan(
    kinds=(("retell", 1.0), ("order", 1.0), ("judge", 1.0), ("listed", 1.0)),
    sizes=(2, 3, 4, 5, 6),
    complexities=("0", "1", "2", "incomplete"),
)


def said(lesson: ReadingLesson) -> list[str]:
    """What the model is to say."""
    return [text for text, is_answer in lesson if is_answer]


def test_the_same_seed_gives_the_same_lessons_and_fewer_are_the_first_of_more() -> None:
    few = list(draw_lessons(EVERYTHING, LINEAR, 20, seed=3))
    assert few == list(islice(draw_lessons(EVERYTHING, LINEAR, 200, seed=3), 20))
    assert few != list(draw_lessons(EVERYTHING, LINEAR, 20, seed=4))


def test_an_order_names_every_entity_of_the_description_once() -> None:
    plan = LessonPlan(kinds=(("order", 1.0),), sizes=(4,), complexities=("0", "1"))
    for lesson in draw_lessons(plan, LINEAR, 50, seed=0):
        assert len(set(said(lesson))) == 4
        assert all(name in lesson[0][0] for name in said(lesson))


def test_an_order_of_two_follows_from_the_only_clause() -> None:
    for lesson in draw_lessons(LessonPlan(kinds=(("order", 1.0),), sizes=(2,)), ONE, 50, seed=0):
        first, last = said(lesson)
        told = lesson[0][0]
        assert (f"{first} is older than {last}" in told) or (f"{last} is younger than {first}" in told)


def test_what_is_retold_is_what_the_description_says() -> None:
    for lesson in draw_lessons(LessonPlan(kinds=(("retell", 1.0),), sizes=(3, 5), complexities=("0", "2")), LINEAR, 50, seed=0):
        told, known = lesson[0][0].rsplit(". ", 1)
        clauses = [f"{known} {lesson[1][0]}"] + [f"{lesson[i][0][2:]} {lesson[i + 1][0]}" for i in range(2, len(lesson), 2)]
        for clause in clauses:
            assert clause.replace(" 's", "'s") in told


def test_verdicts_of_two_entities_follow_from_the_only_clause() -> None:
    plan = LessonPlan(kinds=(("judge", 1.0),), sizes=(2,), statements=8, borrowed=0)
    seen = set()
    for lesson in draw_lessons(plan, ONE, 50, seed=0):
        told, *statements = [text for text, is_answer in lesson if not is_answer]
        description, first = told.split(".\n")
        clause = description.split(": ")[1]
        for statement, verdict in zip([first, *statements], said(lesson), strict=True):
            says = statement.strip().removesuffix(":")
            if says == clause:
                assert verdict == "true"
            elif any(
                name not in clause for name in says.replace(" is older than ", "|").replace(" is younger than ", "|").split("|")
            ):
                assert verdict == "open"
            seen.add(verdict)
    assert seen == {"true", "false", "open"}


def test_statements_of_a_lesson_are_about_several_entities_that_are_not_described() -> None:
    """With a single one, a model soon takes it for described: it was mentioned in the statement before."""
    plan = LessonPlan(kinds=(("judge", 1.0),), sizes=(2,), statements=6, unknown=1.0, borrowed=1.0)
    for lesson in draw_lessons(plan, ONE, 30, seed=0):
        described, *statements = re.split(r"\.?\n", "".join(text for text, is_answer in lesson if not is_answer))
        names = [re.fullmatch(r"(.+) is (?:older|younger) than (.+):", statement).groups() for statement in statements]
        assert len({name for pair in names for name in pair if name not in described}) >= 2


def test_verdicts_about_a_list_follow_from_its_order() -> None:
    plan = LessonPlan(kinds=(("listed", 1.0),), sizes=(2, 4), complexities=("0", "1", "incomplete"), ternary=0, extremes=0)
    seen = set()
    for lesson in draw_lessons(plan, ONE, 50, seed=0):
        told, first = lesson[0][0].rsplit("\n", 1)
        assert "From oldest to youngest:\n- " in told
        names = told.split("\n- ")[1:]
        for statement, verdict in zip([first, *(text for text, _ in lesson[2::2])], said(lesson), strict=True):
            left, relation, right = re.fullmatch(r"\s*(.+) is (older|younger) than (.+):", statement).groups()
            if not {left, right} <= set(names):
                assert verdict == "open"
            else:
                assert verdict == ("true" if (names.index(left) < names.index(right)) == (relation == "older") else "false")
            seen.add(verdict)
    assert seen == {"true", "false", "open"}


def test_no_lesson_contains_a_question_or_an_answer_of_the_benchmark() -> None:
    questions = {
        line for skin in LINEAR for wordings in skin.questions.values() for text in wordings.values() for line in text.split("\n")
    }
    words = {piece for line in questions for piece in line.replace("‘", "{").replace("’", "{").split("{") if len(piece) > 12}
    for lesson in draw_lessons(EVERYTHING, LINEAR, 300, seed=0):
        text = " ".join(text for text, _ in lesson)
        assert not any(word in text for word in words)
        assert "TRUE" not in text
        assert "IMPOSSIBLE" not in text


def test_no_lesson_begins_like_a_description_of_a_test() -> None:
    situations = [skin.situation.split("{number}")[0] for skin in LINEAR if skin.use == "test"]
    for lesson in draw_lessons(EVERYTHING, LINEAR, 300, seed=0):
        assert not lesson[0][0].startswith(tuple(situations))


def test_phrases_cover_every_trial_and_every_lesson(tmp_path: Path) -> None:
    from worldprobe.benchmarks.worldsense.sets import blocks_of, plan_set, stream_set
    from worldprobe.training.tokenizer import UNKNOWN, phrase_tokenizer

    skins = read_skins()
    tokenizer = phrase_tokenizer(phrases_of(skins))
    texts = [" ".join(text for text, _ in lesson) for lesson in draw_lessons(EVERYTHING, LINEAR, 100, seed=0)]
    for name in ("test", "train-10k", "ood-size", "ood-query", "ood-problem"):
        plan = plan_set(name, per_cell=1)
        texts += next(stream_set(plan, blocks_of(plan, skins), 0))["text"].tolist()[::7]
    for encoding in tokenizer.encode_batch([f"{text}\nAnswer: TRUE" for text in texts]):
        assert UNKNOWN not in encoding.tokens
        assert encoding.tokens[-2:] == ["Answer:", "TRUE"]


def test_the_command_writes_the_same_bytes_again(tmp_path: Path) -> None:
    command = ["worldsense", "write-lessons", "--lessons", "order=2", "judge", "--sizes", "2", "3", "--number", "30"]
    for name in ("a", "b"):
        assert main([*command, "--out", str(tmp_path / f"{name}.jsonl.gz")]) == 0
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()
    with gzip.open(tmp_path / "a.jsonl.gz", "rt", encoding="utf-8") as lines:
        lessons = [json.loads(line) for line in lines]
    assert len(lessons) == 30
    assert {lesson["canary"] for lesson in lessons} == {CANARY}
    assert all(lesson["plain"] and lesson["messages"][-1]["role"] == "assistant" for lesson in lessons)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--lessons", "ordr=1"], "did you mean"),
        (["--lessons", "order=-1"], "no positive weight"),
        (["--lessons", "order=1", "--out", "x.txt"], "compressed JSON lines"),
    ],
)
def test_bad_input_is_refused(options: list[str], word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = [] if "--out" in options else ["--out", str(tmp_path / "x.jsonl.gz")]
    assert main(["worldsense", "write-lessons", "--number", "3", *out, *options]) == 2
    assert word in capsys.readouterr().err
    assert not any(tmp_path.iterdir())
