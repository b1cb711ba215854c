"""The phrases of skins: entities and the constant words around them, the tokens of small models that read nothing else.

With a token for each phrase a trial has some 40 tokens instead of 100, and a clause is entity, relation, entity: short enough
for a small model to learn on a CPU.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from worldprobe.benchmarks.worldsense.render import NUMBERS
from worldprobe.benchmarks.worldsense.skins import Skin
from worldprobe.benchmarks.worldsense.vocabulary import ANSWERS

#: What no skin contains: the words of lessons and of the prompt sets for small models.
OTHERS = ("two", "true", "false", "open", "Answer:")
#: Placeholders, quotation marks and answers end a phrase.
_BORDER = re.compile(
    r"\{\w+\}|[‘’]|\b(?:" + "|".join(sorted({a for of in ANSWERS.values() for a in of}, key=len, reverse=True)) + r")\b"
)


def phrases_of(skins: Iterable[Skin]) -> list[str]:
    """All phrases of some skins, sorted.

    >>> from worldprobe.benchmarks.worldsense.skins import read_skins
    >>> found = phrases_of(skin for skin in read_skins() if skin.name == "old/young")
    >>> "is older than" in found, "'s age is in between that of" in found, "Alice" in found
    (True, True, True)
    """
    found = {*NUMBERS.values(), *OTHERS, *(answer for answers in ANSWERS.values() for answer in answers)}
    for skin in skins:
        found |= {*skin.entities, *_pieces(skin)}
    return sorted(found)


def _pieces(skin: Skin) -> Iterator[str]:
    """The constant parts of a skin's texts."""
    questions = [line for wordings in skin.questions.values() for text in wordings.values() for line in text.split("\n")]
    for text in (*skin.clauses.values(), *skin.foreign.values(), skin.situation, skin.listing, *questions):
        for piece in _BORDER.split(text):
            if piece.strip():
                yield piece.strip()
