"""No shortcut: exact for sizes 3 to 5, by a seeded sample with a bound after rendering, and what cannot be had."""

import math
from collections import Counter, defaultdict

import pandas as pd
import pytest

from worldprobe.benchmarks.worldsense.problems.balance import guess_from_middles, is_avoidable, lean_of_parts, parts_of
from worldprobe.benchmarks.worldsense.problems.problems import Cell, cells, cores, solve
from worldprobe.benchmarks.worldsense.problems.worlds import normalise
from worldprobe.benchmarks.worldsense.skins.skins import read_skins
from worldprobe.benchmarks.worldsense.skins.vocabulary import NORMAL, answers_of
from worldprobe.benchmarks.worldsense.trials.sets import blocks_of, plan_set, stream_set

CELLS = [cell for cell in cells((3, 4), NORMAL) if cores(cell)]


def name(cell) -> str:
    return "-".join(map(str, cell))


@pytest.mark.parametrize("cell", CELLS, ids=name)
def test_no_single_relation_tells_anything_about_the_answer(cell) -> None:
    first = lean_of_parts(cell)[0]
    assert first.n_relations == 1
    assert first.neutral == pytest.approx(1)


@pytest.mark.parametrize("cell", [cell for cell in cells((5,), NORMAL) if cores(cell)], ids=name)
def test_no_single_relation_tells_anything_at_size_five_either(cell) -> None:
    (first,) = lean_of_parts(cell, most=1)
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


ERROR = 0.001


def surface_of(text: str) -> set[tuple]:
    """What can be seen of a text without combining anything: its words, and which word is at which place from either end."""
    words = text.split()
    n = len(words)
    return {*words, *((i, word) for i, word in enumerate(words)), *((i - n, word) for i, word in enumerate(words))}


def largest_lean(trials: pd.DataFrame) -> float:
    """The largest departure of an answer's share from chance, given one thing that can be seen, in units of its bound.

    The bound is Hoeffding's, sqrt(log(2m / ERROR) / 2n) for n trials with the thing and m comparisons: at chance, it is
    exceeded anywhere with a probability below ERROR.
    """
    seen: defaultdict[object, Counter[str]] = defaultdict(Counter)
    for row in trials.itertuples():
        for feature in {("skin", row.skin), ("wording", row.wording), ("place", row.place), *surface_of(row.text)}:
            seen[feature][row.gold] += 1
    golds = sorted(trials["gold"].unique())
    log = math.log(2 * len(seen) * len(golds) / ERROR)
    leans = []
    for counts in seen.values():
        n = counts.total()
        leans += [abs(counts[gold] / n - 1 / len(golds)) / math.sqrt(log / (2 * n)) for gold in golds]
    return max(leans)


@pytest.mark.parametrize("problem", NORMAL)
def test_nothing_that_is_seen_of_a_rendered_text_of_size_five_tells_the_answer(problem: str) -> None:
    plan = plan_set("test", [5], [problem], 20)
    trials = pd.concat(stream_set(plan, blocks_of(plan, read_skins()), seed=0), ignore_index=True)
    trials["place"] = trials.groupby("tuple_id", sort=False).cumcount()
    assert len(trials) > 2000
    assert largest_lean(trials) <= 1
    given_away = trials.sort_values(["tuple_id", "gold"])
    given_away["place"] = given_away.groupby("tuple_id", sort=False).cumcount()
    assert largest_lean(given_away) > 1  # so the bound can be exceeded
    marked = trials.assign(text=trials["text"].where(trials["gold"] != trials["gold"].iloc[0], trials["text"] + " "))
    marked["text"] = marked["text"].str.replace(r"(\S+) $", r"well \1", regex=True)
    assert largest_lean(marked) > 1


def test_which_entities_are_between_others_gives_some_consistency_problems_away() -> None:
    """Two different middle entities of four are possible, three are not; with five, the best guess is right in 6 of 7 cases."""
    kinds = [(size, complexity) for size in (4, 5) for complexity in (0, 1, 2)]
    found = {kind: guess_from_middles(Cell("Consist.normal", *kind, 3)) for kind in kinds}
    assert found[4, 2] == 1
    assert found[5, 2] == pytest.approx(6 / 7)
    assert found[4, 0] == found[5, 0] == 0.5
    assert found[4, 1] == pytest.approx(28 / 48)
    assert found[5, 1] == pytest.approx(120 / 216)
