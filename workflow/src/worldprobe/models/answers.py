"""From what an engine computed to what it answers: sums, flags and texts, the same for every engine."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from worldprobe.errors import UserError
from worldprobe.models.chat import Encoded
from worldprobe.models.constrain import Answer, Options
from worldprobe.models.engine import NOT_FINITE, NOTHING_SCORED, POSITIVE, Scored
from worldprobe.models.reasoning import PROMPT_END, before_stop, marks_of

#: Prompt tokens decoded together with new ones, because some tokenizers write a token differently at the start of a text.
ANCHOR = 4
#: What a tokenizer writes for a part of a character, and for how many tokens the rest is waited for.
PART = "\N{REPLACEMENT CHARACTER}"
PATIENCE = 8
#: A log probability this far above zero, in nats, is rounding; more is not a log probability.
ROUNDING = 1e-3
HOW = {"skip_special_tokens": True, "clean_up_tokenization_spaces": False}


def scored(tokenizer: Any, encoded: Encoded, values: Sequence[float], per_token: bool) -> Scored:
    """Sum in double precision; what is not a log probability (not finite, or clearly above zero) is flagged.

    Args:
        tokenizer: of transformers, for the tokens' names.
        encoded: the sequence.
        values: log probabilities of its target tokens, nats.
        per_token: keep them, with the tokens' names.
    """
    names = tuple(tokenizer.convert_ids_to_tokens(list(encoded.ids[encoded.start :]))) if per_token else None
    return add_up(values, encoded.flags, names, len(encoded.ids))


def add_up(values: Sequence[float], flags: tuple[str, ...], names: tuple[str, ...] | None, n_read: int) -> Scored:
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
        return Scored(None, len(values), flags, None if names is None else tuple(values), names, n_read)
    values = [min(v, 0.0) for v in values]
    return Scored(math.fsum(values), len(values), flags, None if names is None else tuple(values), names, n_read)


def decode(tokenizer: Any, ids: Sequence[int], marks: Mapping[int, str]) -> str:
    """Text without special tokens, except those that mark thoughts (see ``thoughts.marks_of``)."""
    parts, start = [], 0
    for place, token in enumerate(ids):
        if token in marks:
            parts += [tokenizer.decode(ids[start:place], **HOW), marks[token]]
            start = place + 1
    return "".join([*parts, tokenizer.decode(ids[start:], **HOW)])


def continuation(tokenizer: Any, prompt: Sequence[int], new: Sequence[int], marks: Mapping[int, str]) -> str:
    """Text of new tokens behind a prompt, without the prompt."""
    anchor = list(prompt[-ANCHOR:])
    return decode(tokenizer, [*anchor, *new], marks)[len(decode(tokenizer, anchor, marks)) :]


def read_choice(
    tokens: Sequence[int], logprobs: Sequence[Mapping[int, float]] | None, allowed: Options
) -> tuple[str | None, float | None]:
    """The option that constrained tokens settle on, and the margin of the closest step.

    Args:
        tokens: what was written.
        logprobs: for each step, token -> log probability or logit, at least of the likeliest allowed ones.
        allowed: the options.

    Returns:
        The option, or None where the tokens settle on none; and by how many nats, at the closest step, the best token of other
        text is behind the chosen one, or None where that is not known.
    """
    answer = Answer(allowed)
    for step, token in enumerate(tokens):
        further = answer.take(token, logprobs[step] if logprobs is not None and step < len(logprobs) else {})
        if further is None:
            break
        answer = further
        if (settled := answer.settled()) is not None:
            return settled
    return None, None


def are_finite(logprobs: Sequence[Mapping[int, float]] | None) -> bool:
    """Are these numbers of a sound model? Minus infinity is one (a token that may not come), NaN and infinity are not."""
    return all(value == value and value != math.inf for step in logprobs or () for value in step.values())


def ensure_finite(values: Sequence[Sequence[float]], name: str) -> None:
    """Refuse a model that computes NaN or infinity for short probes.

    Raises:
        UserError: some value is not finite.
    """
    if not all(math.isfinite(value) for row in values for value in row):
        raise UserError(
            name,
            "computes NaN or infinite log probabilities, so none of its answers would mean anything.",
            "Check the weights; with dtype float16 try bfloat16 or float32, because float16 overflows easily.",
        )


class Transcript:
    """The text that new tokens make behind a prompt, decoded piece by piece, and where a stop ends its reply.

    Only the last few tokens are decoded at each step, so the cost of a long answer grows with its length, not its square.

    Args:
        tokenizer: of transformers.
        prompt: the prompt's token ids.
        stops: texts that end the reply; in thoughts they end nothing.
    """

    def __init__(self, tokenizer: Any, prompt: Sequence[int], stops: Sequence[str]) -> None:
        self.tokenizer, self.prompt, self.stops = tokenizer, prompt, tuple(stops)
        self.tokens: list[int] = []
        self._marks = marks_of(tokenizer)
        self._opening = decode(tokenizer, list(prompt[-PROMPT_END:]), self._marks) if self.stops else ""
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
        # A character whose bytes are not all there yet ends in a replacement character: wait for the next token.
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

    def text(self) -> str:
        """The text up to the first stop of its reply."""
        return before_stop(self.whole(), self.stops, self._opening)
