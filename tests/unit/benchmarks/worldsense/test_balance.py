"""No shortcut: exact for sizes 3 to 5, by a seeded sample with a bound after rendering, and what
cannot be had.

A part is a set of the relations that a trial states: those of the description, and the query.
Entities are told apart within a part, but have no names of their own: two parts that differ in
names only are the same. A part *entails* the answer if the answer follows from it. It is *neutral*
if all answers are equally frequent among the trials with such a part, and it *leans* otherwise.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations, permutations
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

from generated_trials import make_trials
from worldprobe.benchmarks.worldsense.problems.problems import Cell, Core, cells, cores, stated_in
from worldprobe.benchmarks.worldsense.problems.worlds import (
    Description,
    Relation,
    count_worlds,
    decide_query,
    normalise,
    rename,
)
from worldprobe.benchmarks.worldsense.skins.vocabulary import NORMAL, answers_of, problem_type

#: Weight of each answer of a tuple, so that chance is one half (specification, Section 9).
WEIGHTS = {"Infer": (1.0, -1.0), "Consist": (1.0, -1.0), "Compl": (0.5, 0.5, -1.0)}


class Part(NamedTuple):
    """Some of the relations that a trial states; ``query`` is None where it is not among them."""

    description: Description
    query: Relation | None


class Leaning(NamedTuple):
    """Shares of all parts of one number of relations, of all trials.

    ``entails``: the answer follows. ``neutral``: they reveal nothing. ``leans``: nothing follows,
    and yet they make one answer more frequent. ``best_guess``: how often the more frequent answer
    is right, over parts from which nothing follows.
    """

    n_relations: int
    entails: float
    neutral: float
    leans: float
    best_guess: float


def lean_of_parts(cell: Cell, most: int | None = None) -> list[Leaning]:
    """How much each number of relations reveals, over all abstract problems of a cell, each counted
    once.

    Args:
        cell: problem, size, complexity, query form.
        most: only parts of at most so many relations; they are few for any size.
    """
    weights = WEIGHTS[problem_type(cell.problem)]
    tallies: dict[int, defaultdict[tuple[object, ...], list[float]]] = defaultdict(
        lambda: defaultdict(lambda: [0.0, 0.0])
    )
    entailed: defaultdict[int, float] = defaultdict(float)
    totals: defaultdict[int, float] = defaultdict(float)
    for core in cores(cell):
        for number, weight in enumerate(weights):
            for n_relations, part in parts_of(cell.problem, core, number):
                if most is not None and n_relations > most:
                    break  # they come by size
                totals[n_relations] += abs(weight)
                if entails(cell, part, is_whole=n_relations == _n_stated(core)):
                    entailed[n_relations] += abs(weight)
                else:
                    tallies[n_relations][canonical(part, cell.size)][weight > 0] += abs(weight)
    found = []
    for n_relations, total in sorted(totals.items()):
        tally = tallies[n_relations].values()
        open_weight = sum(map(sum, tally))
        neutral = sum(sum(pair) for pair in tally if abs(pair[0] - pair[1]) < 1e-9)
        guess = sum(map(max, tally)) / open_weight if open_weight else 1.0
        shares = (entailed[n_relations] / total, neutral / total, (open_weight - neutral) / total)
        found.append(Leaning(n_relations, *shares, guess))
    return found


def parts_of(problem: str, core: Core, number: int) -> Iterator[tuple[int, Part]]:
    """All non-empty sets of the relations that a core's trial states, with their numbers of
    relations, the smallest first.

    Args:
        problem: the problem's name.
        core: an abstract tuple.
        number: which of its trials.
    """
    query = core.queries[number]
    is_consistency = problem_type(problem) == "Consist"
    stated = (*core.description, query) if is_consistency else core.description
    for n_relations in range(1, len(stated) + 2):
        for chosen in combinations(stated, n_relations):
            yield n_relations, Part(chosen, None)
        if not is_consistency:
            for chosen in combinations(stated, n_relations - 1):
                yield n_relations, Part(chosen, query)


def entails(cell: Cell, part: Part, *, is_whole: bool) -> bool:
    """Whether the answer follows from a part; from the whole statement it always does."""
    if is_whole:
        return True
    if problem_type(cell.problem) == "Consist":
        return not count_worlds(cell.size, part.description)
    return (
        part.query is not None and decide_query(cell.size, part.description, part.query) != "some"
    )


@lru_cache(maxsize=1 << 17)
def canonical(part: Part, size: int) -> tuple[object, ...]:
    """The same value for parts that differ in the entities' names only."""
    described = [
        [normalise(rename(r, names)) for r in part.description]
        for names in permutations(range(size))
    ]
    asked = [
        part.query and normalise(rename(part.query, names)) for names in permutations(range(size))
    ]
    return min((tuple(sorted(d)), q or ()) for d, q in zip(described, asked, strict=True))


def _n_stated(core: Core) -> int:
    return len(core.description) + 1


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


