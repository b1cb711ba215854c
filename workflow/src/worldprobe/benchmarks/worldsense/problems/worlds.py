"""Worlds, and the relations that describe them (paper, Section 3.1).

A world of the linear problems is a total order of entities 0..n-1. A world of the two-dimensional problems gives every
line one of two directions. A description is a sequence of relations: complete (one world), incomplete (several), or
inconsistent (none).
"""

from __future__ import annotations

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
