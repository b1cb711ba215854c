"""Reads the replies of an OpenAI-compatible server: why writing ended, how many tokens, whether its numbers are finite."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

from worldprobe.models.engine import Decoding, Finish, Prompt, Written
from worldprobe.models.reasoning import before_stop, part_thoughts
from worldprobe.models.server.capabilities import read_text, whole_characters

#: More than any reply or prompt has.
MOST_TOKENS = 2**31


def messages(prompt: Prompt) -> list[dict[str, str]]:
    """A conversation as the protocol takes it; plain text as one user message."""
    if isinstance(prompt, str):
        return [{"role": "user", "content": prompt}]
    return [{"role": message.role, "content": message.content} for message in prompt]


def read_finish(answer: Any, stops: Sequence[str]) -> Finish:
    """Why writing ended. Most servers report a stop text like an end token: the stop is assumed where one was set."""
    choice = answer["choices"][0]
    if choice.get("finish_reason") == "length":
        return "length"
    if "stop_reason" in choice:  # vLLM: the stop text, or the number or absence of an end token
        return "stop" if isinstance(choice["stop_reason"], str) else "end"
    return "stop" if stops else "end"


def count_tokens(answer: Any, which: Literal["completion_tokens", "prompt_tokens"] = "completion_tokens") -> int:
    """New tokens, or those of the prompt, as the server counts them; 0 where it does not."""
    return _as_count((answer.get("usage") or {}).get(which))


def _as_count(value: Any) -> int:
    """A number of tokens; 0 for what cannot be one."""
    return value if isinstance(value, int) and 0 <= value <= MOST_TOKENS else 0


def is_sound(answer: Any) -> bool:
    """Are the log probabilities of the written tokens numbers? True where the server reports none."""
    logprobs = answer["choices"][0].get("logprobs") or {}
    values = logprobs.get("token_logprobs") or [entry.get("logprob") for entry in logprobs.get("content") or ()]
    return all(value is not None and math.isfinite(value) for value in values)


def thoughts_apart(answer: Any) -> str:
    """Thoughts that a server puts into a field of their own."""
    message = answer["choices"][0].get("message") or {}
    return whole_characters(str(message.get("reasoning_content") or message.get("reasoning") or "")).strip()


def read_written(answer: Any, decoding: Decoding, was_cut: bool, count: Callable[[str], int] | None, prompt: str = "") -> Written:
    """What a server wrote, thoughts apart: in a field of their own (``reasoning_content``, ``reasoning``), or between marks.

    Args:
        answer: a completion or a chat.
        decoding: how it was written.
        was_cut: the prompt lost its beginning.
        count: text -> number of tokens; where not known, tokens are shared out by characters.
        prompt: the end of what the text continues.
    """
    thoughts = thoughts_apart(answer)
    usage = answer.get("usage") or {}
    whole = count_tokens(answer)
    text = read_text(answer)
    finish, n_prompt = read_finish(answer, decoding.ends_early), count_tokens(answer, "prompt_tokens")
    by_share = count or (lambda part: round(whole * len(part) / max(len(thoughts) + len(text), 1)))
    n_thoughts = _as_count((usage.get("completion_tokens_details") or {}).get("reasoning_tokens"))
    if not thoughts and not n_thoughts:
        return part_thoughts(Written(text, finish, whole, was_cut, n_prompt_tokens=n_prompt), prompt, decoding, by_share)
    text = before_stop(text.lstrip(), decoding.stops)
    n_thoughts = n_thoughts or min(by_share(thoughts), whole)
    written = Written(text, finish, max(whole - n_thoughts, 0), was_cut, None, thoughts, n_thoughts, n_prompt)
    is_long = decoding.thoughts and (written.n_tokens > decoding.max_new_tokens or n_thoughts > decoding.thoughts)
    return replace(written, finish="length") if is_long else written
