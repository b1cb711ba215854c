"""Worlds, the relations that describe them (paper, Section 3.1), and the exact solver.

A world of the linear problems is a total order of entities 0..n-1. A world of the two-dimensional
problems gives every line one of two directions. A description is a sequence of relations: complete
(one world), incomplete (several), or inconsistent (none).

The exact solver is the only source of gold answers. Linear worlds are counted by filling the places
of the order from first to last: what may come next depends only on *which* entities are placed
already, so the worlds of n entities are counted in at most n * 2**n steps, exactly. Planar worlds
are counted by parity along the lines that relations connect. `tests/properties` compares both with
plain enumeration.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import combinations, permutations
from typing import Literal, NamedTuple, cast

from worldprobe.benchmarks.worldsense.skins.vocabulary import problem_type

Update = Literal["move_before", "move_after", "exchange", "leave", "join_before", "join_after"]
Moment = Literal["at", "without"]
Kind = (
    Literal["before", "between", "first", "last", "parallel", "perpendicular", "foreign"]
    | Update
    | Moment
)

#: Kinds that say something about directions in the plane.
PLANAR = frozenset(("parallel", "perpendicular"))

#: What changes a world: an entity is put, or comes, directly before or after another one; two are
#: exchanged; one leaves.
UPDATES: tuple[Update, ...] = (
    "move_before",
    "move_after",
    "exchange",
    "leave",
    "join_before",
    "join_after",
)
#: When the question is about: after so many updates, or after all but the one with this number;
#: without either, after all.
MOMENTS: tuple[Moment, ...] = ("at", "without")

#: An entity that the description does not mention; only queries contain it.
UNKNOWN = -1

SMALLEST, LARGEST = 3, 8


class Relation(NamedTuple):
    """One relation between entities.

    Attributes:
        kind: ``before`` (a before b), ``is_between`` (m between a and b), ``first``, ``last`` (of
            all), ``parallel``, ``perpendicular``, or ``foreign`` (a before b in a relation that the
            description never uses); one of ``UPDATES`` or of ``MOMENTS``.
        entities: indices of the entities, ``UNKNOWN`` for one that the description does not
            mention; a moment's number.
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


def is_between(m: int, a: int, b: int) -> Relation:
    """Entity m is strictly between a and b, which are interchangeable.

    >>> (
    ...     is_between(1, 2, 0) == is_between(1, 0, 2),
    ...     normalise(is_between(1, 2, 0)) == is_between(1, 0, 2),
    ... )
    (False, True)
    """
    return Relation("between", (m, a, b))


@lru_cache(maxsize=1 << 12)
def normalise(relation: Relation) -> Relation:
    """The relation with its interchangeable entities sorted, so that equal statements are equal
    values.
    """
    kind, entities = relation
    if kind == "between":
        return Relation(kind, (entities[0], *sorted(entities[1:])))
    if kind in PLANAR or kind == "exchange":
        return Relation(kind, tuple(sorted(entities)))
    return relation


def rename(relation: Relation, names: Sequence[int]) -> Relation:
    """The relation with entity i called ``names[i]``; the unknown entity stays what it is."""
    if relation.kind in MOMENTS:
        return relation
    return Relation(relation.kind, tuple(names[e] if e >= 0 else e for e in relation.entities))


def holds(relation: Relation, position: Sequence[int]) -> bool:
    """Whether a relation is true in one world.

    Args:
        relation: any but a foreign one.
        position: place of each entity in the order (linear kinds), or its direction, 0 or 1 (planar
            kinds).
    """
    kind, entities = relation
    at = [position[e] for e in entities]
    if kind == "before":
        return at[0] < at[1]
    if kind == "between":
        return (at[1] < at[0]) != (at[2] < at[0])
    if kind == "first":
        return at[0] == min(position)
    if kind == "last":
        return at[0] == max(position)
    if kind == "parallel":
        return at[0] == at[1]
    if kind == "perpendicular":
        return at[0] != at[1]
    raise ValueError(f"a {kind} relation is about nothing that this world fixes")


