"""One tuple of trials: an abstract tuple, drawn choices, and the text of each trial."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from typing import Any, NamedTuple

from worldprobe.benchmarks.worldsense.draws import arrangement, count_arrangements, count_orders, permute, round_keys
from worldprobe.benchmarks.worldsense.notation import write_description, write_relation
from worldprobe.benchmarks.worldsense.problems import Cell, Core, cores, solve
from worldprobe.benchmarks.worldsense.render import (
    render_clause,
    render_description,
    render_listing,
    render_opposite,
    render_question,
)
from worldprobe.benchmarks.worldsense.skins import Skin, entities_needed
from worldprobe.benchmarks.worldsense.vocabulary import DISGUISE, problem_type
from worldprobe.benchmarks.worldsense.worlds import UNKNOWN, Relation

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
)

Row = tuple[Any, ...]
_write_names = json.JSONEncoder(ensure_ascii=False).encode


class Stratum(NamedTuple):
    """Where a tuple is drawn from: a cell, a skin and a wording."""

    cell: Cell
    skin: Skin
    wording: str


@lru_cache
def n_distinct(cell: Cell, n_entities: int) -> int:
    """How many different tuples a skin of so many entities has in a cell and one wording."""
    named = {_n_named(cell, core) for core in cores(cell)}
    fewest = min((_n_choices(cell, n_entities, n_named) for n_named in named), default=0)
    return len(cores(cell)) * (fewest // (2 if _has_twin(cell) else 1))


@lru_cache
def _n_choices(cell: Cell, n_entities: int, n_named: int) -> int:
    """Choices apart from the abstract tuple: entities, order of relations, place of the inserted one, converses."""
    n_relations = cell.size - 1
    n_orders = 1 if cell.problem == "Infer.trivial" else count_orders(n_relations)
    n_places = n_relations + 1 if problem_type(cell.problem) == "Consist" else 1
    n_flips = 2 if cell.problem == "Infer.trivial" else 1 << (n_relations + (cell.problem != "Infer.extrema"))
    return count_arrangements(n_entities, n_named) * n_orders * n_places * n_flips


def _has_twin(cell: Cell) -> bool:
    """With three entities, "one ternary relation" and "all but one" are the same descriptions: the two cells share them."""
    return cell.size == 3 and cell.complexity > 0


def _n_named(cell: Cell, core: Core) -> int:
    """Entities that the trials of an abstract tuple name: one more than the description where a query asks about another one."""
    return entities_needed(cell.size) if any(UNKNOWN in query.entities for query in core.queries) else cell.size


def make_tuple(stratum: Stratum, draw: int, seed: int, shift: int) -> list[Row]:
    """The trials of one tuple, in a random order.

    Args:
        stratum: cell, skin and wording.
        draw: number of the tuple within the stratum, below ``n_distinct``.
        seed: the set's seed.
        shift: moves where the stratum begins in the cell's list of abstract tuples, so that strata together are even.

    Returns:
        Rows with the values of ``COLUMNS``, one for each answer.
    """
    cell, skin, wording = stratum
    all_cores = cores(cell)
    place = (shift + draw) % len(all_cores)
    drawn_as = cell._replace(complexity=1) if _has_twin(cell) else cell
    number = permute(place, len(all_cores), round_keys(seed, *drawn_as))
    core = all_cores[number]
    n_choices = _n_choices(cell, len(skin.entities), _n_named(cell, core))
    first = n_choices // 2 if _has_twin(cell) and cell.complexity == 2 else 0
    keys = round_keys(seed, *drawn_as, skin.name, wording, number)
    return _render(stratum, core, permute(first + draw // len(all_cores), n_choices, keys))


def _render(stratum: Stratum, core: Core, number: int) -> list[Row]:
    cell, skin, wording = stratum
    problem, size, complexity, arity = cell
    n_relations = len(core.description)
    n_named = _n_named(cell, core)
    number, arranged = divmod(number, count_arrangements(len(skin.entities), n_named))
    names = [skin.entities[i] for i in arrangement(arranged, len(skin.entities), n_named)]
    order = tuple(range(n_relations))
    if problem != "Infer.trivial":
        number, ordered = divmod(number, count_orders(n_relations))
        order = arrangement(ordered, n_relations, n_relations)
    is_consistency = problem_type(problem) == "Consist"
    inserted = n_relations
    if is_consistency:
        number, inserted = divmod(number, n_relations + 1)
    flip, flips = bool(number & 1), number >> 1
    if problem == "Infer.extrema":
        flip, flips = False, number
    relations = [core.description[i] for i in order]
    clauses = [render_clause(r, names, skin, bool(flips >> i & 1)) for i, r in enumerate(relations)]
    if problem == "Infer.trivial":
        shared = render_listing(names, skin)
    elif not is_consistency:
        shared = render_description(clauses, size, skin)
    entities = _write_names(names[:size])
    rows = []
    for query, solved in zip(core.queries, solve(problem, size, core), strict=True):
        asked = render_clause(query, names, skin, flip)
        stated = relations
        if is_consistency:
            stated = [*relations[:inserted], query, *relations[inserted:]]
            shared = render_description([*clauses[:inserted], asked, *clauses[inserted:]], size, skin)
        opposite = render_opposite(query, names, skin, flip) if problem_type(problem) == "Compl" else ""
        text = render_question(problem, wording, skin, shared, asked, opposite)
        written, asks = write_description(tuple(stated)), write_relation(query)
        gold = DISGUISE[solved.answer]
        span = _span(query, core, problem)
        rows.append((written, asks, text, gold, span, solved.n_worlds, solved.depth))
    digest = hashlib.blake2b(repr((cell, skin.name, wording, entities, rows)).encode(), digest_size=16).digest()
    tuple_id = digest[:8].hex()
    turned = _turn(rows, digest[8])
    shared_fields = (problem, size, complexity, arity)
    return [
        (
            _key(tuple_id, asks, gold),
            tuple_id,
            *shared_fields,
            span,
            skin.name,
            wording,
            written,
            asks,
            entities,
            text,
            gold,
            *facts,
        )
        for written, asks, text, gold, span, *facts in turned
    ]


def _span(query: Relation, core: Core, problem: str) -> int | None:
    """As the official field: 0 for Consist.trivial; a query about nothing in the description has the first query's span."""
    if problem == "Consist.trivial":
        return 0
    if query.kind in ("first", "last"):
        return 0
    if query.kind in ("parallel", "perpendicular"):
        return None
    return core.queries[0].span() if query.kind == "foreign" or UNKNOWN in query.entities else query.span()


def _turn(rows: list[Any], digit: int) -> list[Any]:
    """The trials in one of their orders: the place in a file must not reveal the answer."""
    order = arrangement(digit % count_orders(len(rows)), len(rows), len(rows))
    return [rows[i] for i in order]


def _key(tuple_id: str, query: str, gold: str) -> int:
    content = hashlib.blake2b(f"{tuple_id}{query}{gold}".encode(), digest_size=8).digest()
    return int.from_bytes(content, "little", signed=True)
