"""Problems on which shallow rules fail: what such a rule can see, and abstract problems that all
look alike to it.

A rule is *shallow* if it reads every clause but never follows an entity from one clause into
another. All that it can see of a trial is its *view*:

* where something is asked: each clause with the entities of the query named and all others alike,
  and how often every other entity is mentioned, in which roles;
* where nothing is asked (consistency): in which roles each entity is mentioned how often, and each
  two clauses that share two entities or more.

Counting mentions, first and second places, middles, matching a clause with the query, the order in
which a text mentions what is asked about, the first or the last clause, the query alone, and every
n-gram of relation words are functions of the view, as the order of clauses and the converses in
which they are said are drawn independently of it. The names say nothing, as they are drawn.

The problems of a cell are *balanced* if every view occurs equally often with each answer: then
every rule that reads views is right as often as a guesser, exactly. ``balance`` takes as many
problems as there are, each at most once, by a linear programme; where its optimum is 0, no
weighting of the problems is balanced. The chosen problems are kept in
``resources/problems/hard.csv``, which ``python -m worldprobe_lab.hard``
writes within an hour.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import combinations, islice, permutations, product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from worldprobe.benchmarks.worldsense.problems.worlds import (
    LARGEST,
    SMALLEST,
    Description,
    Relation,
    before,
    count_worlds,
    decide_query,
    entities_of,
    false_variants,
    is_between,
    normalise,
    rename,
    write_relation,
)
from worldprobe.benchmarks.worldsense.skins.vocabulary import problem_type
from worldprobe.files import write_text
from worldprobe_lab.problem_families import HARD

#: Largest size whose problems are all enumerated; of larger ones, descriptions are drawn.
ENUMERATED = 5
#: Most and fewest abstract problems of a cell that are kept, and descriptions that are drawn for a
#: cell beyond ``ENUMERATED``.
KEPT, FEWEST, DRAWN = 60, 4, 60_000

View = tuple[object, ...]


class Candidate(NamedTuple):
    """An abstract problem with the view of each of its trials."""

    description: Description
    queries: Description
    views: tuple[View, ...]


def view_asked(size: int, description: Description, query: Relation) -> View:
    """A shallow rule's view of a description and a query.

    >>> chain = (before(0, 1), before(1, 2), before(2, 3), before(3, 4))
    >>> view_asked(5, chain, before(1, 3)) == view_asked(5, chain, before(3, 1))
    True
    """
    clauses = min(_named(description, order) for order in _orders(query))
    roles = _roles(size, description)
    return clauses, tuple(sorted(roles[e] for e in range(size) if e not in query.entities))


def view_stated(size: int, description: Description) -> View:
    """A shallow rule's view of a description alone."""
    pairs = combinations(description, 2)
    shared = [
        _pattern(one, other) for one, other in pairs if len({*one.entities} & {*other.entities}) > 1
    ]
    return tuple(sorted(_roles(size, description))), tuple(sorted(shared))


def view_of(problem: str, size: int, description: Description, query: Relation) -> View:
    """A shallow rule's view of one trial of a tuple."""
    if problem_type(problem) == "Consist":
        return view_stated(size, (*description, query))
    return view_asked(size, description, query)


def _orders(query: Relation) -> list[tuple[int, ...]]:
    first, *others = query.entities
    return [query.entities] if len(others) == 1 else [(first, *others), (first, *others[::-1])]


def _named(description: Description, names: tuple[int, ...]) -> tuple[tuple[object, ...], ...]:
    label = {entity: number + 1 for number, entity in enumerate(names)}
    clauses = []
    for kind, entities in description:
        first, *others = (label.get(entity, 0) for entity in entities)
        clauses.append((kind, first, *(others if kind == "before" else sorted(others))))
    return tuple(sorted(clauses))


@lru_cache(maxsize=1 << 12)
def _roles(size: int, description: Description) -> list[tuple[int, ...]]:
    """How often each entity is the first and the second of a pair, in the middle, and at an end."""
    roles = [[0, 0, 0, 0] for _ in range(size)]
    for kind, (first, *others) in description:
        roles[first][0 if kind == "before" else 2] += 1
        for other in others:
            roles[other][1 if kind == "before" else 3] += 1
    return list(map(tuple, roles))


