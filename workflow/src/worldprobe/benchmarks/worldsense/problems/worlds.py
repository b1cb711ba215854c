"""Worlds, and the relations that describe them (paper, Section 3.1).

A world of the linear problems is a total order of entities 0..n-1. A world of the two-dimensional problems gives every
line one of two directions. A description is a sequence of relations: complete (one world), incomplete (several), or
inconsistent (none).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

Kind = Literal["before", "between", "first", "last", "parallel", "perpendicular", "foreign"]

#: Kinds that say something about a total order.
LINEAR = frozenset(("before", "between", "first", "last"))
#: Kinds that say something about directions in the plane.
PLANAR = frozenset(("parallel", "perpendicular"))

#: An entity that the description does not mention; only queries contain it.
UNKNOWN = -1

SMALLEST, LARGEST = 3, 8


class Relation(NamedTuple):
    """One relation between entities.

    Attributes:
        kind: ``before`` (a before b), ``between`` (m between a and b), ``first``, ``last`` (of all), ``parallel``,
            ``perpendicular``, or ``foreign`` (a before b in a relation that the description never uses).
        entities: indices of the entities, ``UNKNOWN`` for one that the description does not mention.
    """

    kind: Kind
    entities: tuple[int, ...]

    def span(self) -> int:
        """Largest minus smallest entity index."""
        return max(self.entities) - min(self.entities)


Description = tuple[Relation, ...]


def before(a: int, b: int) -> Relation:
    """Entity a comes before entity b."""
    return Relation("before", (a, b))


def between(m: int, a: int, b: int) -> Relation:
    """Entity m is strictly between a and b, which are interchangeable.

    >>> between(1, 2, 0) == between(1, 0, 2), normalise(between(1, 2, 0)) == between(1, 0, 2)
    (False, True)
    """
    return Relation("between", (m, a, b))


@lru_cache(maxsize=1 << 12)
def normalise(relation: Relation) -> Relation:
    """The relation with its interchangeable entities sorted, so that equal statements are equal values."""
    kind, entities = relation
    if kind == "between":
        return Relation(kind, (entities[0], *sorted(entities[1:])))
    if kind in PLANAR:
        return Relation(kind, tuple(sorted(entities)))
    return relation


def rename(relation: Relation, names: Sequence[int]) -> Relation:
    """The relation with entity i called ``names[i]``; the unknown entity stays what it is."""
    return Relation(relation.kind, tuple(names[e] if e >= 0 else e for e in relation.entities))


def holds(relation: Relation, place: Sequence[int]) -> bool:
    """Whether a relation is true in one world.

    Args:
        relation: any but a foreign one.
        place: place of each entity in the order (linear kinds), or its direction, 0 or 1 (planar kinds).
    """
    kind, entities = relation
    at = [place[e] for e in entities]
    if kind == "before":
        return at[0] < at[1]
    if kind == "between":
        return (at[1] < at[0]) != (at[2] < at[0])
    if kind == "first":
        return at[0] == min(place)
    if kind == "last":
        return at[0] == max(place)
    if kind == "parallel":
        return at[0] == at[1]
    if kind == "perpendicular":
        return at[0] != at[1]
    raise ValueError(f"a {kind} relation is about nothing that this world fixes")


def false_variants(relation: Relation) -> tuple[Relation, ...]:
    """What contradicts a relation by its words alone: reversed, or another entity in the middle (specification, Section 4).

    >>> false_variants(between(1, 0, 2))
    (Relation(kind='between', entities=(0, 1, 2)), Relation(kind='between', entities=(2, 1, 0)))
    """
    kind, entities = relation
    if kind in ("before", "foreign"):
        return (Relation(kind, entities[::-1]),)
    if kind == "between":
        m, a, b = entities
        return (Relation(kind, (a, m, b)), Relation(kind, (b, m, a)))
    opposite: dict[Kind, Kind] = {"first": "last", "last": "first", "parallel": "perpendicular", "perpendicular": "parallel"}
    return (Relation(opposite[kind], entities),)


def entities_of(relations: Iterable[Relation]) -> set[int]:
    """All entities that the relations mention."""
    return {entity for relation in relations for entity in relation.entities}


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
