"""Replies of many styles against a person's reading: errors of both rules are counted, what is
not sure is no answer.
"""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from worldprobe.benchmarks.worldsense.inference.parse import (
    EXPLICIT,
    PAPER,
    count_rule_differences,
    read_explicit,
    reader_of,
)
from worldprobe.benchmarks.worldsense.skins.vocabulary import ANSWERS

#: kind, reply, a person's reading (an answer, or ambiguous, refused, invalid), what was asked where
#: its words matter, and part: tuned (the reader was tuned on them), held_out (chosen by a digest;
#: not looked at before), later (written when the reader was finished), other (written and read by
#: someone who had not seen the reader), options (of the kinds that a real model of 135 million
#: weights wrote and that were misread: numbers with the words of another option, lists of the
#: options, "not entirely").
REPLIES = [
    json.loads(line)
    for line in (Path(__file__).parent / "replies.jsonl").read_text(encoding="utf-8").splitlines()
]
#: Part -> number of replies, and (misread, missed) by each rule. A reply is misread where another
#: answer is read than a person reads, or one where a person reads none; missed where none is read
#: and a person reads one.
ERRORS = {
    "tuned": (171, {EXPLICIT: (0, 1), PAPER: (45, 53)}),
    "held_out": (176, {EXPLICIT: (0, 2), PAPER: (33, 56)}),
    "later": (122, {EXPLICIT: (1, 3), PAPER: (13, 26)}),
    "other": (70, {EXPLICIT: (0, 10), PAPER: (11, 22)}),
    "options": (40, {EXPLICIT: (0, 0), PAPER: (2, 14)}),
}


def errors(rule: str, part: str) -> tuple[int, int]:
    misread = missed = 0
    for row in (row for row in REPLIES if row["part"] == part):
        accepted = ANSWERS[row["kind"]]
        person = row["reading"] if row["reading"] in accepted else None
        read = reader_of(rule, row["kind"], accepted, row.get("text", ""))(row["reply"]).value
        misread += read is not None and read != person
        missed += read is None and person is not None
    return misread, missed


@pytest.mark.parametrize("part", ERRORS)
def test_the_errors_of_both_rules_are_those_that_the_documentation_states(
    part: str, repository: Path
) -> None:
    number, counted = ERRORS[part]
    assert sum(row["part"] == part for row in REPLIES) == number
    assert {rule: errors(rule, part) for rule in counted} == counted
    stated = (repository / "docs" / "appendix" / "worldsense.md").read_text(encoding="utf-8")
    cells = (", ".join(map(str, counted[rule])) for rule in (EXPLICIT, PAPER))
    row = re.compile(rf"^\| {number}\D.*\| {' [|] '.join(cells)} \|$", re.MULTILINE)
    assert row.search(stated.replace(" misread, ", ", ").replace(" missed |", " |"))


def test_an_option_is_read_by_the_words_of_its_own_trial_in_every_wording(tmp_path: Path) -> None:
    """The words of the second option behind the number 1 are no answer, and alone they are the
    answer 2.
    """
    from worldprobe.benchmarks.worldsense.inference.parse import options_of
    from worldprobe.benchmarks.worldsense.skins.skins import read_all_wordings

    for skin in read_all_wordings():
        for text in skin.questions.get("Compl", {}).values():
            asked = text.format(
                description="Ann is near.",
                query="Ann is older than Bo",
                opposite="Ann is younger than Bo",
            )
            assert options_of(asked) == {
                "1": "Ann is older than Bo",
                "2": "Ann is younger than Bo",
            }, asked
            read = reader_of(EXPLICIT, "Compl", ANSWERS["Compl"], asked)
            replies = [
                "1. Ann is younger than Bo.",
                "Ann is younger than Bo.",
                "1. Ann is older than Bo.",
            ]
            assert [read(reply).value for reply in replies] == [None, "2", "1"]


def test_refusals_are_recognised_and_what_has_no_answer_has_its_status() -> None:
    unread = [
        (row["reading"], read_explicit(row["kind"], row["reply"]).status)
        for row in REPLIES
        if len(row["reading"]) > 6
    ]
    found = Counter(unread)
    refused = {status: number for (person, status), number in found.items() if person == "refused"}
    assert refused["refused"] / sum(refused.values()) > 0.85


@pytest.mark.parametrize("kind", ANSWERS)
def test_an_answer_is_read_whatever_surrounds_it(kind: str) -> None:
    forms = [
        "{}",
        "**{}**",
        "The answer is {}.",
        "\\boxed{{{}}}",
        '{{"answer": "{}"}}',
        "<answer>{}</answer>",
        "It is {}.",
    ]
    for answer in ANSWERS[kind]:
        for form in forms:
            assert read_explicit(kind, form.format(answer)).value == answer, form


def test_where_the_rules_differ_is_counted_by_how() -> None:
    replies = ["TRUE", "I would say TRUE, not FALSE.", "TRUE, as stated", "TRUE or FALSE", "Hm."]
    counted = {"replies": 5, "another_answer": 1, "only_explicit": 1, "only_last_word": 1}
    assert count_rule_differences("Infer", ANSWERS["Infer"], replies) == counted