@lru_cache(maxsize=1 << 16)
def _pattern(one: Relation, other: Relation) -> tuple[object, ...]:
    """The same value for two pairs of clauses that differ in the names of entities only."""
    entities = sorted({*one.entities, *other.entities})
    renamed = []
    for order in permutations(range(len(entities))):
        names = dict(zip(entities, order, strict=True))
        pair = (Relation(r.kind, tuple(names[e] for e in r.entities)) for r in (one, other))
        renamed.append(tuple(sorted(map(normalise, pair))))
    return min(renamed)


def descriptions(size: int, complexity: int) -> Iterator[Description]:
    """All descriptions that are considered, or a seeded draw of them beyond ``ENUMERATED``
    entities.

    They hold in the order of the indices, mention every entity, and have one relation less than
    entities, or as many. Their relations are between any entities. Complexities are the paper's: no
    ternary relation, one, all but one.
    """
    pairs = [before(a, b) for a, b in combinations(range(size), 2)]
    triples = [is_between(m, a, b) for a, m, b in combinations(range(size), 3)]
    n_ternary = {number: {0: 0, 1: 1, 2: number - 1}[complexity] for number in (size - 1, size)}
    chosen: Iterator[Description]
    if size <= ENUMERATED:
        parts = (
            (combinations(triples, t), combinations(pairs, number - t))
            for number, t in n_ternary.items()
        )
        chosen = ((*t, *p) for part in parts for t, p in product(*part))
    else:
        rng = np.random.default_rng([size, complexity])

        def draw(relations: list[Relation], number: int) -> list[Relation]:
            return [relations[i] for i in sorted(rng.choice(len(relations), number, replace=False))]

        turns = (size - turn % 2 for turn in range(DRAWN))
        chosen = (
            (*draw(triples, n_ternary[number]), *draw(pairs, number - n_ternary[number]))
            for number in turns
        )
    return (
        description
        for description in dict.fromkeys(chosen)
        if len(entities_of(description)) == size
    )


def candidates(problem: str, size: int, complexity: int, arity: int) -> list[Candidate]:
    """The abstract problems of a cell that can be part of a balanced choice, each once up to names.

    Left out are those with a view that some answer never has, until there is none. Beyond
    ``ENUMERATED`` entities: ``KEPT`` of those whose trials all have the same view, one of a
    description.
    """
    if size > ENUMERATED:
        alike = (
            _alike(problem, size, description, arity)
            for description in descriptions(size, complexity)
        )
        return list(islice((candidate for candidate in alike if candidate is not None), KEPT))
    left = [
        candidate
        for candidate in (_asked(problem, size, d, arity) for d in descriptions(size, complexity))
        if candidate.pairs
    ]
    n_views = -1
    while left and n_views != (
        n_views := sum(len(candidate.pairs) + len(candidate.undecided) for candidate in left)
    ):
        seen = [
            {views[number] for candidate in left for _, views in candidate.pairs}
            for number in (0, 1)
        ]
        if problem_type(problem) == "Compl":
            seen.append({view for candidate in left for _, view in candidate.undecided})
        left = [
            candidate.having(set.intersection(*seen), is_three=len(seen) == 3) for candidate in left
        ]
        left = [candidate for candidate in left if candidate.pairs]
    by_form: dict[object, Candidate] = {}
    for candidate in left:
        for made in candidate.tuples():
            by_form.setdefault(_canonical(size, made.description, made.queries), made)
    return list(by_form.values())


class _Asked(NamedTuple):
    """Queries that a description decides, in pairs of a true and a false one, and undecided ones,
    with views.
    """

    description: Description
    pairs: list[tuple[Description, tuple[View, View]]]
    undecided: list[tuple[Relation, View]]

    def having(self, views: set[View], *, is_three: bool) -> _Asked:
        """The queries that have only these views; none where a tuple needs an undecided query and
        there is none.
        """
        undecided = [entry for entry in self.undecided if entry[1] in views]
        pairs = (
            [entry for entry in self.pairs if views.issuperset(entry[1])]
            if undecided or not is_three
            else []
        )
        return _Asked(self.description, pairs, undecided)

    def tuples(self) -> Iterator[Candidate]:
        """All tuples."""
        for queries, views in self.pairs:
            if not self.undecided:
                yield Candidate(self.description, queries, views)
            for third, view in self.undecided:
                yield Candidate(self.description, (*queries, third), (*views, view))


