"""Abstract problems: every description and its queries that a problem, size, complexity and query
form admit.

Nothing is drawn here: the admissible problems are enumerated, and the exact solver decides the
answer of each (paper, Section 3.3; specification, Sections 3 and 4). In each, the order 0 < 1 < ...
< n-1 is a world of the description.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache, partial
from itertools import combinations, permutations, product
from pathlib import Path
from typing import NamedTuple

from worldprobe.benchmarks.worldsense.problems.worlds import (
    MOMENTS,
    PLANAR,
    UNKNOWN,
    UPDATES,
    Description,
    Relation,
    before,
    count_worlds,
    decide_query,
    depth,
    false_variants,
    gold_answer,
    is_between,
    normalise,
    read_description,
    rename,
)
from worldprobe.benchmarks.worldsense.skins.vocabulary import (
    FAMILY_OF,
    LINEAR_PROBLEMS,
    MOVING,
    answers_of,
    problem_type,
)
from worldprobe.commented_csv import read_rows

#: Complexities of a description by problem; the others know complexity 0 only. Of a problem in
#: motion, the number of updates.
COMPLEXITIES: dict[str, tuple[int, ...]] = dict.fromkeys(
    ("Infer.normal", "Consist.trivial", "Consist.normal", "Infer.extrema"), (0, 1, 2)
)
COMPLEXITIES |= {problem: family.complexities for problem, family in FAMILY_OF.items()}
#: Arguments of a query by problem; the others know 2 and 3.
ARITIES: dict[str, tuple[int, ...]] = dict.fromkeys(("Infer.extrema", "Infer.parallel"), (2,))
ARITIES |= {problem: family.arities for problem, family in FAMILY_OF.items()}


class Cell(NamedTuple):
    """The factors that trials are balanced over, apart from skin and wording."""

    problem: str
    size: int
    complexity: int
    arity: int


class Core(NamedTuple):
    """The abstract form of a tuple of trials.

    Attributes:
        description: the relations that all its trials share.
        queries: one relation for each answer, in the order of the problem's answers. In a
            consistency problem this relation is inserted into the description, everywhere else it
            is asked about.
    """

    description: Description
    queries: Description


class Solved(NamedTuple):
    """The solver's result for one trial of a core."""

    answer: str
    n_worlds: int
    depth: int


class Story(NamedTuple):
    """Updates and the moment that is asked about; ``at`` and ``without`` as in ``worlds.MOMENTS``,
    None: after all.
    """

    updates: tuple[Relation, ...]
    moment: Relation | None

    def counted(self) -> list[Relation]:
        """The updates that count for the question."""
        if self.moment is None:
            return list(self.updates)
        (number,) = self.moment.entities
        at = self.moment.kind == "at"
        return list(
            self.updates[:number] if at else self.updates[: number - 1] + self.updates[number:]
        )


def story_of(description: Description) -> Story:
    """Changes and moment of a problem in motion."""
    moment = next((relation for relation in description if relation.kind in MOMENTS), None)
    return Story(tuple(relation for relation in description if relation.kind in UPDATES), moment)


def name_moment(moment: Relation | None) -> str:
    """The moment as a column has it.

    >>> [
    ...     name_moment(one)
    ...     for one in (None, Relation("at", (0,)), Relation("at", (2,)), Relation("without", (1,)))
    ... ]
    ['after all', 'before all', 'after change 2', 'without change 1']
    """
    if moment is None:
        return "after all"
    (number,) = moment.entities
    return (
        f"{'after' if moment.kind == 'at' else 'without'} change {number}"
        if number
        else "before all"
    )


def cells(sizes: tuple[int, ...], problems: tuple[str, ...] = LINEAR_PROBLEMS) -> list[Cell]:
    """All cells, the empty ones included."""
    return [
        Cell(problem, size, complexity, arity)
        for problem in problems
        for size in sizes
        for complexity in COMPLEXITIES.get(problem, (0,))
        for arity in ARITIES.get(problem, (2, 3))
    ]


@lru_cache
def cores(cell: Cell) -> tuple[Core, ...]:
    """All abstract tuples of a cell, each once: two that differ in the names of entities only are
    one.

    Empty where the paper's conditions leave nothing, e.g. three entities, a ternary relation and a
    ternary query.

    Raises:
        AssertionError: the solver contradicts the answer that a construction intends; a bug of
            ours.
    """
    problem, size, complexity, arity = cell
    by_form: dict[object, Core] = {}
    for core in _MAKERS[problem](size, complexity, arity):
        by_form.setdefault(core if problem in FAMILY_OF else _canonical(core, size), core)
    for core in by_form.values():
        answers = tuple(
            str(gold_answer(problem, size, stated_in(problem, core, query), query))
            for query in core.queries
        )
        assert answers == answers_of(problem), (cell, core)
    return tuple(by_form.values())


