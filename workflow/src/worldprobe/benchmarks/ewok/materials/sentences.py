"""From a text with slots to a sentence: filling, capitals, the full stop."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from worldprobe.benchmarks.ewok.materials.placeholders import KEY
from worldprobe.benchmarks.ewok.materials.rules import Rules

#: What a reader does not see but a model does, for a class of a pattern: control characters, no-break spaces, characters without
#: width, marks of direction.
UNSEEN = r"\x00-\x1f\x7f-\xa0\xad\u200b\u200e\u200f\u2028-\u202f\u2060-\u2069\ufeff"
_START = re.compile(r"([.!?] )([a-z])")
_PLAIN = re.compile(r"[\w:=' -]*")


def fill(text: str, fillings: Mapping[str, str], rules: Rules) -> str:
    """A template's text as a sentence.

    Args:
        text: with slots in braces.
        fillings: slot key -> filler text.
        rules: which behaviours of the original are kept.

    >>> fill("{agent1} lifts {object1:large=true}. it falls", {"agent1": "Ruth", "object1:large=true": "the crate"}, Rules())
    'Ruth lifts the crate. It falls.'
    """
    if rules.greedy_filling:
        for key in sorted(fillings):
            text = _fill_greedily(text, key, fillings[key])
    else:
        text = "".join([fillings[part] if is_key else part for part, is_key in _parts(text)])
    return sentence(text)


@lru_cache(maxsize=1 << 16)
def _parts(text: str) -> tuple[tuple[str, bool], ...]:
    """What is between the slots, and their keys, in turn."""
    return tuple((part, bool(number % 2)) for number, part in enumerate(KEY.split(text)))


def _fill_greedily(text: str, key: str, filling: str) -> str:
    """As the original: the key is a regular expression, and restrictions after it match up to the last brace."""
    if f"{{{key}:" not in text and _PLAIN.fullmatch(key):
        return text.replace(f"{{{key}}}", filling)
    return re.sub(rf"\{{{key}(:.*=.*)*\}}", filling, text)


def sentence(text: str) -> str:
    """Trimmed, with capitals at the start of each sentence and a stop at the end.

    >>> sentence(" the crate falls. why? nobody knows")
    'The crate falls. Why? Nobody knows.'
    """
    text = text.strip()
    text = text[:1].upper() + text[1:]
    if not text.endswith((".", "!", "?")):
        text += "."
    if ". " not in text and "! " not in text and "? " not in text:
        return text  # one sentence
    return _START.sub(lambda m: m[1] + m[2].upper(), text)
