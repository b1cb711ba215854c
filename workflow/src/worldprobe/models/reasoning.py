"""Thoughts: what a model writes before its reply, kept apart and never read as the answer, whatever
marks them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from worldprobe.models.engine import Completion, Decoding

#: What opens thoughts and what closes them: of Qwen, DeepSeek and many others, Mistral, Seed-OSS,
#: Kimi, Gemma, Cohere and more.
PAIRS = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("[THINK]", "[/THINK]"),
    ("<seed:think>", "</seed:think>"),
    ("◁think▷", "◁/think▷"),
    ("<|channel>", "<channel|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|inner_prefix|>", "<|inner_suffix|>"),
)
#: gpt-oss (harmony) writes messages in channels, and names each before its text.
CHANNEL, MESSAGE, END = "<|channel|>", "<|message|>", "<|end|>"
#: Texts of special tokens that must survive decoding, as the reply could not be told from the
#: thoughts without them.
MARKS = (*(mark for pair in PAIRS for mark in pair), CHANNEL, MESSAGE)

_THOUGHTS = r"<\|channel\|>(?:analysis|commentary).{0,80}?<\|message\|>"
_FINAL = r"(?:<\|end\|>)?(?:<\|start\|>)?(?:assistant)?<\|channel\|>final.{0,80}?<\|message\|>"
_QUOTED = r"(?<![`'\"])"  # a mark that is written about is none
_OPEN = re.compile(
    _QUOTED + "(?:" + "|".join([*(re.escape(mark) for mark, _ in PAIRS), _THOUGHTS]) + ")",
    re.DOTALL,
)
_CLOSE = re.compile(
    _QUOTED + "(?:" + "|".join([*(re.escape(mark) for _, mark in PAIRS), _FINAL]) + ")", re.DOTALL
)
_OPEN_AT_END = re.compile(rf"(?:{_OPEN.pattern})\s*\Z", re.DOTALL)
_CLOSE_AT_END = re.compile(rf"(?:{_CLOSE.pattern})\s*\Z", re.DOTALL)
#: The same channels once special tokens are gone: their names stand before the text without a
#: blank.
_BARE_THOUGHTS = re.compile(
    r"\s*(?:analysis|commentary)(?=[\w\"'“‘(\[*`$\\]|.*assistantfinal)", re.DOTALL
)
_BARE_CLOSE = "assistantfinal"
_BARE_FINAL = re.compile(r"\s*final(?=[A-Z\d\"'“‘(\[*`$\\{<])")
#: The end of a prompt that opens thoughts, where a server writes the prompt itself.
UNSEEN = "<think>"
#: How much of a prompt is looked at for thoughts that it opens, in characters.
PROMPT_END = 64


def opens_thoughts(prompt: str) -> bool:
    r"""Does a prompt end inside thoughts? Some chat templates open them.

    >>> (
    ...     opens_thoughts("<|im_start|>assistant\n<think>\n"),
    ...     opens_thoughts("<think>\n\n</think>\n\n"),
    ... )
    (True, False)
    """
    return _OPEN_AT_END.search(prompt[-PROMPT_END:]) is not None


def closes_thoughts(prompt: str) -> bool:
    r"""Does a prompt end where thoughts are over and the reply begins?

    >>> closes_thoughts("<think>\n\n</think>\n\n"), closes_thoughts("<|channel|>final<|message|>")
    (True, True)
    """
    return _CLOSE_AT_END.search(prompt[-PROMPT_END:]) is not None


def closing_of(prompt: str) -> tuple[str, str] | None:
    r"""The mark that closes the thoughts which a prompt opens, and what is to be written to have
    no thoughts, with the line breaks of the opening; None where no mark closes them.

    >>> closing_of("assistant\n<think>\n"), closing_of("[/INST][THINK]")
    (('</think>', '\n</think>\n\n'), ('[/THINK]', '[/THINK]'))
    """
    ended = prompt.rstrip()
    mark = next((close for opening, close in PAIRS if ended.endswith(opening)), None)
    blank = prompt[len(ended) :]
    return (mark, f"{blank}{mark}{2 * blank}") if mark else None


def _parts(text: str, is_open: bool) -> tuple[int, int, int]:
    """Where thoughts begin, where they end, and where the reply goes on, which is what stands
    before and behind them.

    Thoughts begin a text, or are closed within it, or begin a line of it: any other mark is only
    mentioned. All three are 0 where there are none; the last two are the text's length where the
    thoughts have no end.
    """
    whole = len(text)
    if _BARE_THOUGHTS.match(text):
        at = text.rfind(_BARE_CLOSE)
        return (0, at, at + len(_BARE_CLOSE)) if at >= 0 else (0, whole, whole)
    is_open = is_open or _OPEN.match(text.lstrip()) is not None
    closed = list(_CLOSE.finditer(text))
    if closed:
        opened = None if is_open or CHANNEL in text else _OPEN.search(text[: closed[-1].start()])
        return opened.start() if opened else 0, closed[-1].start(), closed[-1].end()
    if is_open:
        at = (
            text.rfind(END) if CHANNEL in text else -1
        )  # some servers name no channel for the reply
        if at >= 0 and not text[at + len(END) :].lstrip().startswith("<|"):
            return 0, at, at + len(END)
        return 0, whole, whole
    if (left := _left_open(text)) < whole:
        return left, whole, whole
    bare = _BARE_FINAL.match(text)
    return 0, 0, bare.end() if bare else 0


def _left_open(text: str) -> int:
    """Where thoughts begin a line of a text that closes none; its length where they do not."""
    starts = (mark.start() for mark in _OPEN.finditer(text))
    return next((at for at in starts if not text[:at].rpartition("\n")[2].strip()), len(text))


def closes_only(text: str) -> bool:
    """Does a text close thoughts that it does not open?

    >>> closes_only("so it is left</think>TRUE"), closes_only("<think>so</think>TRUE")
    (True, False)
    """
    closed = _CLOSE.search(text)
    return closed is not None and not _OPEN.search(text[: closed.start()])


def split_thoughts(text: str, prompt: str = "") -> tuple[str, str]:
    """Thoughts and reply.

    Args:
        text: what was written.
        prompt: what it continues; some chat templates open the thoughts themselves.

    >>> split_thoughts("<think>Left, then right.</think>TRUE")
    ('Left, then right.', 'TRUE')
    >>> (
    ...     split_thoughts("so it is left</think>TRUE", "...<think>"),
    ...     split_thoughts("<think>no end"),
    ...     split_thoughts("TRUE"),
    ... )
    (('so it is left', 'TRUE'), ('no end', ''), ('', 'TRUE'))
    >>> split_thoughts("analysisIt is 2, or 3.assistantfinal5")
    ('It is 2, or 3.', '5')
    """
    opened, end, begin = _parts(text, opens_thoughts(prompt))
    bare = _BARE_THOUGHTS.match(text)
    before, thoughts, reply = (
        text[:opened].rstrip(),
        text[bare.end() if bare else opened : end],
        text[begin:],
    )
    if CHANNEL in text:
        reply = reply.partition("<|")[0]
    left = _left_open(reply) if begin else len(reply)
    pieces = (_without_mark(part) for part in (thoughts, reply[left:]))
    reply = reply[:left].rstrip() if left < len(reply) else reply
    reply = reply.lstrip() if begin else reply
    return "\n\n".join(part for part in pieces if part), (
        f"{before} {reply}".strip() if before else reply
    )


def _without_mark(thoughts: str) -> str:
    thoughts = thoughts.strip()
    opened = _OPEN.match(thoughts)
    return thoughts[opened.end() :].strip() if opened else thoughts


def before_stop(text: str, stops: Sequence[str], prompt: str = "") -> str:
    """The text up to the first stop of its reply; what stands in thoughts, or between them and the
    reply, is none.

    >>> before_stop("one. two", (".", "w")), before_stop("<think>a|b</think>  4|5", ("|", " "))
    ('one', '<think>a|b</think>  4')
    """
    if not stops:
        return text
    opened, end, begin = _parts(text, opens_thoughts(prompt))
    if end:
        begin += len(text[begin:]) - len(text[begin:].lstrip())
    before = [at for stop in stops if (at := text.find(stop, 0, opened)) >= 0]
    return text[
        : min(
            before or [at for stop in stops if (at := text.find(stop, begin)) >= 0],
            default=len(text),
        )
    ]


def part_thoughts(
    written: Completion, prompt: str, decoding: Decoding, count: Callable[[str], int]
) -> Completion:
    """What was written, thoughts apart, up to the first stop; too long a reply, or thoughts beyond
    their own limit, count as cut.

    Args:
        written: as the engine wrote it, thoughts and reply in one text.
        prompt: the end of what it continues.
        decoding: how it was written.
        count: text -> number of tokens.
    """
    whole = before_stop(written.text, decoding.stops, prompt)
    n_tokens = written.n_tokens
    if len(whole) < len(written.text):
        n_tokens = min(count(whole), n_tokens)
        written = replace(written, text=whole, finish="stop", n_tokens=n_tokens)
    thoughts, reply = split_thoughts(whole, prompt)
    n_reply = (count(reply) if reply else 0) if thoughts or reply != whole else n_tokens
    n_thoughts = max(n_tokens - n_reply, 0)
    is_long = decoding.thoughts and (
        n_reply > decoding.max_new_tokens or n_thoughts > decoding.thoughts
    )
    return replace(
        written,
        text=reply,
        n_tokens=n_reply,
        thoughts=thoughts,
        n_thought_tokens=n_thoughts,
        finish="length" if is_long else written.finish,
    )


def marks_of(tokenizer: Any) -> dict[int, str]:
    """Special tokens of a tokenizer that mark thoughts, id -> text; decoding would leave them
    out.
    """
    ids = tokenizer.convert_tokens_to_ids(list(MARKS))
    marks = {token: mark for token, mark in zip(ids, MARKS, strict=True) if token is not None}
    return {
        token: mark
        for token, mark in marks.items()
        if tokenizer.convert_ids_to_tokens(token) == mark
        and not tokenizer.decode([token], skip_special_tokens=True)
    }