def false_variants(relation: Relation) -> tuple[Relation, ...]:
    """Relations that contradict one by its words alone: reversed, or another entity in the middle
    (specification, Section 4).

    >>> false_variants(is_between(1, 0, 2))
    (Relation(kind='between', entities=(0, 1, 2)), Relation(kind='between', entities=(2, 1, 0)))
    """
    kind, entities = relation
    if kind in ("before", "foreign"):
        return (Relation(kind, entities[::-1]),)
    if kind == "between":
        m, a, b = entities
        return (Relation(kind, (a, m, b)), Relation(kind, (b, m, a)))
    opposite: dict[Kind, Kind] = {
        "first": "last",
        "last": "first",
        "parallel": "perpendicular",
        "perpendicular": "parallel",
    }
    return (Relation(opposite[kind], entities),)


def entities_of(relations: Iterable[Relation]) -> set[int]:
    """All entities that the relations mention."""
    return {
        entity
        for relation in relations
        if relation.kind not in MOMENTS
        for entity in relation.entities
    }


def is_moving(description: Description) -> bool:
    """Whether a description has updates."""
    return any(relation.kind in UPDATES for relation in description)


_RELATION = re.compile(r"(i|par|perp|)\((-?\d+), (True|False|-?\d+)(?:, (-?\d+))?\)")
_PLANAR: dict[str, Kind] = {"par": "parallel", "perp": "perpendicular"}
_CHANGE = re.compile(rf"({'|'.join((*UPDATES, *MOMENTS))})\((\d+)(?:, (\d+))?\)")
_PREFIX = {"foreign": "i", "parallel": "par", "perpendicular": "perp"}


@lru_cache(maxsize=1 << 16)
def read_relation(text: str) -> Relation:
    """One relation.

    Raises:
        ValueError: not in this notation.

    >>> read_relation("i(0, 2)"), read_relation("(2, False)")
    (Relation(kind='foreign', entities=(0, 2)), Relation(kind='last', entities=(2,)))
    """
    if change := _CHANGE.fullmatch(text):
        kind, *numbers = change.groups()
        entity_numbers = tuple(int(number) for number in numbers if number is not None)
        if len(set(entity_numbers)) == (1 if kind in ("leave", *MOMENTS) else 2) and len(
            entity_numbers
        ) == len(set(entity_numbers)):
            return Relation(cast(Kind, kind), entity_numbers)
    match = _RELATION.fullmatch(text)
    if match is None:
        raise ValueError(
            f"{text!r} is not a relation such as (0, 1), (2, 1, 3), i(0, 2) or (0, True)"
        )
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
    if kind in UPDATES or kind in MOMENTS:
        return f"{kind}({', '.join(map(str, entities))})"
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
    """Fault in the relations of a trial, and the fix."""
    try:
        description, query = read_description(written), read_relation(asked)
    except ValueError as error:
        return f"{error}.", "Fix the relation."
    if not description:
        return "descr is empty.", "Give at least one relation."
    mentioned = entities_of(description)
    if min(mentioned) < 0 or any(relation.kind == "foreign" for relation in description):
        return (
            "descr contains an unknown entity or a foreign relation; only queries may.",
            "Fix descr.",
        )
    highest = max(*mentioned, *query.entities)
    if highest >= size:
        return (
            f"a relation mentions entity {highest}, but there are {size}, counted from 0.",
            "Fix the relation.",
        )
    moments = [relation for relation in description if relation.kind in MOMENTS]
    if moments[1:] or (moments and description[-1] != moments[0]):
        return (
            "descr names a moment before its end, or two.",
            "Put one moment, at(k) or without(k), last.",
        )
    n_updates = sum(relation.kind in UPDATES for relation in description)
    for kind, (number,) in moments:
        if not (kind == "without") <= number <= n_updates:
            return (
                f"descr asks about change {number}, but there are {n_updates}.",
                "Fix the moment.",
            )
    return None


