"""Lessons in reading: what they say is right, nothing of a test is in them, and the same seed gives
the same ones.
"""

from __future__ import annotations

import gzip
import json
import re
from itertools import islice
from pathlib import Path

import pytest

from worldprobe.benchmarks.worldsense.problems.worlds import before, is_true
from worldprobe.benchmarks.worldsense.skins.rendering import (
    StatementReader,
    read_by_any,
    render_clause,
)
from worldprobe.benchmarks.worldsense.skins.skins import read_skins
from worldprobe.benchmarks.worldsense.skins.vocabulary import CANARY
from worldprobe.benchmarks.worldsense.trials.sets import blocks_of, plan_set, stream_set
from worldprobe.cli import main
from worldprobe.errors import UserError
from worldprobe_training.reading_lessons import (
    LessonCheck,
    ReadingLesson,
    draw_lessons,
    pieces_of,
    tokens_of,
    words_of,
)
from worldprobe_training.tokenizer import UNKNOWN, phrase_tokenizer
from worldprobe_training.trainings import ReadingLessons

SKINS = [skin for skin in read_skins() if skin.use != "ood-problem"]
ONE = [skin for skin in SKINS if skin.name == "train_old/young"]
TESTED = [skin for skin in SKINS if skin.use in ("test", "test-new")]
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


def test_the_same_seed_gives_the_same_lessons_and_fewer_are_the_first_of_more() -> None:
    few = list(draw_lessons(EVERYTHING.model_copy(update={"number": 20}), SKINS))
    assert few == list(islice(draw_lessons(EVERYTHING, SKINS), 20))
    assert few != list(islice(draw_lessons(EVERYTHING.model_copy(update={"seed": 4}), SKINS), 20))


def test_what_is_copied_is_in_the_list() -> None:
    for lesson in draw_lessons(ReadingLessons(kinds={"copy": 1}, number=50, sizes=[2]), SKINS):
        listed, first = asked(lesson)[0].split(": ")
        assert f"{first} {said(lesson)[0]}" in listed
        for known, rest in zip(asked(lesson)[1:], said(lesson)[1:], strict=True):
            assert f"{known.removeprefix(': ')} {rest}" in listed


@pytest.mark.parametrize(("changes", "invented"), [(1, 0.0), (2, 0.0)])
def test_verdicts_of_two_entities_follow_from_the_only_clause(
    changes: int, invented: float
) -> None:
    how = ReadingLessons(
        kinds={"judge": 1}, number=50, sizes=[2], statements=8, changes=changes, invented=invented
    )
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


def test_two_invented_words_are_each_others_converse() -> None:
    how = ReadingLessons(
        kinds={"judge": 1}, number=50, sizes=[2], statements=8, unknown=0, invented=1
    )
    tokens = tokens_of(SKINS)
    n_words = set()
    for lesson in draw_lessons(how, SKINS):
        words = dict.fromkeys(re.findall(r"\w+zk\b", " ".join(asked(lesson)).split(": ")[1]))
        assert len({tokens[word] for word in words}) == len(words)
        n_words.add(len(words))
    assert n_words == {2}


def test_statements_of_a_lesson_are_about_several_entities_that_are_not_described() -> None:
    """With a single one, a model soon takes it for described: it was mentioned in the statement
    before.
    """
    how = ReadingLessons(kinds={"judge": 1}, number=30, sizes=[2], statements=6, unknown=1)
    for lesson in draw_lessons(how, ONE):
        described, *statements = re.split(r"\.?\n", "".join(asked(lesson)))
        names = [
            re.fullmatch(r"(.+) is (?:older|younger) than (.+)", statement).groups()
            for statement in statements
        ]
        assert len({name for pair in names for name in pair if name not in described}) >= 2


def test_what_is_asked_has_the_words_and_the_answers_of_the_benchmark() -> None:
    how = ReadingLessons(
        kinds={"asked": 1}, number=50, sizes=[3], statements=4, complexities=["0", "incomplete"]
    )
    seen = set()
    for lesson in draw_lessons(how, SKINS):
        for text, answer in zip(asked(lesson), said(lesson), strict=True):
            assert text.endswith("\nAnswer:")
            assert answer in (("TRUE", "FALSE") if "TRUE or FALSE" in text else ("1", "2", "3"))
            seen.add(answer)
    assert seen == {"TRUE", "FALSE", "1", "2", "3"}


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


