"""Reads the replies of an OpenAI-compatible server: why writing ended, how many tokens, whether its numbers are finite."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from worldprobe.models.engine import Finish, Prompt


def messages(prompt: Prompt) -> list[dict[str, str]]:
    """A conversation as the protocol takes it; plain text as one user message."""
    if isinstance(prompt, str):
        return [{"role": "user", "content": prompt}]
    return [{"role": message.role, "content": message.content} for message in prompt]


def before_stop(text: str, stops: Sequence[str]) -> str:
    """The text up to the first stop; servers that ignore stops return more.

    >>> before_stop("one. two", (".", "w"))
    'one'
    """
    return text[: min([at for stop in stops if (at := text.find(stop)) >= 0], default=len(text))]


def read_finish(answer: Any, stops: Sequence[str]) -> Finish:
    """Why writing ended. Most servers report a stop text like an end token: the stop is assumed where one was set."""
    choice = answer["choices"][0]
    if choice.get("finish_reason") == "length":
        return "length"
    if "stop_reason" in choice:  # vLLM: the stop text, or the number or absence of an end token
        return "stop" if isinstance(choice["stop_reason"], str) else "end"
    return "stop" if stops else "end"


def count_tokens(answer: Any) -> int:
    """New tokens as the server counts them; 0 where it does not."""
    return int((answer.get("usage") or {}).get("completion_tokens") or 0)


def is_sound(answer: Any) -> bool:
    """Are the log probabilities of the written tokens numbers? True where the server reports none."""
    logprobs = answer["choices"][0].get("logprobs") or {}
    values = logprobs.get("token_logprobs") or [entry.get("logprob") for entry in logprobs.get("content") or ()]
    return all(value is not None and math.isfinite(value) for value in values)
