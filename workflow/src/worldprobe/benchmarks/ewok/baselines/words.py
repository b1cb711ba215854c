"""What counts as a word of an item, and which words are its fillers."""

from __future__ import annotations

import json
import re
import string
from collections.abc import Collection

from worldprobe.benchmarks.ewok.vocabulary import slot_class
from worldprobe.errors import UserError

EDGES = string.punctuation + "“”‘’«»…–—"
POSSESSIVE = re.compile(r"['’]s?$")
DELETE_PUNCTUATION = str.maketrans("", "", string.punctuation)


def words(text: str) -> list[str]:
    """The words of a text: split at white space, punctuation around them removed, apostrophes and hyphens inside kept.

    >>> words("Ira's well-worn hat doesn't fit, “alas”!")
    ["Ira's", 'well-worn', 'hat', "doesn't", 'fit', 'alas']
    """
    return [word for piece in text.replace("’", "'").split() if (word := piece.strip(EDGES))]


def words_as_original(text: str) -> list[str]:
    """The words as the paper's scripts take them: all ASCII punctuation deleted, then split at white space.

    >>> words_as_original("Ira's well-worn hat doesn't fit!")
    ['Iras', 'wellworn', 'hat', 'doesnt', 'fit']
    """
    return text.strip().translate(DELETE_PUNCTUATION).split()


def without_possessive(word: str) -> str:
    """The word without a possessive ending.

    >>> without_possessive("Ira's"), without_possessive("Nils'"), without_possessive("hats")
    ('Ira', 'Nils', 'hats')
    """
    return POSSESSIVE.sub("", word)


def fillers_of(fillers: str, classes: Collection[str] | None = None) -> set[str]:
    """The texts that fill an item's slots, of some classes or of all.

    Args:
        fillers: the column of an Items table: a JSON object, slot -> text.
        classes: filler classes, or None for all.
    """
    return {text for slot, text in _read(fillers).items() if classes is None or slot_class(slot) in classes}


def classes_of(fillers: str) -> set[str]:
    """The filler classes of an item's slots.

    >>> sorted(classes_of('{"agent1": "Ada", "object2:large=true": "the piano"}'))
    ['agent', 'object']
    """
    return {slot_class(slot) for slot in _read(fillers)}


def without_phrases(text: str, phrases: Collection[str]) -> str:
    """The text without the given phrases, whatever their case, and without a possessive ending that follows one.

    >>> without_phrases("Ira's aunt sees the old dog. The old dog barks.", ["Ira", "the old dog"])
    ' aunt sees .  barks.'
    """
    for phrase in sorted(phrases, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(phrase)}(['’]s?)?(?!\w)", "", text, flags=re.IGNORECASE)
    return text


def _read(fillers: str) -> dict[str, str]:
    """The column ``fillers`` of one item.

    Raises:
        UserError: it is not a JSON object of texts.
    """
    try:
        filled = json.loads(fillers)
    except ValueError:
        filled = None
    if not isinstance(filled, dict) or not all(isinstance(text, str) for text in filled.values()):
        raise UserError("items", "the column fillers is not a JSON object of texts.", "Build the items table again.")
    return filled
