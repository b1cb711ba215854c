"""From what an engine computed to what it answers: sums and flags, texts, and choices; the same for
every engine.

A choice is constrained greedy decoding: at each step the likeliest token whose text keeps the
answer a beginning of an option. As soon as one option is left the answer is settled, so numerals
need one step: one forward pass per prompt.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from worldprobe.errors import UserError
from worldprobe.models.chat import Encoded
from worldprobe.models.engine import NOT_FINITE, NOTHING_SCORED, POSITIVE, Scored
from worldprobe.models.reasoning import PROMPT_END, before_stop, marks_of
from worldprobe.models.tokenizers import special_tokens

#: Prompt tokens decoded together with new ones, because some tokenizers write a token differently
#: at the start of a text.
ANCHOR = 4
#: What a tokenizer writes for a part of a character, and for how many tokens the rest is waited
#: for.
PART = "\N{REPLACEMENT CHARACTER}"
PATIENCE = 8
#: A log probability this far above zero, in nats, is rounding; more is not a log probability.
ROUNDING = 1e-3
HOW = {"skip_special_tokens": True, "clean_up_tokenization_spaces": False}


def scored(tokenizer: Any, encoded: Encoded, values: Sequence[float], per_token: bool) -> Scored:
    """Sum in double precision; what is not a log probability (not finite, or clearly above zero) is
    flagged.

    Args:
        tokenizer: of transformers, for the tokens' names.
        encoded: the sequence.
        values: log probabilities of its target tokens, nats.
        per_token: keep them, with the tokens' names.
    """
    names = (
        tuple(tokenizer.convert_ids_to_tokens(list(encoded.ids[encoded.start :])))
        if per_token
        else None
    )
    return add_up(values, encoded.flags, names, len(encoded.ids))


def add_up(
    values: Sequence[float], flags: tuple[str, ...], names: tuple[str, ...] | None, n_read: int
) -> Scored:
    """The answer to a query.

    Args:
        values: log probabilities of its target tokens, nats.
        flags: what is known of it already.
        names: of its target tokens, where each is asked for.
        n_read: tokens of the whole sequence.
    """
    if not values:
        flags = (*flags, NOTHING_SCORED)
    elif not all(math.isfinite(v) for v in values):
        flags = (*flags, NOT_FINITE)
    elif max(values) > ROUNDING:
        flags = (*flags, POSITIVE)
    if {NOTHING_SCORED, NOT_FINITE, POSITIVE} & set(flags):
        return Scored(
            None, len(values), flags, None if names is None else tuple(values), names, n_read
        )
    values = [min(v, 0.0) for v in values]
    return Scored(
        math.fsum(values),
        len(values),
        flags,
        None if names is None else tuple(values),
        names,
        n_read,
    )


def decode(tokenizer: Any, ids: Sequence[int], marks: Mapping[int, str]) -> str:
    """Text without special tokens, except those that mark thoughts (see ``reasoning.marks_of``)."""
    parts, start = [], 0
    for index, token in enumerate(ids):
        if token in marks:
            parts += [tokenizer.decode(ids[start:index], **HOW), marks[token]]
            start = index + 1
    return "".join([*parts, tokenizer.decode(ids[start:], **HOW)])


def continuation(
    tokenizer: Any, prompt: Sequence[int], new: Sequence[int], marks: Mapping[int, str]
) -> str:
    """Text of new tokens behind a prompt, without the prompt."""
    anchor = list(prompt[-ANCHOR:])
    return decode(tokenizer, [*anchor, *new], marks)[len(decode(tokenizer, anchor, marks)) :]


#: Tokens that stay free behind a prompt whose answer is one of a few options: the longest answer.
OPTION_ROOM = 16
BYTE_PIECE = re.compile(r"^<0x([0-9A-F]{2})>$")


class Options:
    """The allowed answers, and the tokens that can write them.

    Args:
        tokenizer: of transformers.
        options: answers, none the beginning of another.

    Raises:
        UserError: an option begins another, or the tokenizer cannot write one.
    """

    def __init__(self, tokenizer: Any, options: Sequence[str]) -> None:
        self.options = tuple(options)
        for option in options:
            if not option or any(other != option and other.startswith(option) for other in options):
                raise UserError(
                    f"option {option!r}",
                    "is empty or the beginning of another option.",
                    "Choose options that differ earlier.",
                )
        #: token id -> the text that it adds.
        self.pieces = self._pieces(tokenizer)
        for option in options:
            if not self._can_write(option):
                raise UserError(
                    f"option {option!r}",
                    "cannot be written in this tokenizer.",
                    "Choose other options.",
                )

    def _pieces(self, tokenizer: Any) -> dict[int, str]:
        """Token -> text, for all tokens whose text occurs in an option; read off behind a newline,
        as prompts end.
        """
        letters = set("".join(self.options))
        plain = all(option.isascii() for option in self.options)
        special = set(tokenizer.all_special_ids)
        candidates = []
        for piece, index in tokenizer.get_vocab().items():
            byte = BYTE_PIECE.match(piece)
            text = chr(int(byte[1], 16)) if byte else piece
            if index not in special and (not plain or byte or set(text) <= letters):
                candidates.append(index)
        anchor = tokenizer("\n", add_special_tokens=False)["input_ids"]
        before = tokenizer.decode(anchor, clean_up_tokenization_spaces=False)
        rows = [[*anchor, index] for index in sorted(candidates)]
        texts = [tokenizer.decode(row, clean_up_tokenization_spaces=False) for row in rows]
        pieces = {
            index: text[len(before) :]
            for index, text in zip(sorted(candidates), texts, strict=True)
            if text.startswith(before)
        }
        return {
            index: text
            for index, text in pieces.items()
            if text and any(text in option for option in self.options)
        }

    def _can_write(self, option: str, written: str = "") -> bool:
        return written == option or any(
            option.startswith(written + text) and self._can_write(option, written + text)
            for text in set(self.pieces.values())
        )

    def allowed(self, written: str) -> dict[int, str]:
        """Tokens that keep the answer a beginning of an option."""
        return {
            index: text
            for index, text in self.pieces.items()
            if any(option.startswith(written + text) for option in self.options)
        }

    def settled(self, written: str) -> str | None:
        """The one option that is left, or None while there are several."""
        left = [option for option in self.options if option.startswith(written)]
        return left[0] if len(left) == 1 else None

    def takes_one_token(self) -> bool:
        """Does any first token settle the answer, as with numerals?"""
        return all(self.settled(text) for text in self.allowed("").values())


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer within its options, as far as it is written: one implementation for every engine.

    Attributes:
        options: what may be answered.
        written: the text so far.
        margin: by how many nats, at the closest step, the best token of other text was behind;
            infinite where there was none.
    """

    options: Options
    written: str = ""
    margin: float = math.inf

    def best(self, values: Mapping[int, float]) -> int | None:
        """The likeliest allowed token, by log probabilities or logits; of equals the one with the
        smallest id.

        None where an allowed token's value is not finite: then no token is the likeliest.
        """
        allowed = sorted(self.options.allowed(self.written))
        if not all(math.isfinite(values[token]) for token in allowed):
            return None
        return max(allowed, key=lambda token: values[token])

    def take(self, token: int, values: Mapping[int, float]) -> Answer | None:
        """The answer with one token more, or None where the options do not allow it.

        Args:
            token: what is written.
            values: token -> log probability or logit, at least of the likeliest allowed ones; empty
                where they are not known.
        """
        texts = self.options.allowed(self.written)
        if token not in texts:
            return None
        others = [
            value
            for other, value in values.items()
            if other in texts and texts[other] != texts[token]
        ]
        gap = values[token] - max(others) if others and token in values else math.inf
        return Answer(self.options, self.written + texts[token], min(self.margin, gap))

    def settled(self) -> tuple[str, float | None] | None:
        """The option that is settled on, and the margin where it is known; None while there are
        several.
        """
        option = self.options.settled(self.written)
        return (
            None
            if option is None
            else (option, self.margin if math.isfinite(self.margin) else None)
        )


