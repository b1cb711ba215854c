"""Dialogues: rounds of questions in which what is asked next depends on what was answered.

Each round is one list of questions, kept and resumed like any other, so an interrupted dialogue
continues where it was.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from unicodedata import decimal

from worldprobe.inference.requests import (
    Choose,
    Generate,
    digest_prompt,
    merge_origins,
    run_requests,
)
from worldprobe.inference.store import Store
from worldprobe.models.engine import Completion, Decoding, Engine, Message, Prompt


class Dialogue(Protocol):
    """How one unit (an item, a trial) is asked and read."""

    def question(self, prompt: Prompt, replies: Sequence[Completion]) -> Generate | Choose:
        """What is asked now; ``replies`` are those so far, ``prompt`` contains them."""

    def follow_up(self, prompt: Prompt, replies: Sequence[Completion]) -> Prompt | None:
        """The prompt of the next round, or None where the dialogue is finished."""

    def read(self, replies: Sequence[Completion]) -> Reading:
        """The answer that the replies give."""


@dataclass(frozen=True)
class OneRound:
    """One question, one reply.

    Attributes:
        reader: reads the reply.
        decoding: how it is written; or
        options: among which it is chosen.
    """

    reader: Reader
    decoding: Decoding | None = None
    options: tuple[str, ...] = ()

    def question(self, prompt: Prompt, replies: Sequence[Completion]) -> Generate | Choose:
        """See ``Dialogue.question``."""
        return (
            Choose(prompt, self.options)
            if self.decoding is None
            else Generate(prompt, self.decoding)
        )

    def follow_up(self, prompt: Prompt, replies: Sequence[Completion]) -> Prompt | None:
        """See ``Dialogue.follow_up``: there is none."""
        return None

    def read(self, replies: Sequence[Completion]) -> Reading:
        """See ``Dialogue.read``."""
        return read_reply(self.reader, replies[-1])


@dataclass
class Exchange:
    """The dialogue about one unit.

    Attributes:
        prompt: the last prompt, which contains all replies but the last one.
        replies: in order.
        reading: what they say, once all are there.
        sent: digest of each round's prompt as it was sent.
    """

    prompt: Prompt
    replies: list[Completion] = field(default_factory=list)
    reading: Reading | None = None
    sent: list[str] = field(default_factory=list)


def extend(prompt: Prompt, reply: Completion, says: str) -> Prompt:
    """The prompt with the reply and what is said next: further messages, or further text."""
    if isinstance(prompt, str):
        return f"{prompt}{reply.text}\n\n{says}\n"
    return (*prompt, Message("assistant", reply.text), Message("user", says))


#: Why writing ended -> status of a reply that is none and never read.
NO_REPLY = {"not_finite": "not_finite", "content_filter": "content_filter", "refusal": "refused"}


def read_reply(reader: Reader, reply: Completion) -> Reading:
    """What a reply says; a model that computed no numbers said nothing, and a prompt that was cut
    was not the question.
    """
    if reply.finish in NO_REPLY:
        return Reading(None, NO_REPLY[reply.finish])
    reading = reader(reply.text)
    return Reading(reading.value, "truncated") if reply.prompt_was_cut else reading


def converse(
    openings: Sequence[tuple[Prompt, Dialogue]],
    engine: Engine,
    store: Store,
    protocol: str = "1",
    what: str = "",
    total: int | None = None,
) -> tuple[list[Exchange], dict[str, Any]]:
    """Hold many dialogues at once, round by round.

    Args:
        openings: for each unit its first prompt and its dialogue.
        engine: a loaded model.
        store: the engine's answers.
        protocol: version of how the questions are asked.
        what: what is being done, for the progress lines.
        total: how many units the openings belong to, for the progress lines.

    Returns:
        One exchange per opening, and which processes made the answers (see ``describe_origins``).
    """
    exchanges = [Exchange(prompt) for prompt, _ in openings]
    origins: list[dict[str, Any]] = []
    open_ones = list(range(len(openings)))
    while open_ones:
        asked = [
            openings[i][1].question(exchanges[i].prompt, exchanges[i].replies) for i in open_ones
        ]
        answers = run_requests(
            asked, engine, store, protocol, what=what, total=total if not origins else None
        )
        origins.append(answers.origins)
        still = []
        for i, question, reply in zip(open_ones, asked, answers.values, strict=True):
            exchange, dialogue = exchanges[i], openings[i][1]
            exchange.sent.append(digest_prompt(question, engine))
            exchange.replies.append(reply)
            following = (
                None
                if reply.finish in ("not_finite", "content_filter")
                else dialogue.follow_up(exchange.prompt, exchange.replies)
            )
            if following is not None:
                exchange.prompt = following
                still.append(i)
        open_ones = still
    for exchange, (_, dialogue) in zip(exchanges, openings, strict=True):
        exchange.reading = dialogue.read(exchange.replies)
    return exchanges, merge_origins(origins)


#: Letters that stand around a numeral without a blank: Chinese, Japanese and Korean ones.
_BESIDE = (
    r"\u1100-\u11ff\u3005\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u9fff\uac00-\ud7ff"
    r"\uf900-\ufaff\uff66-\uffdc\U00020000-\U0003ffff"
)
#: A numeral; what is joined to a letter by a hyphen has no minus.
NUMERAL = re.compile(
    rf"(?<![^\W{_BESIDE}])(?<![.,\uff0e])(?:(?<!\w)[-\u2212\uff0d])?"
    rf"\d+(?:[.,\uff0e]\d+)*(?![^\W{_BESIDE}])"
)
#: A whole number with decimals.
DECIMALS = re.compile(r"\.0{1,2}$")
#: Removed around a word: whatever is neither letter nor digit, such as punctuation, markup and
#: quotation marks.
AROUND = re.compile(r"^[\W_]+|[\W_]+$")


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read: one of the accepted answers as it is accepted, or None; and why.

    ``status`` is ok, no_numeral, no_word or out_of_range; of a dialogue also truncated or one of
    ``NO_REPLY``.
    """

    value: str | None
    status: str