Verdict = Literal["all", "none", "some"]


def count_worlds(size: int, description: Description) -> int:
    """How many worlds of ``size`` entities satisfy every relation of a description.

    Foreign relations restrict nothing that is counted here. Directions are counted up to swapping
    the two, which no relation tells apart.

    >>> count_worlds(3, (Relation("before", (0, 1)),))
    3
    """
    if is_moving(description):
        return len(_asked_orders(description))
    return _count(
        size,
        frozenset(normalise(relation) for relation in description if relation.kind not in MOMENTS),
    )


def changed(order: tuple[int, ...], update: Relation) -> tuple[int, ...] | None:
    """The order of the entities after an update; None where it cannot be made: who moves is not
    there, or who joins is.

    >>> (
    ...     changed((0, 1, 2), Relation("move_after", (0, 1))),
    ...     changed((0, 1, 2), Relation("join_before", (3, 0))),
    ... )
    ((1, 0, 2), (3, 0, 1, 2))
    """
    kind, (first, *others) = update
    if first in others:
        return order
    is_join = kind in ("join_before", "join_after")
    if (first in order) == is_join or any(other not in order for other in others):
        return None
    if kind == "exchange":
        swap = {first: others[0], others[0]: first}
        return tuple(swap.get(entity, entity) for entity in order)
    left = tuple(entity for entity in order if entity != first)
    if kind == "leave":
        return left
    at = left.index(others[0]) + (kind in ("move_after", "join_after"))
    return (*left[:at], first, *left[at:])


def is_true(relation: Relation, order: tuple[int, ...]) -> bool:
    """Whether a relation is true of the entities that are there, in their order; of one that is not
    there, nothing is.
    """
    positions = {entity: number for number, entity in enumerate(order)}
    return all(entity in positions for entity in relation.entities) and holds(
        relation, cast(Sequence[int], positions)
    )


@lru_cache(maxsize=1 << 16)
def _asked_orders(description: Description) -> tuple[tuple[int, ...], ...]:
    """For each initial order that the facts before the first update admit, and all later ones, the
    order that is asked about.
    """
    first = next(number for number, relation in enumerate(description) if relation.kind in UPDATES)
    facts, rest = (
        description[:first],
        [relation for relation in description[first:] if relation.kind not in MOMENTS],
    )
    moment = next((relation for relation in description if relation.kind in MOMENTS), None)
    found = []
    for initial in _admitted(facts):
        orders = run(initial, rest)
        if moment is not None and orders is not None:
            updates = [relation for relation in rest if relation.kind in UPDATES]
            (number,) = moment.entities
            asked = (
                updates[:number]
                if moment.kind == "at"
                else updates[: number - 1] + updates[number:]
            )
            orders = run(initial, asked)
        if orders is not None:
            found.append(orders)
    return tuple(found)


@lru_cache(maxsize=1 << 16)
def _admitted(facts: Description) -> tuple[tuple[int, ...], ...]:
    """The orders of their entities of which all facts are true."""
    orders = permutations(sorted(entities_of(facts)))
    return tuple(order for order in orders if all(is_true(fact, order) for fact in facts))


def run(order: tuple[int, ...], story: Sequence[Relation]) -> tuple[int, ...] | None:
    """The order after updates; None where one cannot be made, or a relation between them is not
    true then.
    """
    for relation in story:
        if relation.kind not in UPDATES:
            if not is_true(relation, order):
                return None
            continue
        after = changed(order, relation)
        if after is None:
            return None
        order = after
    return order


@lru_cache(maxsize=1 << 18)
def _count(size: int, relations: frozenset[Relation]) -> int:
    if any(relation.kind in PLANAR for relation in relations):
        return _count_planar(size, relations)
    return _count_linear(size, relations)