def read_choice(
    tokens: Sequence[int], logprobs: Sequence[Mapping[int, float]] | None, allowed: Options
) -> tuple[str | None, float | None]:
    """The option that constrained tokens settle on, and the margin of the closest step.

    Args:
        tokens: what was written.
        logprobs: for each step, token -> log probability or logit, at least of the likeliest
            allowed ones.
        allowed: the options.

    Returns:
        The option, or None where the tokens settle on none; and by how many nats, at the closest
        step, the best token of other text is behind the chosen one, or None where that is not
        known.
    """
    answer = Answer(allowed)
    for step, token in enumerate(tokens):
        further = answer.take(
            token, logprobs[step] if logprobs is not None and step < len(logprobs) else {}
        )
        if further is None:
            break
        answer = further
        if (settled := answer.settled()) is not None:
            return settled
    return None, None


def are_finite(logprobs: Sequence[Mapping[int, float]] | None) -> bool:
    """Are these numbers of a sound model? Minus infinity is one (a token that may not come), NaN
    and infinity are not.
    """
    return all(
        value == value and value != math.inf for step in logprobs or () for value in step.values()
    )


def ensure_finite(values: Sequence[Sequence[float]], name: str) -> None:
    """Refuse a model that computes NaN or infinity for short probes.

    Raises:
        UserError: some value is not finite.
    """
    if not all(math.isfinite(value) for row in values for value in row):
        raise UserError(
            name,
            "computes NaN or infinite log probabilities, so none of its answers would mean"
            " anything.",
            "Check the weights; with dtype float16 try bfloat16 or float32, because float16"
            " overflows easily.",
        )


