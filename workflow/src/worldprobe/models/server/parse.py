"""Reads an OpenAI-compatible server's replies: texts, why they ended, numbers, where the tokens of an echoed prompt are."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

from worldprobe.models.answers import PART
from worldprobe.models.engine import Completion, Decoding, Finish, Prompt
from worldprobe.models.reasoning import before_stop, part_thoughts

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


def read_completion(
    answer: Any, decoding: Decoding, was_cut: bool, count: Callable[[str], int] | None, prompt: str = ""
) -> Completion:
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
        return part_thoughts(Completion(text, finish, whole, was_cut, n_prompt_tokens=n_prompt), prompt, decoding, by_share)
    text = before_stop(text.lstrip(), decoding.stops)
    n_thoughts = n_thoughts or min(by_share(thoughts), whole)
    written = Completion(text, finish, max(whole - n_thoughts, 0), was_cut, None, thoughts, n_thoughts, n_prompt)
    is_long = decoding.thoughts and (written.n_tokens > decoding.max_new_tokens or n_thoughts > decoding.thoughts)
    return replace(written, finish="length") if is_long else written


def read_text(answer: Any) -> str:
    """What was written, of a completion or of a chat.

    Raises:
        TypeError: it is not text, e.g. a list of parts, of which some may be thoughts.
    """
    choice = answer["choices"][0]
    text = choice["message"]["content"] if "message" in choice else choice["text"]
    if not isinstance(text, str | None):
        raise TypeError("not text")
    return whole_characters(text or "")


def whole_characters(text: str) -> str:
    """The text without halves of characters, which some servers write where a limit cuts one, and no file can contain."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def spans(text: str, tokens: Sequence[str], offsets: Sequence[int]) -> tuple[int, list[tuple[int, int]]] | None:
    """Number of start tokens, and [begin, end) in characters of every token after them; None where it is not certain.

    >>> spans("a cat", ["a", " cat"], [0, 1])
    (0, [(0, 1), (1, 5)])
    >>> spans("a cat", ["<s>", "a", "cat"], [0, 3, 4])
    (1, [(0, 1), (1, 5)])
    >>> spans("a cat", ["a", " dog"], [0, 1]) is None
    True
    """
    for starts in range(min(2, len(tokens)) + 1):
        rest = list(tokens[starts:])
        if starts and all(text.startswith(token) for token in tokens[:starts]) and _laid(text, tokens) is not None:
            break  # the text itself begins so
        shift = sum(len(token) for token in tokens[:starts])
        for by in {0, shift}:
            given = [offset - by for offset in offsets[starts:]]
            if _agree(text, rest, given):
                ends = [*given[1:], len(text)]
                return starts, list(zip(given, ends, strict=True))
        laid = _laid(text, rest)
        if laid is not None:
            return starts, laid
    return None


def _agree(text: str, tokens: Sequence[str], offsets: Sequence[int]) -> bool:
    """Do the offsets cover the text without a gap, and is each token where its offset says?"""
    if not tokens or len(tokens) != len(offsets) or offsets[0] != 0:
        return False
    for token, low, high in zip(tokens, offsets, [*offsets[1:], len(text)], strict=True):
        if low > high or (PART not in token and text[low:high] != token):
            return False
    return True


def _laid(text: str, tokens: Sequence[str]) -> list[tuple[int, int]] | None:
    """Lay the tokens along the text; a space that a token lacks, or has too many, is the tokenizer's own."""
    at = 0
    found = []
    for k, token in enumerate(tokens):
        if PART in token:
            return None
        if text.startswith(token, at):
            end = at + len(token)
        elif text.startswith(" " + token, at):
            end = at + 1 + len(token)
        elif k == 0 and token.startswith(" ") and text.startswith(token[1:]):
            end = len(token) - 1
        else:
            return None
        found.append((at, end))
        at = end
    return found if at == len(text) else None
