"""The exact solver: the only source of gold answers.

Linear worlds are counted by filling the places of the order from first to last: what may come next depends only on *which*
entities are placed already, so the worlds of n entities are counted in at most n * 2**n steps, exactly. Planar worlds
are counted by parity along the lines that relations connect. `tests/properties` compares both with plain enumeration.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from typing import Literal

from worldprobe.benchmarks.worldsense.problems.worlds import PLANAR, UNKNOWN, Description, Relation, normalise
from worldprobe.benchmarks.worldsense.skins.vocabulary import problem_type

Verdict = Literal["all", "none", "some"]


def count_worlds(size: int, description: Description) -> int:
    """How many worlds of ``size`` entities satisfy every relation of a description.

    Foreign relations restrict nothing that is counted here. Directions are counted up to swapping the two, which no
    relation tells apart.

    >>> count_worlds(3, (Relation("before", (0, 1)),))
    3
    """
    return _count(size, frozenset(normalise(relation) for relation in description))


@lru_cache(maxsize=1 << 18)
def _count(size: int, relations: frozenset[Relation]) -> int:
    if any(relation.kind in PLANAR for relation in relations):
        return _count_planar(size, relations)
    return _count_linear(size, relations)


def _count_linear(size: int, relations: frozenset[Relation]) -> int:
    full = (1 << size) - 1
    needed = [0] * size  # placed before the entity
    one_of: list[list[tuple[int, int]]] = [[] for _ in range(size)]  # exactly one of the two placed before the entity
    for kind, entities in relations:
        if kind == "before":
            needed[entities[1]] |= 1 << entities[0]
        elif kind == "between":
            one_of[entities[0]].append((1 << entities[1], 1 << entities[2]))
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
            if all(bool(placed & a) != bool(placed & b) for a, b in one_of[entity]):
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


def decide(size: int, description: Description, query: Relation) -> Verdict:
    """Whether a query is true in all worlds of a description, in none, or in some only.

    A query about an entity that the description does not mention is decided in the worlds of one entity more; a foreign
    relation is true in some of them, whatever the description says.

    Raises:
        ValueError: the description has no world.

    >>> decide(3, (Relation("before", (0, 1)), Relation("before", (1, 2))), Relation("before", (0, 2)))
    'all'
    """
    worlds = count_worlds(size, description)
    if not worlds:
        raise ValueError("the description has no world, so nothing is true or false in its worlds")
    if query.kind == "foreign":
        return "some"
    if UNKNOWN in query.entities:
        query = Relation(query.kind, tuple(size if e == UNKNOWN else e for e in query.entities))
        size += 1
        worlds = count_worlds(size, description)
    true = count_worlds(size, (*description, query))
    return "all" if true == worlds else "some" if true else "none"


def gold_answer(problem: str, size: int, description: Description, query: Relation) -> str | None:
    """The right answer of a trial; None where a question of this type has none (a TRUE/FALSE question left undecided).

    >>> chain = (Relation("before", (0, 1)), Relation("before", (1, 2)))
    >>> gold_answer("Infer.normal", 3, chain, Relation("before", (2, 0)))
    'FALSE'
    >>> gold_answer("Consist.normal", 3, (*chain, Relation("before", (2, 0))), Relation("before", (2, 0)))
    'IMPOSSIBLE'
    """
    kind = problem_type(problem)
    n_worlds = count_worlds(size, description)
    if kind == "Consist":
        return "POSSIBLE" if n_worlds else "IMPOSSIBLE"
    if not n_worlds:
        return None
    verdict = decide(size, description, query)
    if kind == "Compl":
        return {"all": "1", "none": "2", "some": "3"}[verdict]
    return {"all": "TRUE", "none": "FALSE", "some": None}[verdict]


def depth(problem: str, size: int, description: Description, query: Relation) -> int:
    """How many relations must be combined: the size of the smallest set of the description's relations that decides a trial.

    TRUE, FALSE, 1 and 2: the fewest premises from which the query follows or is contradicted. IMPOSSIBLE: the fewest
    relations that contradict each other. POSSIBLE and 3: all of them, as one more could always change the answer.

    >>> chain = (Relation("before", (0, 1)), Relation("before", (1, 2)), Relation("before", (2, 3)))
    >>> depth("Infer.normal", 4, chain, Relation("before", (0, 2)))
    2
    """
    return _depth(problem_type(problem), size, frozenset(map(normalise, description)), len(description), normalise(query))


@lru_cache(maxsize=1 << 16)
def _depth(kind: str, size: int, relations: frozenset[Relation], length: int, query: Relation) -> int:
    ordered = sorted(relations)
    for number in range(len(ordered) + 1):
        for chosen in combinations(ordered, number):
            if kind == "Consist":
                if not count_worlds(size, chosen):
                    return number
            elif decide(size, chosen, query) != "some":
                return number
    return length