class Transcript:
    """The text that new tokens make behind a prompt, decoded piece by piece, and where a stop ends
    its reply.

    Only the last few tokens are decoded at each step, so the cost of a long answer grows with its
    length, not its square.

    Args:
        tokenizer: of transformers.
        prompt: the prompt's token ids.
        stops: texts that end the reply; in thoughts they end nothing.
    """

    def __init__(self, tokenizer: Any, prompt: Sequence[int], stops: Sequence[str]) -> None:
        self.tokenizer, self.prompt, self.stops = tokenizer, prompt, tuple(stops)
        self.tokens: list[int] = []
        self._marks = marks_of(tokenizer)
        self._opening = (
            decode(tokenizer, list(prompt[-PROMPT_END:]), self._marks) if self.stops else ""
        )
        self._window = list(prompt[-ANCHOR:])
        self._read = len(self._window)
        self._tail = ""
        self._kept = max((len(stop) for stop in self.stops), default=0)

    def add(self, token: int) -> bool:
        """Take one more token; True where the reply now contains a stop."""
        self.tokens.append(token)
        if not self.stops:
            return False
        self._window.append(token)
        before = decode(self.tokenizer, self._window[: self._read], self._marks)
        whole = decode(self.tokenizer, self._window, self._marks)
        # A character whose bytes are not all there yet ends in a replacement character: wait for
        # the next token.
        if whole.endswith(PART) and len(self._window) - self._read < PATIENCE:
            return False
        tail = self._tail + whole[len(before) :]
        self._tail = tail[-self._kept :]
        self._window = self._window[-ANCHOR:]
        self._read = len(self._window)
        return any(stop in tail for stop in self.stops) and len(self.text()) < len(self.whole())

    def whole(self) -> str:
        """The whole text."""
        return continuation(self.tokenizer, self.prompt, self.tokens, self._marks)

    def n_dropped(self) -> int:
        """Special tokens that the text does not show."""
        hidden = special_tokens(self.tokenizer) - self._marks.keys()
        return sum(token in hidden for token in self.tokens)

    def text(self) -> str:
        """The text up to the first stop of its reply."""
        return before_stop(self.whole(), self.stops, self._opening)
