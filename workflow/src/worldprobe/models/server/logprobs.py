"""Where the tokens of an echoed prompt are in its text, as far as a server's answer says for certain.

Servers list start tokens that are not in the text, shift offsets by their length, or drop the space that some tokenizers put
before a word. Offsets are taken only where they agree with the text; else the tokens are laid along the text; else they are
refused.
"""

from __future__ import annotations

from collections.abc import Sequence

#: What a server writes for a part of a character.
PART = "\N{REPLACEMENT CHARACTER}"


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
