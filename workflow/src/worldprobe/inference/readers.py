"""Reads a value from what a model wrote: the first numeral, the first character, or the last word."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

NUMERAL = re.compile(r"(?<![\w.,])[-\u2212]?\d+(?:[.,]\d+)*(?![\w])")
#: A whole number with decimals.
DECIMALS = re.compile(r"\.0{1,2}$")
#: Removed around a word: whatever is neither letter nor digit, such as punctuation, markup and quotation marks.
AROUND = re.compile(r"^[\W_]+|[\W_]+$")


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read: one of the accepted answers as it is accepted, or None; and why.

    ``status`` is ok, no_numeral, no_word or out_of_range; of a dialogue also truncated or not_finite.
    """

    value: str | None
    status: str


#: Text -> reading.
Reader = Callable[[str], Reading]


def first_numeral(accept: Sequence[str]) -> Reader:
    """The first numeral in the text that is one of the answers, as EWoK reads free answers.

    >>> read = first_numeral("12345")
    >>> read("I would say 4.").value, read("10 out of 10").status, read("none").status
    ('4', 'out_of_range', 'no_numeral')
    >>> read("4.0").value, read("\N{MINUS SIGN}1").status
    ('4', 'out_of_range')
    """

    def read(text: str) -> Reading:
        numerals = NUMERAL.findall(text)
        for numeral in numerals:
            if (whole := DECIMALS.sub("", numeral)) in accept:
                return Reading(whole, "ok")
        return Reading(None, "out_of_range" if numerals else "no_numeral")

    return read


def last_word(accept: Sequence[str]) -> Reader:
    """The last word, whatever its case and the punctuation around it, as WorldSense reads answers.

    >>> read = last_word(("TRUE", "FALSE"))
    >>> read("So the statement is **true**.").value, read("True or maybe not").status, read(" ... ").status
    ('TRUE', 'out_of_range', 'no_word')
    """
    known = {answer.upper(): answer for answer in accept}

    def read(text: str) -> Reading:
        words = [word for word in (AROUND.sub("", part) for part in text.split()) if word]
        if not words:
            return Reading(None, "no_word")
        value = known.get(words[-1].upper())
        return Reading(value, "out_of_range" if value is None else "ok")

    return read
