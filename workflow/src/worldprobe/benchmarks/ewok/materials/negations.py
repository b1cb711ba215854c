"""Which words of a text negate, in English and in languages that list their negations."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from worldprobe.benchmarks.ewok.frequency import is_wide, split_han
from worldprobe.benchmarks.ewok.materials.language import ENGLISH, Language

#: Vowel signs and accents, and the joiners, that stand within a word and that ``\w`` leaves out.
_MARKS = "\u200c\u200d" + "".join(
    mark for mark in map(chr, range(0x300, 0xAC00)) if unicodedata.category(mark).startswith("M")
)
_LETTERS = rf"[\w{_MARKS}-]+"
#: Slots, numbers, the 's of what is somebody's, and words.
_WORD = re.compile(rf"\{{[^}}]*\}}|\d+(?:[.,:]\d+)+|'s\b|{_LETTERS}(?:'(?!s\b){_LETTERS})*")
_ENGLISH = {
    *("not", "no", "none", "nobody", "nothing", "nowhere", "never", "cannot"),
    *("without", "neither", "nor"),
}


def words_and_slots(text: str) -> list[str]:
    """The words of a template's text in lower case, and its slots.

    >>> words_and_slots("{agent1} can't swim."), words_and_slots("यह नहीं है।")
    (['{agent1}', "can't", 'swim'], ['यह', 'नहीं', 'है'])
    """
    plain = unicodedata.normalize("NFC", text.lower().replace("’", "'"))
    return [
        word
        for piece in _WORD.findall(plain)
        for word in ([piece] if piece.startswith("{") else split_han(piece))
    ]


def is_negation(word: str) -> bool:
    """Whether an English word in lower case negates.

    >>> is_negation("nobody"), is_negation("doesn't"), is_negation("nose")
    (True, True, False)
    """
    return word in _ENGLISH or "n't" in word


def negating(words: Sequence[str], language: Language = ENGLISH) -> set[int]:
    """The numbers of the words that negate, or are part of a phrase that does.

    Args:
        words: as of ``words_and_slots``.
        language: its ``negations`` are looked for, and its ``no_negations`` passed over; of two
            that begin at the same place the longer one counts.

    >>> (
    ...     negating(["not", "now"]),
    ...     negating(["不", "高"], Language(language="zh", negations=["*不*"])),
    ... )
    ({0}, {0})
    """
    if language.is_english:
        return {number for number, word in enumerate(words) if is_negation(word)}
    text = " ".join("{}" if word.startswith("{") else word for word in words)
    return {
        number
        for match in _finder(language).finditer(text)
        if match.lastindex
        for number in range(text.count(" ", 0, match.start()), text.count(" ", 0, match.end()) + 1)
    }


@lru_cache(maxsize=16)
def _finder(language: Language) -> re.Pattern[str]:
    """Finds both lists, of which negations have a group."""
    patterns = [(entry, f"({_pattern(entry)})") for entry in language.negations]
    patterns += [(entry, _pattern(entry)) for entry in language.no_negations]
    longest = sorted(patterns, key=lambda pair: -len(pair[0].strip("*")))
    return re.compile("|".join(pattern for _, pattern in longest))


def _pattern(entry: str) -> str:
    """An entry as it stands in words joined by blanks; Chinese may be split anywhere."""
    words = words_and_slots(entry)
    parts, joint = ("".join(words), " ?") if is_wide(entry) else (words, " ")
    starts, ends = (
        "" if has_star else edge
        for has_star, edge in (
            (entry.startswith("*"), r"(?<!\S)"),
            (entry.endswith("*"), r"(?!\S)"),
        )
    )
    return starts + joint.join(map(re.escape, parts)) + ends
