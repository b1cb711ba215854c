"""From what an engine computed to what it answers: sums, flags and texts, the same for every engine."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from worldprobe.models.constrain import Answer, Options
from worldprobe.models.encoding import Encoded
from worldprobe.models.engine import NOT_FINITE, Scored

#: Prompt tokens decoded together with new ones, because some tokenizers write a token differently at the start of a text.
ANCHOR = 4
HOW = {"skip_special_tokens": True, "clean_up_tokenization_spaces": False}


def scored(tokenizer: Any, encoded: Encoded, values: Sequence[float], per_token: bool) -> Scored:
    """Sum in double precision; a log probability above zero is rounding, one that is not finite is flagged.

    Args:
        tokenizer: of transformers, for the tokens' names.
        encoded: the sequence.
        values: log probabilities of its target tokens, nats.
        per_token: keep them, with the tokens' names.
    """
    names = tuple(tokenizer.convert_ids_to_tokens(list(encoded.ids[encoded.start :]))) if per_token else None
    return add_up(values, encoded.flags, names)


def add_up(values: Sequence[float], flags: tuple[str, ...], names: tuple[str, ...] | None) -> Scored:
    """The answer to a query from its tokens' log probabilities; ``names`` where each token is asked for."""
    if not values or not all(math.isfinite(v) for v in values):
        if values:
            flags = (*flags, NOT_FINITE)
        return Scored(None, len(values), flags, None if names is None else tuple(values), names)
    values = [min(v, 0.0) for v in values]
    return Scored(math.fsum(values), len(values), flags, None if names is None else tuple(values), names)


def continuation(tokenizer: Any, prompt: Sequence[int], new: Sequence[int]) -> str:
    """Text of new tokens behind a prompt, without the prompt."""
    anchor = list(prompt[-ANCHOR:])
    before = tokenizer.decode(anchor, **HOW)
    return tokenizer.decode([*anchor, *new], **HOW)[len(before) :]


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
