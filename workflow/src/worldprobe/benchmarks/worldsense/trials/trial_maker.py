"""One tuple of trials: an abstract tuple, choices drawn without replacement, and the text of each
trial.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import lru_cache
from math import factorial, perm
from typing import Any, NamedTuple

from worldprobe.benchmarks.worldsense.problems.problems import (
    Cell,
    Core,
    cores,
    name_moment,
    numbers_in,
    solve,
    story_of,
)
from worldprobe.benchmarks.worldsense.problems.worlds import (
    MOMENTS,
    UNKNOWN,
    UPDATES,
    Description,
    Relation,
    write_relation,
)
from worldprobe.benchmarks.worldsense.skins.rendering import (
    render_clause,
    render_description,
    render_listing,
    render_moment,
    render_opposite,
    render_question,
    render_story,
)
from worldprobe.benchmarks.worldsense.skins.skins import Skin, entities_needed
from worldprobe.benchmarks.worldsense.skins.vocabulary import (
    DISGUISE,
    FAMILY_OF,
    LINEAR_PROBLEMS,
    MOVING,
    problem_type,
)

_MASK = (1 << 64) - 1
ROUNDS = 4


@lru_cache(maxsize=1 << 14)
def round_keys(*names: object) -> tuple[int, ...]:
    """Keys of a permutation, from whatever names it (the seed first)."""
    digest = hashlib.blake2b("\0".join(map(str, names)).encode(), digest_size=8 * ROUNDS).digest()
    return tuple(int.from_bytes(digest[8 * i : 8 * i + 8], "little") | 1 for i in range(ROUNDS))


def permute(i: int, n: int, keys: tuple[int, ...]) -> int:
    """The i-th value of a keyed permutation of 0..n-1.

    Raises:
        ValueError: i is not one of 0..n-1; the walk would never come back to them.

    >>> sorted(permute(i, 10, round_keys(0, "demo")) for i in range(10)) == list(range(10))
    True
    """
    if not 0 <= i < n:
        raise ValueError(f"draw {i} of {n}")
    half = max(1, ((n - 1).bit_length() + 1) // 2)
    low = (1 << half) - 1
    while True:
        left, right = i >> half, i & low
        for key in keys:
            mixed = ((right + 1) * key) & _MASK
            left, right = right, left ^ ((mixed ^ mixed >> 29) * 0xBF58476D1CE4E5B9 >> 32 & low)
        i = left << half | right
        if i < n:
            return i


@lru_cache(maxsize=1 << 15)
def arrangement(number: int, n: int, k: int) -> tuple[int, ...]:
    """The ordered choice of k of 0..n-1 with a number below ``perm(n, k)``.

    >>> [arrangement(i, 3, 2) for i in range(3)]
    [(0, 1), (1, 0), (2, 0)]
    """
    left = list(range(n))
    chosen = []
    for position in range(k):
        number, digit = divmod(number, n - position)
        chosen.append(left.pop(digit))
    return tuple(chosen)


#: Columns of a trial as it is made; ``number`` is added when the set is put together.
COLUMNS = (
    "trial_id",
    "tuple_id",
    "problem",
    "size",
    "complexity",
    "arity",
    "span",
    "skin",
    "wording",
    "description",
    "query",
    "entities",
    "text",
    "gold",
    "n_worlds",
    "depth",
    "moment",
)

Row = tuple[Any, ...]
_write_names = json.JSONEncoder(ensure_ascii=False).encode


class Stratum(NamedTuple):
    """Where a tuple is drawn from: a cell, a skin and a wording, of the abstract tuples of a set
    for training or of another.
    """

    cell: Cell
    skin: Skin
    wording: str
    is_training: bool = False


@lru_cache
def n_distinct(cell: Cell, n_entities: int, *, is_training: bool = False) -> int:
    """How many different tuples a skin of so many entities has in a cell and one wording."""
    kinds = {
        (_n_named(cell, core), n_facts(cell.problem, core.description)) for core in cores(cell)
    }
    fewest = min((_n_choices(cell, n_entities, *kind) for kind in kinds), default=0)
    return len(numbers_in(cell, is_training=is_training)) * (
        fewest // (2 if _has_twin(cell) else 1)
    )


@lru_cache
def _n_choices(cell: Cell, n_entities: int, n_named: int, n_relations: int) -> int:
    """Choices apart from the abstract tuple: entities, order of relations, place of the inserted
    one, converses.
    """
    n_orders = 1 if cell.problem == "Infer.trivial" else factorial(n_relations)
    is_placed = (
        problem_type(cell.problem) == "Consist" and cell.problem not in MOVING
    )  # updates have an order of their own
    n_places = n_relations + 1 if is_placed else 1
    n_flips = (
        2
        if cell.problem == "Infer.trivial"
        else 1 << (n_relations + (cell.problem != "Infer.extrema"))
    )
    return perm(n_entities, n_named) * n_orders * n_places * n_flips


def n_facts(problem: str, description: Description) -> int:
    """How many relations at the beginning of a core's description say how things are at first: all,
    if nothing changes.
    """
    changing = (
        number
        for number, relation in enumerate(description)
        if relation.kind in UPDATES or relation.kind in MOMENTS
    )
    return next(
        changing, len(description) - (problem in MOVING and problem_type(problem) == "Consist")
    )


def _has_twin(cell: Cell) -> bool:
    """With three entities, "one ternary relation" and "all but one" are the same descriptions: the
    two cells share them.
    """
    return cell.size == 3 and cell.complexity > 0


def _n_named(cell: Cell, core: Core) -> int:
    """Entities that the trials of an abstract tuple name: one more than the description where a
    query asks about another one.
    """
    return (
        entities_needed(cell.size)
        if any(UNKNOWN in query.entities for query in core.queries)
        else cell.size
    )


def make_tuple(stratum: Stratum, draw: int, seed: int, shift: int) -> list[Row]:
    """The trials of one tuple, in a random order.

    Args:
        stratum: cell, skin and wording.
        draw: number of the tuple within the stratum, below ``n_distinct``.
        seed: the set's seed.
        shift: moves where the stratum begins in the cell's list of abstract tuples, so that strata
            together are even.

    Returns:
        Rows with the values of ``COLUMNS``, one for each answer.
    """
    cell, skin, wording, is_training = stratum
    numbers = numbers_in(cell, is_training=is_training)
    n_cores = len(numbers)
    drawn_as = cell._replace(complexity=1) if _has_twin(cell) else cell
    number = numbers[_draw_core((shift + draw) % n_cores, n_cores, round_keys(seed, *drawn_as))]
    facts = _facts_of(cell, number)
    n_choices = _n_choices(cell, len(skin.entities), facts.n_named, facts.n_facts)
    first = n_choices // 2 if _has_twin(cell) and cell.complexity == 2 else 0
    keys = round_keys(seed, *drawn_as, skin.name, wording, number)
    return _render(stratum, facts, permute(first + draw // n_cores, n_choices, keys))


#: The same few draws again and again, in every skin and wording.
_draw_core = lru_cache(maxsize=1 << 16)(permute)


class _Facts(NamedTuple):
    """Facts that the tuples of an abstract tuple share.

    Attributes:
        description: the relations that all its trials state.
        written: each of them in the official notation.
        queries: for each answer: the relation, the same in notation, the gold answer in disguise,
            span, worlds, depth.
        n_named: how many entities the trials name.
        n_facts: relations that say how things are at first.
    """

    description: Description
    written: tuple[str, ...]
    queries: tuple[tuple[Relation, str, str, int | None, int, int], ...]
    n_named: int
    n_facts: int


@lru_cache(maxsize=1 << 15)
def _facts_of(cell: Cell, number: int) -> _Facts:
    core = cores(cell)[number]
    queries = tuple(
        (
            query,
            write_relation(query),
            DISGUISE[solved.answer],
            _span(query, core, cell.problem),
            solved.n_worlds,
            solved.depth,
        )
        for query, solved in zip(core.queries, solve(cell.problem, cell.size, core), strict=True)
    )
    written = tuple(map(write_relation, core.description))
    return _Facts(
        core.description,
        written,
        queries,
        _n_named(cell, core),
        n_facts(cell.problem, core.description),
    )


def _render(stratum: Stratum, facts: _Facts, number: int) -> list[Row]:
    cell, skin, wording, _ = stratum
    problem, size, complexity, arity = cell
    kind = problem_type(problem)
    is_moving = problem in MOVING
    if is_moving:
        skin = skin.in_motion()
    n_relations = facts.n_facts
    number, arranged = divmod(number, perm(len(skin.entities), facts.n_named))
    names = [skin.entities[i] for i in arrangement(arranged, len(skin.entities), facts.n_named)]
    order = tuple(range(n_relations))
    if problem != "Infer.trivial":
        number, ordered = divmod(number, factorial(n_relations))
        order = arrangement(ordered, n_relations, n_relations)
    inserted = n_relations
    if kind == "Consist" and not is_moving:
        number, inserted = divmod(number, n_relations + 1)
    flip, flips = bool(number & 1), number >> 1
    if problem == "Infer.extrema":
        flip, flips = False, number
    written = [*(facts.written[i] for i in order), *facts.written[n_relations:]]
    if is_moving:
        inserted = len(written) - 1  # before what is seen in the end
    described = f"[{','.join(written)}]"
    if problem == "Infer.trivial":
        shared = render_listing(names, skin)
    else:
        clauses = [
            render_clause(facts.description[i], names, skin, bool(flips >> at & 1))
            for at, i in enumerate(order)
        ]
        # That all are counted and described would say of the entity outside that it is not there.
        is_counted = skin.counts_always or problem != "Compl.trivial"
        shared = "" if kind == "Consist" else render_description(clauses, size, skin, is_counted)
    entities = _write_names(names[:size])
    rows = []
    opposite = ""
    for query, asks, gold, span, n_worlds, depth in facts.queries:
        asked = "" if query.kind in UPDATES else render_clause(query, names, skin, flip)
        if kind == "Consist":
            described = f"[{','.join([*written[:inserted], asks, *written[inserted:]])}]"
        if is_moving:
            shared = _tell(facts, clauses, query if kind == "Consist" else None, names, skin, flip)
        elif kind == "Consist":
            shared = render_description(
                [*clauses[:inserted], asked, *clauses[inserted:]], size, skin
            )
        if kind == "Compl":
            opposite = render_opposite(query, names, skin, flip)
        text = render_question(problem, wording, skin, shared, asked, opposite)
        rows.append((described, asks, text, gold, span, n_worlds, depth))
    moment = name_moment(story_of(facts.description).moment) if is_moving else None
    digest = hashlib.blake2b(
        repr((cell, skin.name, wording, entities, rows)).encode(), digest_size=16
    ).digest()
    tuple_id = digest[:8].hex()
    cell_fields = (problem, size, complexity, arity)
    return [
        (
            _key(tuple_id, asks, gold),
            tuple_id,
            *cell_fields,
            span,
            skin.name,
            wording,
            described,
            asks,
            entities,
            text,
            gold,
            n_worlds,
            depth,
            moment,
        )
        for described, asks, text, gold, span, n_worlds, depth in _turn(rows, digest[8])
    ]


def _tell(
    facts: _Facts,
    clauses: Sequence[str],
    update: Relation | None,
    names: Sequence[str],
    skin: Skin,
    flip: bool,
) -> str:
    """How things are at first, what changes, and which moment is asked about, or in a consistency
    problem what is seen at last.

    Args:
        facts: what is shared.
        clauses: how things are at first.
        update: the last one, of a consistency problem.
        names: the entities' names.
        skin: the words.
        flip: whether what is seen is said by the converse.
    """
    described = render_description(
        clauses, len(clauses) + 1, skin
    )  # each but the first entity has a relation
    rest = facts.description[facts.n_facts :]
    changes = [relation for relation in rest if relation.kind in UPDATES]
    if update is not None:
        return render_story(
            described,
            [*changes, update],
            names,
            skin,
            render_clause(rest[-1], names, skin, flip),
            "",
        )
    moment = rest[-1] if rest and rest[-1].kind in MOMENTS else None
    return render_story(
        described, changes, names, skin, "", render_moment(moment, len(changes), skin.stories)
    )


def _span(query: Relation, core: Core, problem: str) -> int | None:
    """As the official field: 0 for Consist.trivial; a query about nothing in the description has
    the first query's span.
    """
    if problem == "Consist.trivial":
        return 0
    if query.kind in ("first", "last", "leave"):
        return 0
    if query.kind in ("parallel", "perpendicular"):
        return None
    return (
        core.queries[0].span()
        if query.kind == "foreign" or UNKNOWN in query.entities
        else query.span()
    )


def _turn(rows: list[Any], digit: int) -> list[Any]:
    """The trials in one of their orders: the place in a file must not reveal the answer."""
    order = arrangement(digit % factorial(len(rows)), len(rows), len(rows))
    return [rows[i] for i in order]


def _key(tuple_id: str, query: str, gold: str) -> int:
    content = hashlib.blake2b(f"{tuple_id}{query}{gold}".encode(), digest_size=8).digest()
    return int.from_bytes(content, "little", signed=True)


def problems_of(skin: Skin) -> tuple[str, ...]:
    """The problems that the words of a skin can express."""
    if skin.domain == "planar":
        return ("Infer.parallel",)
    added = (name for name, family in FAMILY_OF.items() if skin.motion or not family.is_moving)
    return (*LINEAR_PROBLEMS, "Infer.extrema", *added)