def _asked(problem: str, size: int, description: Description, arity: int) -> _Asked:
    """The queries of a description: one that follows and is not stated, one that contradicts it,
    for completeness an undecided one.
    """
    asked = [query for query in _true_relations(size, arity) if query not in description]
    variants = {query: [normalise(false) for false in false_variants(query)] for query in asked}
    verdicts = {query: decide_query(size, description, query) for query in asked}
    pairs: list[tuple[Description, tuple[View, View]]] = []
    for query in (query for query in asked if verdicts[query] == "all"):
        view = view_of(problem, size, description, query)
        pairs += [
            ((query, false), (view, view_of(problem, size, description, false)))
            for false in variants[query]
        ]
    undecided: list[tuple[Relation, View]] = []
    if problem_type(problem) == "Compl" and pairs:
        every = (
            other
            for query in asked
            if verdicts[query] == "some"
            for other in (query, *variants[query])
        )
        thirds = (other for other in every if decide_query(size, description, other) == "some")
        undecided = [(other, view_of(problem, size, description, other)) for other in thirds]
        pairs = pairs if undecided else []
    return _Asked(description, pairs, undecided)


def _alike(problem: str, size: int, description: Description, arity: int) -> Candidate | None:
    """One tuple whose trials all have the same view."""
    roles = _roles(size, description)
    for query in _true_relations(size, arity):
        for false in () if query in description else map(normalise, false_variants(query)):
            seen = [
                (roles[first], sorted(roles[e] for e in others))
                for first, *others in (query.entities, false.entities)
            ]
            if seen[0] != seen[1]:
                continue  # the two views differ
            view = view_of(problem, size, description, query)
            if (
                view != view_of(problem, size, description, false)
                or decide_query(size, description, query) != "all"
            ):
                continue
            if problem_type(problem) != "Compl":
                return Candidate(description, (query, false), (view, view))
            for true in _true_relations(size, arity):
                for third in (true, *map(normalise, false_variants(true))):
                    if (
                        view_of(problem, size, description, third) == view
                        and decide_query(size, description, third) == "some"
                    ):
                        return Candidate(description, (query, false, third), (view,) * 3)
    return None


@cache
def _true_relations(size: int, arity: int) -> tuple[Relation, ...]:
    """Relations that hold in the order of the indices."""
    if arity == 2:
        return tuple(before(a, b) for a, b in combinations(range(size), 2))
    return tuple(is_between(m, a, b) for a, m, b in combinations(range(size), 3))


def _canonical(size: int, description: Description, queries: Description) -> tuple[object, ...]:
    """The same value for problems that differ in the names of entities only, of those that hold in
    the order of the indices.

    Names differ within the worlds of the description only, as its relations hold in each of them.
    """
    if count_worlds(size, description) == 1:
        return tuple(sorted(map(normalise, description))), tuple(map(normalise, queries))
    every = []
    for names in permutations(range(size)):
        renamed = tuple(sorted(normalise(rename(r, names)) for r in description))
        every.append((renamed, tuple(normalise(rename(q, names)) for q in queries)))
    return min(every)


def balance(candidates: Sequence[Candidate], most: int = KEPT) -> list[Candidate]:
    """As many problems as can be had, each once, such that every view occurs equally often with
    each answer.

    A linear programme: weights from 0 to 1, and for each view equal weight of the answers. If the
    largest sum of weights is 0, no weighting is balanced. Otherwise whole weights are found, and
    tuples whose trials all have the same view go first.

    Args:
        candidates: all problems of a cell.
        most: how many to choose.
    """
    left = list(candidates)
    if not left:
        return []
    row_numbers: dict[object, int] = {}
    entries: defaultdict[tuple[int, int], float] = defaultdict(float)
    for column, candidate in enumerate(left):
        for number, view in enumerate(candidate.views[1:], 1):
            entries[
                row_numbers.setdefault((number, candidate.views[0]), len(row_numbers)), column
            ] += 1
            entries[row_numbers.setdefault((number, view), len(row_numbers)), column] -= 1
    rows, columns = zip(*entries, strict=True)
    matrix = sparse.csr_array(
        (list(entries.values()), (rows, columns)), (len(row_numbers), len(left))
    )
    is_alike = np.array(
        [len(set(candidate.views)) == 1 for candidate in left]
    )  # so that parts of a set are balanced as well
    gain = (
        1 + 9 * is_alike + np.random.default_rng(0).random(len(left)) / 10
    )  # not always the first ones
    free = linprog(-gain, A_eq=matrix, b_eq=np.zeros(len(row_numbers)), bounds=(0, 1))
    assert free.status == 0, free.message
    if -free.fun < 1e-6:
        return []
    equal, limit = (
        LinearConstraint(matrix, 0, 0),
        LinearConstraint(np.ones((1, len(left))), 0, most),
    )
    options = {"time_limit": 120.0, "mip_rel_gap": 0.1}
    whole = milp(
        -gain,
        constraints=[equal, limit],
        bounds=Bounds(0, 1),
        integrality=np.ones(len(left)),
        options=options,
    )
    return [candidate for candidate, weight in zip(left, whole.x, strict=True) if weight > 0.5]