#: Text -> reading.
Reader = Callable[[str], Reading]


def first_numeral(accept: Sequence[str]) -> Reader:
    """The first numeral in the text that is one of the answers, as EWoK reads free answers.

    >>> read = first_numeral("12345")
    >>> read("I would say 4.").value, read("10 out of 10").status, read("none").status
    ('4', 'out_of_range', 'no_numeral')
    >>> read("4.0").value, read("\N{MINUS SIGN}1").status, read("选２更合理").value
    ('4', 'out_of_range', '2')
    """

    def read(text: str) -> Reading:
        numerals = [_plain(numeral) for numeral in NUMERAL.findall(text)]
        for numeral in numerals:
            if (whole := DECIMALS.sub("", numeral)) in accept:
                return Reading(whole, "ok")
        return Reading(None, "out_of_range" if numerals else "no_numeral")

    return read


def _plain(numeral: str) -> str:
    """A numeral in ASCII, whatever its script's digits."""
    return "".join(str(decimal(sign, sign)) for sign in numeral).replace("\uff0e", ".")


def last_word(accept: Sequence[str]) -> Reader:
    """The last word, whatever its case and the punctuation around it, as WorldSense reads answers.

    >>> read = last_word(("TRUE", "FALSE"))
    >>> (
    ...     read("So the statement is **true**.").value,
    ...     read("True or maybe not").status,
    ...     read(" ... ").status,
    ... )
    ('TRUE', 'out_of_range', 'no_word')
    """
    accepted = {answer.upper(): answer for answer in accept}

    def read(text: str) -> Reading:
        words = [word for word in (AROUND.sub("", part) for part in text.split()) if word]
        if not words:
            return Reading(None, "no_word")
        value = accepted.get(words[-1].upper())
        return Reading(value, "out_of_range" if value is None else "ok")

    return read
