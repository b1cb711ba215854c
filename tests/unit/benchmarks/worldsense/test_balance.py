"""No shortcut, proven: exact for sizes 3 and 4, and what cannot be had, shown to be impossible."""

import pytest

from worldprobe.benchmarks.worldsense.balance import is_avoidable, lean_of_parts, parts_of
from worldprobe.benchmarks.worldsense.problems import cells, cores, solve
from worldprobe.benchmarks.worldsense.vocabulary import NORMAL, answers_of
from worldprobe.benchmarks.worldsense.worlds import normalise

CELLS = [cell for cell in cells((3, 4), NORMAL) if cores(cell)]


def name(cell) -> str:
    return "-".join(map(str, cell))


@pytest.mark.parametrize("cell", CELLS, ids=name)
def test_no_single_relation_tells_anything_about_the_answer(cell) -> None:
    first = lean_of_parts(cell)[0]
    assert first.n_relations == 1
    assert first.neutral == pytest.approx(1)


@pytest.mark.parametrize("cell", [c for c in cells((3, 4, 5, 6), NORMAL) if cores(c)], ids=name)
def test_every_answer_occurs_once_with_each_description_and_queries_are_of_one_form(cell) -> None:
    for core in cores(cell):
        assert tuple(s.answer for s in solve(cell.problem, cell.size, core)) == answers_of(cell.problem)
        assert {len(q.entities) for q in core.queries} == {cell.arity}
        if cell.problem == "Infer.normal":
            assert not {normalise(q) for q in core.queries} & {normalise(r) for r in core.description}


def test_larger_parts_lean_and_no_weighting_of_the_paper_s_problems_avoids_that() -> None:
    assert not any(is_avoidable(cell) for cell in CELLS if cell.size == 3)
    (two,) = [row for row in lean_of_parts(CELLS[0]) if row.n_relations == 2]
    assert two.leans > 0


def test_in_consistency_some_parts_contradict_themselves_already() -> None:
    """Why the paper's footnote 6 cannot hold for every proper subset: some entail the answer."""
    entailing = {cell.complexity: lean_of_parts(cell)[-2].entails for cell in CELLS if cell.problem == "Consist.normal"}
    assert any(share > 0 for share in entailing.values())


def test_parts_are_all_subsets() -> None:
    cell = CELLS[0]
    assert len(list(parts_of(cell.problem, cores(cell)[0], 0))) == 2**3 - 1