def _sets(problem: str, size: int, chosen: Sequence[Candidate]) -> list[str]:
    """In which sets the problems of a cell are: what is balanced as a whole only, in all."""
    alike = [candidate for candidate in chosen if len(set(candidate.views)) == 1]
    parts = iter(divide([set(_trials(problem, size, candidate)) for candidate in alike]))
    return [next(parts) if candidate in alike else "all" for candidate in chosen]


def _trials(problem: str, size: int, candidate: Candidate) -> Iterator[object]:
    """The trials of a tuple, up to names where all problems are enumerated."""
    for query in candidate.queries:
        stated = (
            (*candidate.description, query)
            if problem_type(problem) == "Consist"
            else candidate.description
        )
        asked = () if problem_type(problem) == "Consist" else (query,)
        if size <= ENUMERATED:
            yield min(_renamed(stated, asked, names) for names in permutations(range(size)))
        else:
            yield _renamed(stated, asked, tuple(range(size)))


def _renamed(stated: Description, asked: Description, names: tuple[int, ...]) -> tuple[object, ...]:
    return tuple(sorted(normalise(rename(r, names)) for r in stated)), tuple(
        normalise(rename(r, names)) for r in asked
    )


def divide(trials: Sequence[set[object]]) -> list[str]:
    """The set of each problem: for training or for tests, about as many of both. Problems that
    share a trial are together.

    Args:
        trials: of each problem, each trial up to names, and whatever else must not be torn apart.

    >>> divide([{1, 2}, {2, 3}, {4, 5}]), divide([{1}, {1}])
    (['train', 'train', 'test'], ['all', 'all'])
    """
    groups: list[tuple[list[int], set[object]]] = []
    for number, trial_set in enumerate(trials):
        near = [group for group in groups if group[1] & trial_set]
        groups = [group for group in groups if not group[1] & trial_set]
        groups.append(
            (
                [number, *(other for group in near for other in group[0])],
                trial_set.union(*(group[1] for group in near)),
            )
        )
    parts: dict[str, list[int]] = {"train": [], "test": []}
    for numbers, _ in sorted(groups, key=lambda group: (-len(group[0]), min(group[0]))):
        min(parts.values(), key=len).extend(numbers)
    if not all(parts.values()):
        return ["all"] * len(trials)
    return ["train" if number in parts["train"] else "test" for number in range(len(trials))]


def write_kept(
    path: Path,
    rows: Iterable[tuple[str, int, int, int, str, Description, Description]],
    module: str,
) -> None:
    """Write problems that were chosen.

    Args:
        path: the file.
        rows: problem, size, complexity, arity, in which sets (``numbers_in``), description and
            queries of each.
        module: that chose them.
    """
    lines = [
        f"# Made by python -m {module}; do not edit.",
        "problem,size,complexity,arity,sets,description,queries",
    ]
    for *cell, description, queries in rows:
        parts = ("[" + ",".join(map(write_relation, part)) + "]" for part in (description, queries))
        lines.append(",".join([*map(str, cell), *(f'"{part}"' for part in parts)]))
    write_text(path, "\n".join(lines) + "\n")


def main() -> None:
    """Choose the problems of every cell, and write them."""
    rows = []
    for cell in product(HARD.problems, range(SMALLEST, LARGEST + 1), (0, 1, 2), (2, 3)):
        every = candidates(*cell)
        chosen = balance(every)
        print(*cell, len(every), len(chosen), file=sys.stderr, flush=True)
        rows += [
            (*cell, part, *candidate[:2])
            for part, candidate in zip(_sets(*cell[:2], chosen), chosen, strict=True)
            if len(chosen) >= FEWEST
        ]
    write_kept(HARD.chosen, rows, "worldprobe_lab.hard")


if __name__ == "__main__":
    main()