def test_statements_after_each_change_are_about_the_order_of_that_moment() -> None:
    how = STORIES.model_copy(
        update={"kinds": {"judge": 1}, "each": 1, "skins": ["train_old/young"], "number": 60}
    )
    (reader,) = map(StatementReader, ONE)
    n_moments = set()
    for lesson in draw_lessons(how, SKINS):
        told, texts = "", []
        for text, is_said in lesson:
            if not is_said:
                *more, statement = text.split("\n")
                told += "".join(f"\n{line}" for line in more if line and "Consider" not in line)
                texts.append(statement)
                continue
            n_changes = told.count("hange: ")
            number = {1: "is one change", 2: "are two changes, one after another"}.get(
                n_changes, THREE
            )
            whole = re.sub(r"Then there [^(:\n]+?(?= \(|:)", f"Then there {number}", told).strip()
            whole = whole.replace("First change:", "Change:") if n_changes == 1 else whole
            moment = {0: "", 1: "\nConsider how things are after the change."}.get(
                n_changes, AT_LAST
            )
            question = (
                ONE[0]
                .questions["Infer"]["directQ1"]
                .format(description=whole + moment, query=texts[-1])
            )
            assert reader.read(question).answer() == text
            n_moments.add(n_changes)
    assert n_moments == {0, 1, 2, 3}


def test_an_order_that_is_written_after_each_change_has_the_answers_in_its_last_line() -> None:
    how = STORIES.model_copy(
        update={
            "kinds": {"written": 1},
            "number": 120,
            "skins": ["train_old/young"],
            "updates": [0, 1, 2],
        }
    )
    (reader,) = map(StatementReader, ONE)
    begun = set()
    for (text, _), (reply, _), *more in draw_lessons(how, SKINS):
        *lists, answer = reply.split("\n")
        known = "|".join(ONE[0].entities)
        (sentence,) = re.findall(r"‘([^’]+ than [^’]+)’", text)
        told = [(sentence, answer.removeprefix("Answer: "))]
        told += [
            (statement, verdict)
            for (statement, _), (verdict, _) in zip(more[::2], more[1::2], strict=True)
        ]
        assert len(told) == how.statements
        for statement, verdict in told:
            first, second = re.findall(known, statement)
            is_older = lists[-1].index(first) < lists[-1].index(second)
            assert verdict == ("TRUE" if is_older == ("older" in statement) else "FALSE")
        begun.add(re.findall(r"(\w+) change: ", text)[0] if " change: " in text else "")
        if re.search("^(?:First c|C)hange: ", text, re.M) or " change: " not in text:
            asked = reader.read(text.removesuffix("\nOrder:"))
            assert f"Answer: {asked.answer()}" == answer
            facts = tuple(relation for relation in asked.description if relation.kind == "before")
            order = tuple(asked.names.index(name) for name in re.findall(known, lists[0]))
            assert all(is_true(fact, order) for fact in facts)
    assert begun == {
        "",
        "First",
        "Second",
        "Third",
        "Fourth",
        "Fifth",
    }  # a single change has no number


@pytest.mark.parametrize("wrong", [{"invented": 0.5}, {"sizes": [3]}])
def test_stories_in_invented_words_or_about_three_are_refused(wrong: dict[str, object]) -> None:
    how = ReadingLessons(
        **({"kinds": {"judge": 1}, "number": 1, "sizes": [4], "updates": [1]} | wrong)
    )
    assert list(how.findings())


def test_a_phrase_tokenizer_knows_every_word_of_every_story_and_hard_problem() -> None:
    tokenizer = phrase_tokenizer(tokens_of(SKINS))
    for name in ("test-motion", "train-motion", "train-hard"):
        plan = plan_set(name, [4], per_cell=1)
        for batch in stream_set(plan, blocks_of(plan, SKINS), 0):
            for text, encoding in zip(
                batch["text"], tokenizer.encode_batch(batch["text"].tolist()), strict=True
            ):
                assert UNKNOWN not in encoding.tokens, text


def test_no_lesson_has_a_relation_an_entity_or_a_description_of_a_test() -> None:
    check = LessonCheck(SKINS)
    for lesson in draw_lessons(EVERYTHING, SKINS):
        check.checked(lesson)