def _count_linear(size: int, relations: frozenset[Relation]) -> int:
    full = (1 << size) - 1
    needed = [0] * size  # placed before the entity
    alternatives: list[list[tuple[int, int]]] = [
        [] for _ in range(size)
    ]  # exactly one of the two placed before the entity
    for kind, entities in relations:
        if kind == "before":
            needed[entities[1]] |= 1 << entities[0]
        elif kind == "between":
            alternatives[entities[0]].append((1 << entities[1], 1 << entities[2]))
        elif kind == "first":
            for other in range(size):
                needed[other] |= (other != entities[0]) << entities[0]
        elif kind == "last":
            needed[entities[0]] |= full & ~(1 << entities[0])
    ways = [0] * (full + 1)
    ways[0] = 1
    for placed in range(full):
        if not ways[placed]:
            continue
        for entity in range(size):
            bit = 1 << entity
            if placed & bit or needed[entity] & ~placed:
                continue
            if all(bool(placed & a) != bool(placed & b) for a, b in alternatives[entity]):
                ways[placed | bit] += ways[placed]
    return ways[full]


def _count_planar(size: int, relations: frozenset[Relation]) -> int:
    neighbours: list[list[tuple[int, int]]] = [[] for _ in range(size)]
    for kind, (a, b) in relations:
        turn = int(kind == "perpendicular")
        neighbours[a].append((b, turn))
        neighbours[b].append((a, turn))
    direction = [-1] * size
    groups = 0
    for start in range(size):
        if direction[start] >= 0:
            continue
        groups += 1
        direction[start] = 0
        waiting = [start]
        while waiting:
            line = waiting.pop()
            for other, turn in neighbours[line]:
                if direction[other] < 0:
                    direction[other] = direction[line] ^ turn
                    waiting.append(other)
                elif direction[other] != direction[line] ^ turn:
                    return 0
    return 1 << (groups - 1)


def decide_query(size: int, description: Description, query: Relation) -> Verdict:
    """Whether a query is true in all worlds of a description, in none, or in some only.

    A query about an entity that the description does not mention is decided in the worlds of one
    entity more; a foreign relation is true in some of them, whatever the description says.

    Raises:
        ValueError: the description has no world.

    >>> decide_query(
    ...     3, (Relation("before", (0, 1)), Relation("before", (1, 2))), Relation("before", (0, 2))
    ... )
    'all'
    """
    worlds = count_worlds(size, description)
    if not worlds:
        raise ValueError("the description has no world, so nothing is true or false in its worlds")
    if query.kind == "foreign":
        return "some"
    if is_moving(description):
        true = sum(is_true(query, order) for order in _asked_orders(description))
        return "all" if true == worlds else "some" if true else "none"
    if UNKNOWN in query.entities:
        query = Relation(query.kind, tuple(size if e == UNKNOWN else e for e in query.entities))
        size += 1
        worlds = count_worlds(size, description)
    true = count_worlds(size, (*description, query))
    return "all" if true == worlds else "some" if true else "none"


def gold_answer(problem: str, size: int, description: Description, query: Relation) -> str | None:
    """The right answer of a trial; None where a question of this type has none (a TRUE/FALSE
    question left undecided).

    >>> chain = (Relation("before", (0, 1)), Relation("before", (1, 2)))
    >>> gold_answer("Infer.normal", 3, chain, Relation("before", (2, 0)))
    'FALSE'
    >>> gold_answer(
    ...     "Consist.normal", 3, (*chain, Relation("before", (2, 0))), Relation("before", (2, 0))
    ... )
    'IMPOSSIBLE'
    """
    kind = problem_type(problem)
    n_worlds = count_worlds(size, description)
    if kind == "Consist":
        return "POSSIBLE" if n_worlds else "IMPOSSIBLE"
    if not n_worlds:
        return None
    verdict = decide_query(size, description, query)
    if kind == "Compl":
        return {"all": "1", "none": "2", "some": "3"}[verdict]
    return {"all": "TRUE", "none": "FALSE", "some": None}[verdict]


