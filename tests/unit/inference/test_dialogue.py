"""Questions and dialogues: equal ones are asked once, follow-ups depend on replies, rounds are
resumed, replies read right.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from worldprobe.inference.dialogue import converse, extend, last_word, read_reply
from worldprobe.inference.requests import Choose, Generate, question_id, run_requests
from worldprobe.inference.store import open_store
from worldprobe.models.engine import (
    Completion,
    Decoding,
    EngineFacts,
    Loglikelihood,
    Message,
    Scored,
)

SHORT, LONG = Decoding(5), Decoding(50, ("STOP",))
ACCEPT = ("TRUE", "FALSE")
FINAL = "What is the final answer?"


@dataclass(frozen=True)
class TwoRounds:
    """A dialogue with a second question, always or where the first reply cannot be read."""

    always: bool = False

    def question(self, prompt, replies):
        return Generate(prompt, SHORT if replies else LONG)

    def follow_up(self, prompt, replies):
        is_read = not self.always and last_word(ACCEPT)(replies[-1].text).status == "ok"
        return None if len(replies) > 1 or is_read else extend(prompt, replies[-1], FINAL)

    def read(self, replies):
        return read_reply(last_word(ACCEPT), replies[-1])


class Talker:
    """An engine that answers by rule and notes what it is asked; ``dies_at`` ends it at that
    question.
    """

    facts = EngineFacts("talker", None, "0", "talker", "float32", {}, 100, {}, has_chat=True)

    def __init__(self, dies_at: int | None = None) -> None:
        self.asked: list = []
        self.dies_at = dies_at

    def note(self, question) -> None:
        if len(self.asked) == self.dies_at:
            raise KeyboardInterrupt
        self.asked.append(question)

    def rendered(self, prompt, chooses=False):
        return (
            prompt if isinstance(prompt, str) else "".join(f"<{m.role}>{m.content}" for m in prompt)
        )

    def score(self, queries, *, skip=(), per_token=False):
        for i, query in enumerate(queries):
            if i not in skip:
                self.note(query)
                yield (
                    i,
                    Scored(
                        -float(len(query.target)),
                        1,
                        (),
                        (-1.0,) if per_token else None,
                        ("t",) if per_token else None,
                    ),
                )

    def generate(self, prompts, decoding, *, skip=()):
        for i, prompt in enumerate(prompts):
            if i not in skip:
                self.note((prompt, decoding))
                text = self.rendered(prompt)
                if "broken" in text:
                    yield i, Completion("", "not_finite", 0)
                elif FINAL in text:
                    yield i, Completion("true.", "end", 2)
                elif "hard" in text:
                    yield i, Completion("Let me think about", "length", decoding.max_new_tokens)
                else:
                    yield i, Completion("It is FALSE.", "stop", 4, "long" in text)

    def choose(self, prompts, options, *, skip=()):
        for i, prompt in enumerate(prompts):
            if i not in skip:
                self.note((prompt, tuple(options[i])))
                yield i, Completion(options[i][-1], "end", 1, margin=0.5)


def user(text):
    return (Message("system", "Be brief."), Message("user", text))


def test_equal_questions_are_asked_once_and_each_kind_and_way_apart(tmp_path):
    engine = Talker()
    questions = [
        Loglikelihood("A", "b"),
        Generate("p", SHORT),
        Choose("p", ("1", "2")),
        Loglikelihood("A", "b"),
        Generate("p", LONG),
        Choose("p", ("1", "2", "3")),
        Loglikelihood(None, "bb"),
    ]
    found = run_requests(questions, engine, open_store(tmp_path, engine))
    assert len(engine.asked) == 6
    assert [type(value) for value in found.values] == [
        Scored,
        Completion,
        Completion,
        Scored,
        Completion,
        Completion,
        Scored,
    ]
    assert [found.values[0].logprob, found.values[6].logprob] == [-1.0, -2.0]
    assert [found.values[2].text, found.values[5].text] == [
        "2",
        "3",
    ], "each prompt has its own options"
    assert found.values[2].margin == 0.5
    again = Talker()
    assert run_requests(questions, again, open_store(tmp_path, again)) == found
    assert again.asked == []


def test_an_id_changes_with_everything_that_is_asked_and_with_nothing_else():
    engine = Talker()
    different = [
        Loglikelihood("A", "b"),
        Loglikelihood(None, "A b"),
        Loglikelihood("", "A b"),
        Loglikelihood("A", "b", ""),
        Generate("p", SHORT),
        Generate("p", LONG),
        Generate("p", Decoding(5, temperature=1.0)),
        Generate("p", Decoding(5, temperature=1.0, seed=1)),
        Generate("<user>p", SHORT),
        Generate((Message("user", "p"),), SHORT),
        Choose("p", ("1", "2")),
        Choose("p", ("2", "1")),
    ]
    ids = {question_id(question, engine) for question in different}
    assert len(ids) == len(different)
    assert question_id(different[0], engine) == question_id(Loglikelihood("A", "b"), Talker())
    assert question_id(different[0], engine, "2") not in ids


def test_scores_with_and_without_tokens_do_not_mix(tmp_path):
    engine = Talker()
    store = open_store(tmp_path, engine)
    assert run_requests([Loglikelihood("A", "b")], engine, store).values[0].tokens is None
    assert run_requests([Loglikelihood("A", "b")], engine, store, per_token=True).values[
        0
    ].tokens == ("t",)
    assert run_requests([Loglikelihood("A", "b")], engine, store).values[0].tokens is None


OPENINGS = [user("easy"), user("hard one"), user("hard two"), user("broken"), user("long")]


def test_a_follow_up_is_asked_only_where_the_reply_cannot_be_read_and_contains_the_conversation(
    tmp_path,
):
    engine = Talker()
    exchanges, origins = converse(
        [(p, TwoRounds()) for p in OPENINGS], engine, open_store(tmp_path, engine)
    )
    assert [(e.reading.value, e.reading.status) for e in exchanges] == [
        ("FALSE", "ok"),
        ("TRUE", "ok"),
        ("TRUE", "ok"),
        (None, "not_finite"),
        ("FALSE", "truncated"),
    ]
    assert [len(e.replies) for e in exchanges] == [1, 2, 2, 1, 1]
    assert [r.finish for r in exchanges[1].replies] == ["length", "end"]
    assert [r.n_tokens for r in exchanges[1].replies] == [50, 2]
    assert exchanges[1].prompt == (
        *user("hard one"),
        Message("assistant", "Let me think about"),
        Message("user", FINAL),
    )
    assert [decoding for _, decoding in engine.asked].count(SHORT) == 2
    assert len({digest for e in exchanges for digest in e.sent}) == 7
    assert sum(entry["answers"] for entry in origins["made_by"]) == 7


@pytest.mark.parametrize("dies_at", [2, 6])
def test_an_interrupted_dialogue_continues_in_its_round(tmp_path, dies_at):
    openings = [(p, TwoRounds()) for p in OPENINGS]
    dying, later, alone = Talker(dies_at), Talker(), Talker()
    with pytest.raises(KeyboardInterrupt):
        converse(openings, dying, open_store(tmp_path / "a", dying))
    resumed = converse(openings, later, open_store(tmp_path / "a", later))
    assert len(dying.asked) + len(later.asked) == 7
    assert resumed == converse(openings, alone, open_store(tmp_path / "b", alone))


@pytest.mark.parametrize(
    ("text", "value", "status"),
    [
        ("TRUE", "TRUE", "ok"),
        ("the answer is: false!\n", "FALSE", "ok"),
        ("**True**.", "TRUE", "ok"),
        ("\u201cFalse.\u201d", "FALSE", "ok"),
        ("TRUE or FALSE, I cannot say", None, "out_of_range"),
        ("", None, "no_word"),
        (" .\n", None, "no_word"),
    ],
)
def test_the_last_word_is_read_whatever_its_case_and_punctuation(text, value, status):
    reading = last_word(ACCEPT)(text)
    assert (reading.value, reading.status) == (value, status)