def test_lessons_in_the_words_of_tests_are_found() -> None:
    """The lessons of before: statements with the relations and the entities of all skins behind a
    training skin's sentence.
    """
    check = LessonCheck(SKINS)
    situation = next(skin.situation for skin in SKINS if skin.use == "train").format(number="three")
    for skin in TESTED:
        foreign = next(other for other in SKINS if other.use == "train")
        with_entities = render_clause(before(0, 1), skin.entities[:2], foreign, flip=False)
        assert check.found_in([f"{situation}: {with_entities}."]), skin.name
        words = set(pieces_of([skin.clauses["before"]]))
        if not any(
            words <= set(pieces_of(words_of(other))) for other in SKINS if other.use == "train"
        ):
            with_relation = render_clause(before(0, 1), foreign.entities[:2], skin, flip=False)
            assert check.found_in([f"{situation}: {with_relation}."]), skin.name


def test_the_command_refuses_skins_whose_lessons_would_have_a_tests_words() -> None:
    with pytest.raises(UserError, match="is to the left of"):
        LessonCheck(SKINS).checked([("The lamp is to the left of the mug", False), ("TRUE", True)])


def test_tokens_say_nothing_of_a_word_that_training_skins_do_not_have() -> None:
    tokens = tokens_of(SKINS)
    for skin in SKINS:
        assert len({tokens[entity] for entity in skin.entities}) == len(skin.entities)
        before_, after = (
            {tokens[piece] for piece in pieces_of([skin.clauses[one]])}
            for one in ("before", "after")
        )
        assert before_ != after, skin.name
        if skin.use == "test-new":
            assert all(token.startswith("word ") for token in (before_ | after) - {"not", "and"}), (
                skin.name
            )


def test_tokens_cover_every_trial_and_every_lesson() -> None:
    from worldprobe.benchmarks.worldsense.trials.sets import blocks_of, plan_set, stream_set

    skins = read_skins()
    tokenizer = phrase_tokenizer(tokens_of(skins))
    texts = [
        " ".join(text for text, _ in lesson)
        for lesson in islice(draw_lessons(EVERYTHING, SKINS), 100)
    ]
    for name in ("test", "test-new", "train-10k", "ood-size", "ood-query", "ood-problem"):
        plan = plan_set(name, per_cell=1)
        texts += next(stream_set(plan, blocks_of(plan, skins), 0))["text"].tolist()[::7]
    for encoding in tokenizer.encode_batch([f"{text}\nAnswer: TRUE" for text in texts]):
        assert UNKNOWN not in encoding.tokens
        assert encoding.tokens[-2:] == ["Answer:", "TRUE"]


def test_the_command_writes_the_same_bytes_again(tmp_path: Path) -> None:
    settings = {"kinds": {"copy": 2, "judge": 1}, "sizes": [2, 3], "number": 30}
    command = ["worldsense", "write-lessons", "--settings", json.dumps(settings)]
    for name in ("a", "b"):
        assert main([*command, "--out", str(tmp_path / f"{name}.jsonl.gz")]) == 0
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()
    with gzip.open(tmp_path / "a.jsonl.gz", "rt", encoding="utf-8") as lines:
        lessons = [json.loads(line) for line in lines]
    assert len(lessons) == 30
    assert {lesson["canary"] for lesson in lessons} == {CANARY}
    assert all(
        lesson["plain"] and lesson["messages"][-1]["role"] == "assistant" for lesson in lessons
    )


@pytest.mark.parametrize(
    ("settings", "out", "word"),
    [
        ('{"kinds": {"copy": 1}, "nmber": 3}', "x.jsonl.gz", 'did you mean "number"'),
        (
            '{"kinds": {"copy": -1}, "number": 3}',
            "x.jsonl.gz",
            "kinds.copy: -1 should be greater than 0",
        ),
        ('{"kinds": {"copy": 1}, "number": 3', "x.jsonl.gz", "is not valid JSON"),
        ('{"kinds": {"copy": 1}, "number": 3}', "x.txt", "compressed JSON lines"),
    ],
)
def test_bad_input_is_refused(
    settings: str, out: str, word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(["worldsense", "write-lessons", "--settings", settings, "--out", str(tmp_path / out)])
        == 2
    )
    assert word in capsys.readouterr().err
    assert not any(tmp_path.iterdir())
