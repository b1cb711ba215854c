"""The phrases of skins as tokens of small models that read nothing else: entities, and the constant words around them.

With a token for each phrase a trial has some 40 tokens instead of 100, and a clause is entity, relation, entity: short enough
for a small model to learn on a CPU. What a word means is not in its token:

* entities share ``ENTITIES`` tokens, no two of a skin the same: which token a name has says nothing about it;
* the words of training skins, of questions, and those of grammar (``GRAMMAR``) have tokens of their own;
* all other words, those of tests and the invented ones of lessons, share ``OTHERS`` tokens. Which one a word has is drawn from
  its letters, and two words of a skin never share one.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from functools import cache

from worldprobe.benchmarks.worldsense.skins.render import NUMBERS
from worldprobe.benchmarks.worldsense.skins.skins import Skin
from worldprobe.benchmarks.worldsense.skins.vocabulary import ANSWERS

ENTITIES, OTHERS = 12, 16
#: Words of lessons and of the prompt sets for small models that no skin contains.
OWN = ("two", "UNKNOWN", "Answer:", "to", "from")
#: Words that many skins share whatever their relation.
GRAMMAR = ("in between", "between", "exactly one of", "and", "not")
#: Invented words: more than there are tokens for them, so that each token is many words, and of either side of a relation.
N_INVENTED = 240
_BORDER = re.compile(
    r"\{\w+\}|[‘’]|\b("
    + "|".join((*GRAMMAR, *sorted({a for of in ANSWERS.values() for a in of}, key=len, reverse=True)))
    + r")\b"
)


def tokens_of(skins: Iterable[Skin]) -> dict[str, str]:
    """Every phrase of some skins and every invented word -> the token as which it is read.

    >>> from worldprobe.benchmarks.worldsense.skins.skins import read_skins
    >>> found = tokens_of(read_skins())
    >>> found["before"], found["is richer than"] in found, found["and"]
    ('before', False, 'and')
    """
    skins = list(skins)
    questions = {line for skin in skins for of in skin.questions.values() for text in of.values() for line in text.split("\n")}
    answers = {answer for of in ANSWERS.values() for answer in of}
    known = {*NUMBERS.values(), *OWN, *GRAMMAR, *answers, *pieces_of(questions)}
    for skin in skins:
        known |= set(pieces_of(words_of(skin))) if skin.use == "train" else set()
    found = {phrase: phrase for phrase in sorted(known)}
    for skin in skins:
        _share(found, skin.entities, "entity", ENTITIES)
        _share(found, dict.fromkeys(pieces_of(words_of(skin))), "word", OTHERS)
    for word in invented_words():
        _share(found, [word], "word", OTHERS)
    return found


def words_of(skin: Skin) -> list[str]:
    """Every text of a skin that is its own, but for its entities."""
    return [*skin.clauses.values(), *skin.foreign.values(), skin.situation, skin.listing]


@cache
def invented_words() -> tuple[str, ...]:
    """Words that mean nothing: three syllables of a consonant and a vowel, and an end that no English word has.

    >>> len(invented_words()), len(set(invented_words()))
    (240, 240)
    """
    rng = random.Random(0)
    found: dict[str, None] = {}
    while len(found) < N_INVENTED:
        found["".join(rng.choice("bdfgklmnprstvz") + rng.choice("aeiou") for _ in range(3)) + "zk"] = None
    return tuple(found)


def _share(found: dict[str, str], phrases: Iterable[str], kind: str, number: int) -> None:
    """Give phrases that have none a shared token, no two of them the same."""
    phrases = list(phrases)
    used = {found[phrase] for phrase in phrases if phrase in found}
    for phrase in phrases:
        if phrase in found:
            continue
        order = [f"{kind} {place}" for place in random.Random(phrase).sample(range(number), number)]
        found[phrase] = next((token for token in order if token not in used), order[0])
        used.add(found[phrase])


def pieces_of(texts: Iterable[str]) -> Iterator[str]:
    """The constant parts of texts."""
    for text in texts:
        for piece in _BORDER.split(text):
            if piece and piece.strip():
                yield piece.strip()
