"""The solver against plain enumeration of all worlds."""

from itertools import permutations, product

from hypothesis import given, settings
from hypothesis import strategies as st

from worldprobe.benchmarks.worldsense.problems import worlds as solver
from worldprobe.benchmarks.worldsense.problems.worlds import (
    Relation,
    before,
    holds,
    is_between,
    read_description,
    read_relation,
    rename,
    write_relation,
)


def linear(size: int, *, unknown: bool = False):
    entity = st.integers(-1 if unknown else 0, size - 1)
    pair = st.lists(entity, min_size=2, max_size=2, unique=True)
    triple = st.lists(entity, min_size=3, max_size=3, unique=True)
    one = st.integers(0, size - 1)
    return st.one_of(
        pair.map(lambda e: before(*e)),
        triple.map(lambda e: is_between(*e)),
        one.map(lambda e: Relation("first", (e,))),
        one.map(lambda e: Relation("last", (e,))),
    )


problems = st.integers(2, 6).flatmap(
    lambda n: st.tuples(
        st.just(max(n, 3)), st.lists(linear(max(n, 3)), max_size=6).map(tuple), linear(max(n, 3))
    )
)


@settings(max_examples=150, deadline=None)
@given(problems)
def test_counts_and_verdicts_are_those_of_all_orders(problem) -> None:
    size, description, query = problem
    worlds = [
        place for place in permutations(range(size)) if all(holds(r, place) for r in description)
    ]
    assert solver.count_worlds(size, description) == len(worlds)
    if worlds:
        true = sum(holds(query, place) for place in worlds)
        assert solver.decide_query(size, description, query) == (
            "all" if true == len(worlds) else "some" if true else "none"
        )


@settings(max_examples=60, deadline=None)
@given(
    st.lists(linear(4), max_size=4).map(tuple),
    st.lists(st.integers(0, 3), min_size=3, max_size=3, unique=True),
)
def test_an_unknown_entity_is_one_more_in_every_world(description, entities) -> None:
    description = tuple(r for r in description if r.kind in ("before", "between"))
    worlds = [
        place for place in permutations(range(5)) if all(holds(r, place) for r in description)
    ]
    if not worlds:
        return
    for query in (
        before(-1, entities[0]),
        before(entities[0], -1),
        is_between(-1, *entities[:2]),
        is_between(entities[0], -1, entities[1]),
    ):
        asked = Relation(query.kind, tuple(4 if e < 0 else e for e in query.entities))
        true = sum(holds(asked, place) for place in worlds)
        assert (
            solver.decide_query(4, description, query)
            == ("all" if true == len(worlds) else "some" if true else "none")
            == "some"
        )


planar = st.lists(
    st.tuples(
        st.sampled_from(["parallel", "perpendicular"]),
        st.lists(st.integers(0, 4), min_size=2, max_size=2, unique=True),
    ),
    max_size=6,
).map(lambda found: tuple(Relation(kind, tuple(lines)) for kind, lines in found))


@settings(max_examples=80, deadline=None)
@given(planar, st.permutations(range(5)))
def test_directions_of_lines_are_those_of_all_assignments(description, names) -> None:
    worlds = [
        turn
        for turn in product((0, 1), repeat=5)
        if turn[0] == 0 and all(holds(r, turn) for r in description)
    ]
    if description:
        assert solver.count_worlds(5, description) == len(worlds)
        renamed = tuple(rename(r, names) for r in description)
        assert solver.count_worlds(5, renamed) == len(worlds)


@settings(max_examples=60, deadline=None)
@given(st.lists(linear(6, unknown=True), min_size=1, max_size=6).map(tuple))
def test_the_notation_is_read_as_it_was_written(description) -> None:
    assert read_description(f"[{','.join(map(write_relation, description))}]") == description
    assert all(read_relation(write_relation(r)) == r for r in description)
