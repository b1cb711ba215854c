"""Reads relations of parallel and perpendicular lines back from a text, where the abstract fields do not contain them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from worldprobe.benchmarks.worldsense.worlds import Description, Kind, Relation

_KINDS: dict[str, Kind] = {"parallel": "parallel", "perpendicular": "perpendicular"}


def read_planar_text(text: str, entities: Sequence[str]) -> tuple[Description, Relation]:
    """The description and the query of a question about lines, as its words state them.

    A relation is an entity's name, ``parallel`` or ``perpendicular``, and another entity's name, in this order; the query
    is the last one.

    Raises:
        ValueError: fewer than two relations are found, or words that belong to none.

    >>> read_planar_text("Ash Lane is parallel to Elm Lane. Is it true that Elm Lane is perpendicular to Ash Lane?",
    ...                  ["Ash Lane", "Elm Lane"])[1]
    Relation(kind='perpendicular', entities=(1, 0))
    """
    names = "|".join(re.escape(name) for name in sorted(entities, key=len, reverse=True))
    found = re.findall(rf"(?<!\w)(?:({names})(?!\w)|(parallel|perpendicular)\b)", text)
    tokens = [name or kind for name, kind in found]
    index = {name: number for number, name in enumerate(entities)}
    relations: list[Relation] = []
    n_kinds = 0
    place = 0
    while place < len(tokens):
        first, word, second = (*tokens[place : place + 3], "", "", "")[:3]
        if first in index and word in _KINDS and second in index and first != second:
            relations.append(Relation(_KINDS[word], (index[first], index[second])))
            place += 3
        else:
            n_kinds += first in _KINDS
            place += 1
    if len(relations) < 2 or n_kinds:
        raise ValueError("the text does not state relations as 'A is parallel (perpendicular) to B'")
    return tuple(relations[:-1]), relations[-1]
