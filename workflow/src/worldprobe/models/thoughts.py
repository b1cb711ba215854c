"""Thoughts: what a model writes before its reply, between <think> and </think>; kept apart and never read as the answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from worldprobe.models.engine import Decoding, Written

OPEN, CLOSE = "<think>", "</think>"
#: How much of a prompt is looked at for thoughts that it opens.
PROMPT_END = 32


def split_thoughts(text: str, prompt: str = "") -> tuple[str, str]:
    """Thoughts and reply.

    Args:
        text: what was written.
        prompt: what it continues; some chat templates open the thoughts themselves.

    >>> split_thoughts("<think>Left, then right.</think>TRUE")
    ('Left, then right.', 'TRUE')
    >>> split_thoughts("so it is left</think>TRUE", "...<think>"), split_thoughts("<think>no end"), split_thoughts("TRUE")
    (('so it is left', 'TRUE'), ('no end', ''), ('', 'TRUE'))
    """
    begins = text.lstrip().startswith(OPEN)
    thoughts, closed, reply = text.rpartition(CLOSE)
    if not closed:
        if not (begins or prompt.rstrip().endswith(OPEN)):
            return "", text
        thoughts, reply = text, ""
    thoughts = thoughts.strip()
    return (thoughts.removeprefix(OPEN) if begins else thoughts).strip(), reply.lstrip()


def part_thoughts(written: Written, prompt: str, decoding: Decoding, count: Callable[[str], int]) -> Written:
    """What was written, thoughts apart; too long a reply, or thoughts beyond their own limit, count as cut.

    Args:
        written: as the engine wrote it, thoughts and reply in one text.
        prompt: the end of what it continues.
        decoding: how it was written.
        count: text -> number of tokens.
    """
    if CLOSE not in written.text and OPEN not in written.text and not prompt.rstrip().endswith(OPEN):
        is_long = decoding.thoughts and written.n_tokens > decoding.max_new_tokens
        return replace(written, finish="length") if is_long else written
    thoughts, reply = split_thoughts(written.text, prompt)
    n_reply = count(reply) if reply else 0
    n_thoughts = max(written.n_tokens - n_reply, 0)
    is_long = decoding.thoughts and (n_reply > decoding.max_new_tokens or n_thoughts > decoding.thoughts)
    return replace(
        written,
        text=reply,
        n_tokens=n_reply,
        thoughts=thoughts,
        n_thought_tokens=n_thoughts,
        finish="length" if is_long else written.finish,
    )
