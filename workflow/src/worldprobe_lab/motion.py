"""Worlds in motion: an arrangement, updates, and a question about the state after all, after some,
or without one of them.

Each abstract problem has a *twin*: the same updates, the same question, the entities that are asked
about in the same places at first, but the others elsewhere, so that the answer is the opposite one.
Who knows the updates word by word, the question, and where at first the entities are that it is
about (so also whether it was true at first), but not where the others are, is at chance in every
cell, exactly. That holds for every part of it: the initial state, each update, the last one with
the question, their number. In half of the problems of inference the answer is also that of the
state after all updates, and that of the state before the last update that counts, so that who asks
about another moment is at chance as well. Where three updates or more count for a question of
inference or consistency, so is who follows the two that are asked about, and nobody else
(``follow_alone``).

In completeness, where three queries differ, problems are drawn and chosen by the linear programme
of ``hard``, with another view: what the initial state says of the query, the last update
that counts, how often updates mention what is asked about.

``python -m worldprobe_lab.motion`` draws them by a seed and writes
``resources/problems/motion.csv``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise, permutations, product

import numpy as np

from worldprobe.benchmarks.worldsense.problems.problems import (
    Cell,
    Story,
    cores,
    incomplete_descriptions,
)
from worldprobe.benchmarks.worldsense.problems.worlds import (
    UPDATES,
    Description,
    Relation,
    before,
    changed,
    decide_query,
    is_true,
    normalise,
    rename,
    run,
)
from worldprobe_lab.hard import Candidate, View, balance, divide, write_kept
from worldprobe_lab.problem_families import MOTION

SIZES = (4, 5, 6)
#: Twins of a cell with each moment; tuples of a cell of completeness.
TWINS, KEPT = 8, 24
#: From so many updates that count, ``follow_alone`` can be wrong as often as right.
BLIND_FROM = 3
#: What is drawn for a cell at most, without and with so many updates: who follows alone is seldom
#: wrong about four entities.
DRAWN = (3_000, 40_000)
#: How often each kind of update is drawn; at most one entity joins.
_KINDS = dict(zip(UPDATES, (0.25, 0.25, 0.3, 0.08, 0.06, 0.06), strict=True))


def draw_updates(
    rng: np.random.Generator, size: int, number: int
) -> tuple[int, tuple[Relation, ...]] | None:
    """How many of the entities are there at first, and updates of entities 0 (never leaves), 1 (nor
    does it) and others.
    """
    kinds = list(rng.choice(list(_KINDS), number, p=list(_KINDS.values())))
    joins = [at for at, kind in enumerate(kinds) if kind.startswith("join")]
    if len(joins) > 1 or sum(kind == "leave" for kind in kinds) > size - 3 - len(joins):
        return None
    newcomer = int(rng.choice([0, size - 1])) if joins else -1
    there = {*range(size)} - {newcomer}
    updates = []
    for kind in kinds:
        can_move = sorted(there - {0, 1} if kind == "leave" else there)
        first = newcomer if kind.startswith("join") else int(rng.choice(can_move))
        others = () if kind == "leave" else (int(rng.choice(sorted(there - {first}))),)
        there = there - {first} if kind == "leave" else there | {first}
        updates.append(normalise(Relation(kind, (first, *others))))
    return size - len(joins), tuple(updates)


def draw_story(rng: np.random.Generator, size: int, number: int) -> Description | None:
    """An arrangement of the entities in the order of the indices, and updates; None where it
    fails.
    """
    drawn = draw_updates(rng, size, number)
    if drawn is None:
        return None
    absent = {update.entities[0] for update in drawn[1] if update.kind.startswith("join")}
    there = [entity for entity in range(size) if entity not in absent]
    initial = tuple(there[i] for i in rng.permutation(len(there)))
    if not _does_change(initial, drawn[1]):
        return None
    return _description(initial, Story(drawn[1], None), _names(initial, size))


def _does_change(order: tuple[int, ...], updates: Sequence[Relation]) -> bool:
    """Whether each update can be made and changes something."""
    for update in updates:
        after = changed(order, update)
        if after is None or after == order:
            return False
        order = after
    return True


def _description(initial: Sequence[int], story: Story, names: Sequence[int]) -> Description:
    facts = tuple(before(a, b) for a, b in pairwise(initial))
    moments = () if story.moment is None else (story.moment,)
    return tuple(rename(relation, names) for relation in (*facts, *story.updates, *moments))


def _names(initial: Sequence[int], size: int) -> list[int]:
    """Names by which the initial order is that of the indices; who joins has the last one."""
    names = {
        entity: number for number, entity in enumerate((*initial, *({*range(size)} - {*initial})))
    }
    return [names[entity] for entity in range(size)]


def follow_alone(
    first: Sequence[int], updates: Sequence[Relation], asked: Sequence[int], *more: int
) -> int:
    """1 where the first of two is before the second by who follows these two alone, -1 where it is
    behind, 0: undecided.

    Whoever moves next to another, or is exchanged with it, is put where that one was: at first, or
    when it was followed last. ``more`` are followed as well.

    >>> follow_alone(
    ...     (0, 1, 2), (Relation("move_after", (0, 1)), Relation("exchange", (1, 2))), (0, 2)
    ... )
    -1
    """
    positions = {entity: float(position) for position, entity in enumerate(first)}
    for kind, (moved, *others) in updates:
        if others and {moved, *others} & {*asked, *more}:
            there = [positions.get(entity, (len(first) - 1) / 2) for entity in (moved, *others)]
            aside = {"move_before": -0.25, "join_before": -0.25, "exchange": 0.0}.get(kind, 0.25)
            positions[moved] = there[1] + aside
            if kind == "exchange":
                positions[others[0]] = there[0]
    one, other = (positions.get(entity, (len(first) - 1) / 2) for entity in asked)
    return int(one < other) - int(one > other)


def _opposed(
    size: int,
    story: Story,
    others: Sequence[Story],
    rng: np.random.Generator,
    alike: Sequence[tuple[bool, bool]],
    stories: Sequence[Story],
) -> tuple[tuple[int, ...], ...]:
    """A pair of initial orders, alike in where 0 and 1 are, after which 0 is before 1 in one only;
    empty if there is none.

    Args:
        size: entities, with one that joins.
        story: what happens.
        others: what could have happened.
        rng: draws.
        alike: in which of the two orders each of ``others`` may have the answer of the story.
        stories: of which who follows 0 and 1 alone says the same with both orders, where enough
            updates count.
    """
    blind = [one.counted() for one in stories if len(one.counted()) >= BLIND_FROM]
    absent = {
        entity
        for update in story.updates
        if update.kind.startswith("join")
        for entity in update.entities[:1]
    }
    first, second = before(0, 1), before(1, 0)
    by_places: dict[tuple[int, ...], list[tuple[tuple[int, ...], bool, list[bool]]]] = {}
    for order in permutations(sorted({*range(size)} - absent)):
        if not all(
            _does_change(order, updates)
            for one in (story, *others)
            for updates in (one.updates, one.counted())
        ):
            continue
        ends = [run(order, one.counted()) for one in (story, *others)]
        if any(end is None or not (is_true(first, end) or is_true(second, end)) for end in ends):
            continue
        truths = [is_true(first, end) for end in ends if end is not None]
        positions = tuple(order.index(entity) if entity in order else -1 for entity in (0, 1))
        by_places.setdefault(positions, []).append(
            (order, truths[0], [truth == truths[0] for truth in truths[1:]])
        )
    pairs = [
        (one, two)
        for endings in by_places.values()
        for (one, true, same), (two, other, as_well) in combinations(endings, 2)
        if true != other
        and all(both in alike for both in zip(same, as_well, strict=True))
        and all(
            follow_alone(one, updates, (0, 1)) == follow_alone(two, updates, (0, 1))
            for updates in blind
        )
    ]
    return pairs[int(rng.integers(len(pairs)))] if pairs else ()


def normalised(
    described: Description, queries: Sequence[Relation]
) -> tuple[Description, frozenset[Relation]]:
    """A question in normal form, so that equal problems are equal: "A and B are exchanged" is "B
    and A are exchanged".
    """
    return tuple(map(normalise, described)), frozenset(map(normalise, queries))


def infer(size: int, number: int) -> Iterator[tuple[Description, Description]]:
    """Twins: after all; after some; had one not been made."""
    if number == 0:
        chain = tuple(before(i, i + 1) for i in range(size - 1))
        yield from (
            (chain, (before(a, b), before(b, a)))
            for a, b in combinations(range(size), 2)
            if b - a > 1
        )
        return
    rng = np.random.default_rng([size, number, 1])
    wanted = {
        "after all": TWINS * (1 if number > 1 else 3),
        "at": TWINS * (number > 1),
        "without": TWINS * (number > 1),
    }
    seen: set[tuple[Description, frozenset[Relation]]] = set()
    for _ in range(DRAWN[number >= BLIND_FROM]):
        kind = max(wanted, key=lambda name: wanted[name])
        if not wanted[kind]:
            return
        drawn = draw_updates(rng, size, number)
        if drawn is None:
            continue
        moment = None
        if kind != "after all":
            moment = Relation(kind, (int(rng.integers(1, number + (kind == "without"))),))  # type: ignore[arg-type]
        story = Story(drawn[1], moment)
        others = [Story(story.updates, None)] if moment is not None else []
        if len(story.counted()) > 1:
            others.append(Story(tuple(story.counted()[:-1]), None))
        made = []
        for order in _opposed(size, story, others, rng, ((True, False), (False, True)), [story]):
            names = _names(order, size)
            is_before = is_true(before(0, 1), run(order, story.counted()) or ())
            query = rename(before(0, 1) if is_before else before(1, 0), names)
            made.append(
                (
                    _description(order, story, names),
                    (query, Relation("before", query.entities[::-1])),
                )
            )
        normal_forms = {normalised(*trial) for trial in made}
        if len(normal_forms) == 2 and not seen & normal_forms:
            seen |= normal_forms
            wanted[kind] -= 1
            yield from made


def consist(size: int, number: int) -> Iterator[tuple[Description, Description]]:
    """Twins of tuples whose trials differ in one update, of which one could have led to what is
    seen at last.
    """
    rng = np.random.default_rng([size, number, 2])
    wanted = 3 * TWINS
    seen: set[tuple[Description, frozenset[Relation]]] = set()
    for _ in range(DRAWN[number >= BLIND_FROM] if number else 0):
        drawn, other = draw_updates(rng, size, number), draw_updates(rng, size, number)
        if not wanted:
            return
        if drawn is None or other is None:
            continue
        updates = drawn[1]
        another = next(
            (u for u in other[1] if u.kind == updates[-1].kind and u != updates[-1]), None
        )
        if another is None or another.kind in ("leave", "join_before", "join_after"):
            continue
        story, changed_story = Story(updates, None), Story((*updates[:-1], another), None)
        made = []
        for order in _opposed(
            size, story, [changed_story], rng, ((False, False),), [story, changed_story]
        ):
            names = _names(order, size)
            described = (
                *_description(order, Story(updates[:-1], None), names),
                rename(before(0, 1), names),
            )
            is_possible = is_true(before(0, 1), run(order, updates) or ())
            queries = (updates[-1], another) if is_possible else (another, updates[-1])
            made.append((described, tuple(rename(query, names) for query in queries)))
        normal_forms = {normalised(*trial) for trial in made}
        if len(normal_forms) == 2 and not seen & normal_forms:
            seen |= normal_forms
            wanted -= 1
            yield from made


def complete(size: int, number: int) -> Iterator[tuple[Description, Description]]:
    """Tuples of a query that follows, one that contradicts, and one that is open, after updates of
    a state not wholly known.
    """
    rng = np.random.default_rng([size, number, 3])
    by_form: dict[object, Candidate] = {}
    if number == 0:
        every = cores(Cell("Compl.normal", size, 0, 2))
        yield from (
            every[i] for i in sorted(rng.choice(len(every), min(KEPT, len(every)), replace=False))
        )
    for _ in range(2000 if number else 0):
        drawn = draw_updates(rng, size, number)
        if drawn is None:
            continue
        n_there, updates = drawn
        absent = {update.entities[0] for update in updates if update.kind.startswith("join")}
        there = [entity for entity in range(size) if entity not in absent]
        names = _names([there[i] for i in rng.permutation(len(there))], size)
        descriptions = incomplete_descriptions(n_there)
        facts = descriptions[int(rng.integers(len(descriptions)))]
        moment = (
            None
            if number < 2 or rng.random() < 0.5
            else Relation("at", (int(rng.integers(1, number)),))
        )
        story = Story(tuple(rename(update, names) for update in updates), moment)
        described = (*facts, *story.updates, *(() if moment is None else (moment,)))
        if not decided_worlds(size, described):
            continue
        gone = {update.entities[0] for update in story.counted() if update.kind == "leave"}
        come = {update.entities[0] for update in story.counted() if update.kind.startswith("join")}
        asked = [before(a, b) for a, b in permutations(({*range(n_there)} | come) - gone, 2)]
        verdicts = {query: decide_query(size, described, query) for query in asked}
        views = {query: view_incomplete(size, facts, story, query) for query in asked}
        for query in asked:
            thirds = [asked_query for asked_query in asked if verdicts[asked_query] == "some"]
            for third in thirds if verdicts[query] == "all" else ():
                false = Relation("before", query.entities[::-1])
                seen = (views[query], views[false], views[third])
                by_form[described, query, third] = Candidate(described, (query, false, third), seen)
    for candidate in balance(list(_possible(list(by_form.values()))), KEPT):
        yield candidate.description, candidate.queries


def ask_before(size: int, number: int) -> Iterator[tuple[Description, Description]]:
    """The control: updates that do not count. In half of the problems the state after them has the
    other answer.
    """
    rng = np.random.default_rng([size, number, 4])
    wanted = {True: TWINS // 2, False: TWINS // 2}
    for _ in range(DRAWN[0] if number else 0):
        drawn = draw_updates(rng, size, number)
        if not sum(wanted.values()):
            return
        if drawn is None:
            continue
        there = [
            e
            for e in range(size)
            if not any(u.kind.startswith("join") and u.entities[0] == e for u in drawn[1])
        ]
        order = tuple(there[i] for i in rng.permutation(len(there)))
        after = run(order, drawn[1])
        if (
            {0, 1} - {*order}
            or abs(order.index(0) - order.index(1)) < 2
            or not _does_change(order, drawn[1])
            or after is None
        ):
            continue
        query = before(0, 1) if is_true(before(0, 1), order) else before(1, 0)
        if wanted[is_true(query, after)]:
            wanted[is_true(query, after)] -= 1
            names = _names(order, size)
            query = rename(query, names)
            story = Story(drawn[1], Relation("at", (0,)))
            yield (
                _description(order, story, names),
                (query, Relation("before", query.entities[::-1])),
            )


def decided_worlds(size: int, described: Description) -> bool:
    """Whether every update can be made and changes something, in each world."""
    updates = [relation for relation in described if relation.kind in UPDATES]
    facts = described[: described.index(updates[0])]
    there = sorted({entity for fact in facts for entity in fact.entities})
    orders = [order for order in permutations(there) if all(is_true(fact, order) for fact in facts)]
    return all(_does_change(order, updates) for order in orders)


def view_incomplete(size: int, facts: Description, story: Story, query: Relation) -> View:
    """A shallow rule's view of a question: the initial state's answer, the last update that counts,
    and how often updates mention what is asked about.
    """
    there = {entity for fact in facts for entity in fact.entities}
    initial = decide_query(size, facts, query) if there.issuperset(query.entities) else "absent"
    counted = story.counted()
    label = {entity: number for number, entity in enumerate(query.entities)}
    last = rename(counted[-1], [label.get(entity, 2) for entity in range(9)])
    mentions = tuple(
        sum(entity in update.entities for update in counted) for entity in query.entities
    )
    return initial, len(story.updates), story.moment is None, last, mentions


def _possible(left: list[Candidate]) -> list[Candidate]:
    """Those whose views every answer has."""
    while left:
        common = set.intersection(
            *({candidate.views[number] for candidate in left} for number in range(3))
        )
        kept = [candidate for candidate in left if common.issuperset(candidate.views)]
        if len(kept) == len(left):
            break
        left = kept
    return left


def assign_sets(
    problem: str, number: int, made: Sequence[tuple[Description, Description]]
) -> list[str]:
    """In which sets the problems of a cell are; twins follow each other, and are in one."""
    if not number or problem not in ("Infer.motion", "Consist.motion"):
        return ["all"] * len(made)
    every = [normalised(*trial) for trial in made]
    return divide(
        [
            {turn // 2, *((described, query) for query in queries)}
            for turn, (described, queries) in enumerate(every)
        ]
    )


def main() -> None:
    """Draw the problems of every cell, and write them."""
    makers = {
        "Infer.motion": infer,
        "Consist.motion": consist,
        "Compl.motion": complete,
        "Infer.before": ask_before,
    }
    rows = []
    for problem, make in makers.items():
        for size, number in product(SIZES, MOTION.complexities):
            made = list(make(size, number))
            rows += [
                (problem, size, number, 2, part, *trial)
                for part, trial in zip(assign_sets(problem, number, made), made, strict=True)
            ]
    write_kept(MOTION.chosen, rows, "worldprobe_lab.motion")


if __name__ == "__main__":
    main()