@lru_cache(maxsize=1 << 15)
def solve(problem: str, size: int, core: Core) -> tuple[Solved, ...]:
    """Answer, number of worlds and depth of each trial of a core, by the exact solver."""
    trials = []
    for query in core.queries:
        description = stated_in(problem, core, query)
        answer = gold_answer(problem, size, description, query)
        trials.append(
            Solved(
                str(answer),
                count_worlds(size, description),
                depth(problem, size, description, query),
            )
        )
    return tuple(trials)


def stated_in(problem: str, core: Core, query: Relation) -> Description:
    """The relations that a trial states: the core's, and in a consistency problem the query (in
    motion, before the last).
    """
    if problem in MOVING and problem_type(problem) == "Consist":
        return (*core.description[:-1], query, core.description[-1])
    return (*core.description, query) if problem_type(problem) == "Consist" else core.description


@lru_cache
def base_descriptions(size: int, complexity: int) -> tuple[Description, ...]:
    """Complete descriptions by relations of neighbours: (i, i+1) or (i+1, i, i+2), n-1 in all.

    >>> [len(base_descriptions(4, complexity)) for complexity in (0, 1, 2)]
    [1, 4, 3]
    """
    n_ternary = {0: 0, 1: 1, 2: size - 2}[complexity]
    binary = [before(i, i + 1) for i in range(size - 1)]
    ternary = [is_between(i + 1, i, i + 2) for i in range(size - 2)]
    chosen = product(combinations(ternary, n_ternary), combinations(binary, size - 1 - n_ternary))
    descriptions = [
        tuple(sorted((*t, *b), key=lambda relation: (min(relation.entities), relation)))
        for t, b in chosen
    ]
    return tuple(
        description for description in descriptions if count_worlds(size, description) == 1
    )


def incomplete_descriptions(size: int) -> tuple[Description, ...]:
    """The chain with one relation replaced by one that skips an entity (paper, Figure 2).

    >>> len(incomplete_descriptions(4))
    4
    """
    chain = _chain(size)
    descriptions = []
    for i in range(size - 1):
        for replacement in ([before(i - 1, i + 1)] if i else []) + (
            [before(i, i + 2)] if i + 2 < size else []
        ):
            descriptions.append(tuple(sorted((*chain[:i], *chain[i + 1 :], replacement))))
    return tuple(descriptions)


def true_queries(size: int, description: Description, arity: int) -> list[Relation]:
    """Relations that hold in the order of the indices and that the description does not state:
    binary ones of entities that are not neighbours, ternary ones in any distance.
    """
    if arity == 2:
        return [before(a, b) for a, b in combinations(range(size), 2) if b - a > 1]
    stated = {normalise(relation) for relation in description}
    return [
        is_between(m, a, b)
        for a, m, b in combinations(range(size), 3)
        if is_between(m, a, b) not in stated
    ]


def _infer_normal(size: int, complexity: int, arity: int) -> Iterator[Core]:
    for description in base_descriptions(size, complexity):
        for query in true_queries(size, description, arity):
            for false in false_variants(query):
                yield Core(description, (query, false))


def _consist_trivial(size: int, complexity: int, arity: int) -> Iterator[Core]:
    for description in base_descriptions(size, complexity):
        for repeated in description:
            if len(repeated.entities) == arity:
                for false in false_variants(repeated):
                    yield Core(description, (repeated, false))


def _compl_trivial(size: int, complexity: int, arity: int) -> Iterator[Core]:
    description = _chain(size)
    for query in true_queries(size, description, arity):
        for false in false_variants(query):
            for replaced in (query, false):
                for position in range(arity):
                    entities = tuple(
                        UNKNOWN if i == position else e for i, e in enumerate(replaced.entities)
                    )
                    yield Core(
                        description, (query, false, normalise(Relation(query.kind, entities)))
                    )
                if arity == 2:
                    yield Core(description, (query, false, Relation("foreign", replaced.entities)))


def _compl_normal(size: int, complexity: int, arity: int) -> Iterator[Core]:
    for description in incomplete_descriptions(size):
        if arity == 2:
            queries = [before(a, b) for a, b in permutations(range(size), 2)]
        else:
            queries = [
                is_between(m, a, b)
                for a, b in combinations(range(size), 2)
                for m in range(size)
                if m not in (a, b)
            ]
        verdicts = {query: decide_query(size, description, query) for query in queries}
        undecided = [query for query in queries if verdicts[query] == "some"]
        for query in queries:
            if verdicts[query] == "all":
                for false, open_query in product(false_variants(query), undecided):
                    yield Core(description, (query, false, open_query))


