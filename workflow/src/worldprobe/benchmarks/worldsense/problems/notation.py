"""Reader and writer of the official abstract notation (specification, Sections 2 and 3).

``(0, 1)`` is "0 before 1", ``(2, 1, 3)`` "2 between 1 and 3", ``-1`` an entity that the description does not mention,
``i(0, 2)`` a relation of another kind than the description uses, ``(k, True)`` "k is the first of all" and ``(k, False)``
"k is the last". The official notation cannot say which lines are parallel; ours writes ``par(0, 1)`` and ``perp(0, 1)``.
"""

from __future__ import annotations

import re
from functools import lru_cache

from worldprobe.benchmarks.worldsense.problems.worlds import Description, Kind, Relation, entities_of

_RELATION = re.compile(r"(i|par|perp|)\((-?\d+), (True|False|-?\d+)(?:, (-?\d+))?\)")
_PLANAR: dict[str, Kind] = {"par": "parallel", "perp": "perpendicular"}
_PREFIX = {"foreign": "i", "parallel": "par", "perpendicular": "perp"}


@lru_cache(maxsize=1 << 16)
def read_relation(text: str) -> Relation:
    """One relation.

    Raises:
        ValueError: not in this notation.

    >>> read_relation("i(0, 2)"), read_relation("(2, False)")
    (Relation(kind='foreign', entities=(0, 2)), Relation(kind='last', entities=(2,)))
    """
    match = _RELATION.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a relation such as (0, 1), (2, 1, 3), i(0, 2) or (0, True)")
    prefix, first, second, third = match.groups()
    if second in ("True", "False"):
        if prefix or third is not None:
            raise ValueError(f"{text!r} is not a relation such as (0, True)")
        return Relation("first" if second == "True" else "last", (int(first),))
    entities = (int(first), int(second), *([] if third is None else [int(third)]))
    if len(set(entities)) < len(entities):
        raise ValueError(f"{text!r} relates an entity to itself")
    if min(entities) < -1 or (prefix and third is not None):
        raise ValueError(f"{text!r} is not a relation such as (0, 1), (2, 1, 3) or i(0, 2)")
    if prefix == "i":
        return Relation("foreign", entities)
    if prefix:
        return Relation(_PLANAR[prefix], entities)
    return Relation("before" if third is None else "between", entities)


@lru_cache(maxsize=1 << 12)
def write_relation(relation: Relation) -> str:
    """The inverse of ``read_relation``.

    >>> write_relation(Relation("between", (2, 1, 3)))
    '(2, 1, 3)'
    """
    kind, entities = relation
    if kind in ("first", "last"):
        return f"({entities[0]}, {kind == 'first'})"
    return f"{_PREFIX.get(kind, '')}({', '.join(map(str, entities))})"


@lru_cache(maxsize=1 << 16)
def read_description(text: str) -> Description:
    """A list of relations.

    Raises:
        ValueError: not in this notation.

    >>> read_description("[(0, 1),(2, 1, 3)]")
    (Relation(kind='before', entities=(0, 1)), Relation(kind='between', entities=(2, 1, 3)))
    """
    if not (text.startswith("[") and text.endswith("]")):
        raise ValueError(f"{text!r} is not a list of relations such as [(0, 1),(2, 1, 3)]")
    inner = text[1:-1]
    return tuple(read_relation(part) for part in re.split(r"(?<=\)),", inner)) if inner else ()


@lru_cache(maxsize=1 << 16)
def relation_fault(written: str, asked: str, size: int) -> tuple[str, str] | None:
    """What is wrong with the relations of a trial, and the fix."""
    try:
        description, query = read_description(written), read_relation(asked)
    except ValueError as error:
        return f"{error}.", "Fix the relation."
    if not description:
        return "descr is empty.", "Give at least one relation."
    mentioned = entities_of(description)
    if min(mentioned) < 0 or any(relation.kind == "foreign" for relation in description):
        return "descr contains an unknown entity or a foreign relation; only queries may.", "Fix descr."
    highest = max(*mentioned, *query.entities)
    if highest >= size:
        return f"a relation mentions entity {highest}, but there are {size}, counted from 0.", "Fix the relation."
    return None
