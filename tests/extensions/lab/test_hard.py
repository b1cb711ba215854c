"""Hard problems: rules that chain nothing are at chance, exactly, in every cell; and where that
cannot be had.
"""

from collections import Counter

import pytest

from worldprobe.benchmarks.worldsense.problems.problems import Cell, cells, cores, numbers_in
from worldprobe.benchmarks.worldsense.problems.worlds import before
from worldprobe_lab.hard import Candidate, balance, view_of
from worldprobe_lab.problem_families import HARD

EVERY = cells((3, 4, 5, 6, 7, 8), HARD.problems)


def is_balanced(found: list[Candidate]) -> bool:
    """Whether every view occurs equally often with each answer."""
    counts = (
        [Counter(one.views[number] for one in found) for number in range(len(found[0].views))]
        if found
        else []
    )
    return all(count == counts[0] for count in counts)


@pytest.fixture(scope="module")
def kept() -> list[Cell]:
    return [cell for cell in EVERY if cores(cell)]


def with_views(cell: Cell) -> list[Candidate]:
    found = []
    for core in cores(cell):
        views = tuple(
            view_of(cell.problem, cell.size, core.description, query) for query in core.queries
        )
        found.append(Candidate(*core, views))
    return found


def test_every_view_occurs_equally_often_with_each_answer(kept: list[Cell]) -> None:
    """So every rule that reads views, whatever it makes of them, is right as often as a guesser."""
    for cell in kept:
        found = with_views(cell)
        parts = [numbers_in(cell, is_training=is_training) for is_training in (True, False)]
        assert all(is_balanced([found[number] for number in part]) for part in parts), cell
        assert {*parts[0]} | {*parts[1]} == {*range(len(found))}
        is_alike = [len(set(one.views)) == 1 for one in found]
        assert not any(is_alike[number] for number in {*parts[0]} & {*parts[1]}), (
            cell
        )  # what can be divided is
        assert cell.size < 6 or all(is_alike), cell


def test_a_problem_of_the_paper_is_no_balanced_choice_and_is_found_out() -> None:
    chain = (before(0, 1), before(1, 2), before(2, 3))
    queries = (before(0, 2), before(2, 0))
    one = Candidate(
        chain, queries, tuple(view_of("Infer.hard", 4, chain, query) for query in queries)
    )
    assert not is_balanced([one])
    assert balance([one]) == []