def depth(problem: str, size: int, description: Description, query: Relation) -> int:
    """How many relations must be combined: the size of the smallest set of the description's
    relations that decides a trial.

    TRUE, FALSE, 1 and 2: the fewest premises from which the query follows or is contradicted.
    IMPOSSIBLE: the fewest relations that contradict each other. POSSIBLE and 3: all of them, as one
    more could always change the answer.

    >>> chain = (Relation("before", (0, 1)), Relation("before", (1, 2)), Relation("before", (2, 3)))
    >>> depth("Infer.normal", 4, chain, Relation("before", (0, 2)))
    2
    """
    if is_moving(description):
        return n_that_matter(problem, size, description, query)
    return _depth(
        problem_type(problem),
        size,
        frozenset(map(normalise, description)),
        len(description),
        normalise(query),
    )


@lru_cache(maxsize=1 << 16)
def n_that_matter(problem: str, size: int, description: Description, query: Relation) -> int:
    """The size of the smallest set of updates with which the answer is the same, whichever of the
    others are made as well.

    A set with which some update cannot be made (of an entity that did not come) counts neither way.

    >>> chain = (before(0, 1), before(1, 2), before(2, 3))
    >>> n_that_matter(
    ...     "Infer.motion",
    ...     4,
    ...     (*chain, Relation("move_after", (0, 1)), Relation("exchange", (1, 3))),
    ...     before(0, 3),
    ... )
    2
    """
    at = [number for number, relation in enumerate(description) if relation.kind in UPDATES]
    answers: dict[frozenset[int], str | None] = {}
    for number in range(len(at) + 1):
        for kept in combinations(at, number):
            part = _with_updates(description, kept)
            if count_worlds(size, part) or problem_type(problem) == "Consist":
                answers[frozenset(kept)] = gold_answer(problem, size, part, query)
    whole = answers[frozenset(at)]
    steady = (
        len(kept)
        for kept in answers
        if all(answer == whole for other, answer in answers.items() if kept <= other)
    )
    return min(steady)


def _with_updates(description: Description, kept: Sequence[int]) -> Description:
    """The description with some of its updates only; the others change nothing, so that a moment's
    number stays right.
    """
    nothing = Relation("exchange", (0, 0))
    return tuple(
        nothing if r.kind in UPDATES and number not in kept else r
        for number, r in enumerate(description)
    )


@lru_cache(maxsize=1 << 16)
def _depth(
    kind: str, size: int, relations: frozenset[Relation], length: int, query: Relation
) -> int:
    ordered = sorted(relations)
    if not _is_decided(kind, size, (*ordered, query)):
        return length  # then no part decides either
    for number in range(len(ordered) + 1):
        for chosen in combinations(ordered, number):
            if _is_decided(kind, *_among_themselves(size, (*chosen, query))):
                return number
    return length


def _is_decided(kind: str, size: int, relations: Description) -> bool:
    """Whether relations contradict each other (consistency), or say whether the query, the last
    one, is true.
    """
    *stated, query = relations
    return (
        not count_worlds(size, tuple(stated))
        if kind == "Consist"
        else decide_query(size, tuple(stated), query) != "some"
    )


def _among_themselves(size: int, relations: Description) -> tuple[int, Description]:
    """Relations with only the entities that they mention, numbered anew: they decide the same, and
    many are alike.
    """
    if any(relation.kind in ("first", "last") for relation in relations):
        return size, relations  # of all
    names = {
        entity: number for number, entity in enumerate(sorted(entities_of(relations) - {UNKNOWN}))
    }
    renamed = (
        Relation(kind, tuple(names.get(e, UNKNOWN) for e in entities))
        for kind, entities in relations
    )
    return max(len(names), 1), tuple(renamed)