def _infer_extrema(size: int, complexity: int, arity: int) -> Iterator[Core]:
    for description in base_descriptions(size, complexity):
        for query in (Relation("first", (0,)), Relation("last", (size - 1,))):
            yield Core(description, (query, *false_variants(query)))


def _infer_parallel(size: int, complexity: int, arity: int) -> Iterator[Core]:
    for kinds in product(("parallel", "perpendicular"), repeat=size - 1):
        description = tuple(Relation(kind, (i, i + 1)) for i, kind in enumerate(kinds))  # type: ignore[arg-type]
        for a, b in combinations(range(size), 2):
            if b - a > 1:
                query = Relation("parallel", (a, b))
                if decide_query(size, description, query) == "none":
                    (query,) = false_variants(query)
                yield Core(description, (query, *false_variants(query)))


_MAKERS = {
    "Infer.normal": _infer_normal,
    "Infer.trivial": _infer_normal,
    "Consist.normal": _infer_normal,
    "Consist.trivial": _consist_trivial,
    "Compl.normal": _compl_normal,
    "Compl.trivial": _compl_trivial,
    "Infer.extrema": _infer_extrema,
    "Infer.parallel": _infer_parallel,
}


@cache
def _kept(path: Path) -> dict[Cell, list[tuple[str, Core]]]:
    """Of each cell, the sets that a problem is in, and the problem."""
    rows = read_rows(path, path.read_bytes())
    next(rows)  # the header
    by_cell: dict[Cell, list[tuple[str, Core]]] = {}
    for _, (problem, size, complexity, arity, sets, description, queries) in rows:
        core = Core(read_description(description), read_description(queries))
        by_cell.setdefault(Cell(problem, int(size), int(complexity), int(arity)), []).append(
            (sets, core)
        )
    return by_cell


def _chosen(path: Path, problem: str, size: int, complexity: int, arity: int) -> Iterator[Core]:
    yield from (core for _, core in _kept(path).get(Cell(problem, size, complexity, arity), ()))


@lru_cache
def numbers_in(cell: Cell, *, is_training: bool) -> tuple[int, ...]:
    """Numbers of the ``cores`` of a cell in the sets for training, or in the others.

    Of families, no problem is in both, where balance allows to divide them; all others are in all
    sets.
    """
    if cell.problem not in FAMILY_OF:
        return tuple(range(len(cores(cell))))
    kept = _kept(FAMILY_OF[cell.problem].chosen)[cell]
    in_sets = {core: sets for sets, core in kept}
    part = "train" if is_training else "test"
    return tuple(
        number for number, core in enumerate(cores(cell)) if in_sets[core] in ("all", part)
    )


_MAKERS |= {
    problem: partial(_chosen, family.chosen, problem) for problem, family in FAMILY_OF.items()
}


def _chain(size: int) -> Description:
    return tuple(before(i, i + 1) for i in range(size - 1))


def _canonical(core: Core, size: int) -> tuple[Relation, ...]:
    """The same value for two cores that differ in the names of entities only."""
    return min(
        (*sorted(_renamed(core.description, names)), *_renamed(core.queries, names))
        for names in _renamings(core, size)
    )


def _renamings(core: Core, size: int) -> list[tuple[int, ...]]:
    """Other names of entities that make a description of ours into another of ours."""
    itself = tuple(range(size))
    if core.description[0].kind in PLANAR:
        return [itself, itself[::-1]]  # a chain of lines, read from its other end
    return _symmetries(size, core.description)


@lru_cache
def _symmetries(size: int, description: Description) -> list[tuple[int, ...]]:
    """The renamings that leave a description as it is; with one world, none but the entities' own
    names.
    """
    itself = tuple(range(size))
    if count_worlds(size, description) == 1:
        return [itself]
    earlier = {
        pair: decide_query(size, description, before(*pair)) == "all"
        for pair in permutations(itself, 2)
    }
    ranks = [
        (sum(earlier[o, e] for o in itself if o != e), sum(earlier[e, o] for o in itself if o != e))
        for e in itself
    ]
    twins = [[e for e in itself if ranks[e] == rank] for rank in sorted(set(ranks))]
    renamings = []
    for orders in product(*(permutations(group) for group in twins)):
        names = list(itself)
        for group, order in zip(twins, orders, strict=True):
            for entity, name in zip(group, order, strict=True):
                names[entity] = name
        if sorted(_renamed(description, tuple(names))) == sorted(map(normalise, description)):
            renamings.append(tuple(names))
    return renamings


def _renamed(relations: Description, names: tuple[int, ...]) -> list[Relation]:
    return [normalise(rename(relation, names)) for relation in relations]