def is_avoidable(cell: Cell) -> bool:
    """Whether any weighting of a cell's abstract problems makes every part neutral that does not
    entail the answer.

    A linear programme: weights from 0 that sum to 1, and for every such part equal weight of the
    answers. If it has no solution, no generator that keeps to the paper's problems can do better.
    """
    weights = WEIGHTS[problem_type(cell.problem)]
    columns: defaultdict[tuple[object, ...], Counter[int]] = defaultdict(Counter)
    for column, core in enumerate(cores(cell)):
        for number, weight in enumerate(weights):
            for n_relations, part in parts_of(cell.problem, core, number):
                if not entails(cell, part, is_whole=n_relations == _n_stated(core)):
                    columns[canonical(part, cell.size)][column] += weight  # type: ignore[assignment]
    n_cores = len(cores(cell))
    matrix = np.zeros((len(columns) + 1, n_cores))
    for row, entries in enumerate(columns.values()):
        for column, weight in entries.items():
            matrix[row, column] = weight
    matrix[-1] = 1.0
    sums = np.zeros(len(matrix))
    sums[-1] = 1.0
    return linprog(np.zeros(n_cores), A_eq=matrix, b_eq=sums).status == 0


def test_larger_parts_lean_and_no_weighting_of_the_paper_s_problems_avoids_that() -> None:
    assert not any(is_avoidable(cell) for cell in CELLS if cell.size == 3)
    (two,) = [row for row in lean_of_parts(CELLS[0]) if row.n_relations == 2]
    assert two.leans > 0


def guess_from_middles(cell: Cell) -> float:
    """How often the best guess is right of one who only counts which entities a trial says to be
    between others.

    In a consistency problem the count may give the answer away although no single relation does:
    with four entities, all but one of the relations ternary, and a ternary one inserted, two
    different middle entities are always possible and three never.
    """
    tallies: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for core in cores(cell):
        for query, answer in zip(core.queries, answers_of(cell.problem), strict=True):
            stated = stated_in(cell.problem, core, query)
            tallies[len({r.entities[0] for r in stated if r.kind == "between"})][answer] += 1
    return sum(max(tally.values()) for tally in tallies.values()) / sum(
        map(Counter.total, tallies.values())
    )


def test_which_entities_are_between_others_gives_some_consistency_problems_away() -> None:
    """Two different middle entities of four are possible, three are not; with five, the best
    guess is right in 6 of 7 cases.
    """
    kinds = [(size, complexity) for size in (4, 5) for complexity in (0, 1, 2)]
    found = {kind: guess_from_middles(Cell("Consist.normal", *kind, 3)) for kind in kinds}
    assert found[4, 2] == 1
    assert found[5, 2] == pytest.approx(6 / 7)
    assert found[4, 0] == found[5, 0] == 0.5
    assert found[4, 1] == pytest.approx(28 / 48)
    assert found[5, 1] == pytest.approx(120 / 216)


ERROR = 0.001


def surface_of(text: str) -> set[tuple]:
    """What can be seen of a text without combining anything: its words, and which word is at which place from either end."""
    words = text.split()
    n = len(words)
    return {
        *words,
        *((i, word) for i, word in enumerate(words)),
        *((i - n, word) for i, word in enumerate(words)),
    }


def largest_lean(trials: pd.DataFrame) -> float:
    """The largest departure of an answer's share from chance, given one thing that can be seen, in units of its bound.

    The bound is Hoeffding's, sqrt(log(2m / ERROR) / 2n) for n trials with the thing and m comparisons: at chance, it is
    exceeded anywhere with a probability below ERROR.
    """
    seen: defaultdict[object, Counter[str]] = defaultdict(Counter)
    for row in trials.itertuples():
        for feature in {
            ("skin", row.skin),
            ("wording", row.wording),
            ("place", row.place),
            *surface_of(row.text),
        }:
            seen[feature][row.gold] += 1
    golds = sorted(trials["gold"].unique())
    log = math.log(2 * len(seen) * len(golds) / ERROR)
    leans = []
    for counts in seen.values():
        n = counts.total()
        leans += [
            abs(counts[gold] / n - 1 / len(golds)) / math.sqrt(log / (2 * n)) for gold in golds
        ]
    return max(leans)


@pytest.mark.parametrize("problem", NORMAL)
@pytest.mark.long
def test_nothing_that_is_seen_of_a_rendered_text_of_size_five_tells_the_answer(
    problem: str,
) -> None:
    trials = make_trials("test", sizes=[5], problems=[problem], per_cell=10)
    trials["place"] = trials.groupby("tuple_id", sort=False).cumcount()
    assert len(trials) > 1000
    assert largest_lean(trials) <= 1
    given_away = trials.sort_values(["tuple_id", "gold"])
    given_away["place"] = given_away.groupby("tuple_id", sort=False).cumcount()
    assert largest_lean(given_away) > 1  # so the bound can be exceeded
    marked = trials.assign(
        text=trials["text"].where(trials["gold"] != trials["gold"].iloc[0], trials["text"] + " ")
    )
    marked["text"] = marked["text"].str.replace(r"(\S+) $", r"well \1", regex=True)
    assert largest_lean(marked) > 1
