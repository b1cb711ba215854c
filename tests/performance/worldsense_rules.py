"""Rules outside the stated family on hard problems and worlds in motion, by cell. Run by hand (docs/background has the numbers).

    python tests/performance/worldsense_rules.py

Each rule turns a problem into a leaning: above 0 towards TRUE, POSSIBLE or 1, below towards FALSE, IMPOSSIBLE or 2; at 0 it says
3, or half of either where there is no 3. It is asked all abstract problems of a cell, clauses in several random orders. A cell is
beyond chance, and a problem bold, where a guesser who is asked as many is below in 99 of 100 tables (Bonferroni).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import product

import numpy as np
from scipy.stats import binom

from worldprobe.benchmarks.worldsense.problems.problems import Cell, cells, cores
from worldprobe.benchmarks.worldsense.problems.worlds import (
    MOMENTS,
    UPDATES,
    Description,
    Relation,
    holds,
)
from worldprobe.benchmarks.worldsense.skins.vocabulary import HARD, MOTION, answers_of, problem_type

N = 9  # entities at most


def parts(description: Description) -> tuple[Description, Description]:
    """What is stated of an order, and the changes that count."""
    changes = [r for r in description if r.kind in UPDATES]
    facts = [r for r in description if r.kind not in (*UPDATES, *MOMENTS)]
    moment = next((r for r in description if r.kind in MOMENTS), None)
    if moment is not None:
        (number,) = moment.entities
        changes = changes[:number] if moment.kind == "at" else changes[: number - 1] + changes[number:]
    return tuple(facts), tuple(changes)


def agreement(query: Relation, score: np.ndarray) -> float:
    """1 where a query holds by the scores of its entities, smaller first; -1 where it does not; 0 where they are equal."""
    values = [score[e] for e in query.entities if e >= 0]
    if len(values) < len(query.entities) or len(set(values)) < len(values):
        return 0.0
    return 1.0 if holds(query, score.tolist()) else -1.0


def nearest_mention(facts: Description, changes: Description, query: Relation) -> float:
    """The entities of a query are in the order of their last mentions, the latest first."""
    score = np.zeros(N)
    for turn, (_, entities) in enumerate((*facts, *changes)):
        score[list(entities)] = -turn - np.arange(len(entities)) / 10
    return agreement(query, score)


def parity(facts: Description, changes: Description, query: Relation) -> float:
    """What counts say, turned around with each change (without any, each clause) about one of those that are asked about."""
    touched = sum(len({*entities} & {*query.entities}) == 1 for _, entities in changes or facts)
    return agreement(query, counted(facts)) * (-1) ** touched


def recent_majority(facts: Description, changes: Description, query: Relation) -> float:
    """Who is first rather than second in the clauses and changes that mention it, later ones with more weight."""
    score = np.zeros(N)
    for turn, (_, entities) in enumerate((*facts, *changes)):
        for place, entity in enumerate(entities):
            score[entity] += (place - (len(entities) - 1) / 2) * 1.5**turn
    return agreement(query, score)


def counted(facts: Description) -> np.ndarray:
    """How often each is second rather than first."""
    score = np.zeros(N)
    for kind, entities in facts:
        if kind == "before":
            score[entities[0]] -= 1
            score[entities[1]] += 1
    return score


def neighbours(facts: Description, changes: Description, query: Relation) -> float:
    """Counts of being second rather than first, with half of those of the entities that stand in one clause with it."""
    first = counted(facts)
    score = first.copy()
    for _, entities in facts:
        for entity in entities:
            score[entity] += sum(first[other] for other in entities if other != entity) / 2
    return agreement(query, score)


def last_partner(facts: Description, changes: Description, query: Relation) -> float:
    """Who is asked about and was moved last is where its partner was at first; what is asked is read from there."""
    score = first_places(facts)
    for kind, entities in changes:
        if len(entities) == 2 and {*entities} & {*query.entities}:
            old = score.copy()
            score[entities[0]] = old[entities[1]] + {"move_before": -0.5, "join_before": -0.5, "exchange": 0}.get(kind, 0.5)
            if kind == "exchange":
                score[entities[1]] = old[entities[0]]
    return agreement(query, score)


def first_places(facts: Description) -> np.ndarray:
    """Places at first, by how many of the others follow from chains of clauses."""
    above = np.zeros((N, N), bool)
    for kind, entities in facts:
        if kind == "before":
            above[entities] = True
    for _ in range(N):
        above |= (above.astype(int) @ above.astype(int)) > 0
    return above.sum(axis=0) - above.sum(axis=1).astype(float)


RULES: dict[str, Callable[[Description, Description, Relation], float]] = {
    "nearest mention": nearest_mention,
    "parity of touches": parity,
    "recent majority": recent_majority,
    "neighbours' counts": neighbours,
    "partner's first place": last_partner,
}


def shown(description: Description, rng: np.random.Generator) -> Description:
    """As a text shows it: the order of clauses, and of what stands at the ends of a ternary one, says nothing."""
    facts = [r for r in description if r.kind not in (*UPDATES, *MOMENTS)]
    facts = [Relation(k, (e[0], *e[:0:-1])) if k == "between" and rng.random() < 0.5 else Relation(k, e) for k, e in facts]
    return (*(facts[i] for i in rng.permutation(len(facts))), *(r for r in description if r.kind in (*UPDATES, *MOMENTS)))


def accuracy(cell: Cell, rule: Callable[..., float], rng: np.random.Generator, orders: int) -> float:
    """Share of right answers to all abstract problems of a cell, each in some orders."""
    right = []
    answers = answers_of(cell.problem)
    for core, _ in product(cores(cell), range(orders)):
        described = core.description
        seen = described[-1] if cell.problem == "Consist.motion" else None
        for gold, query in zip(answers, core.queries, strict=True):
            stated = described[:-1] if seen else described
            if problem_type(cell.problem) == "Consist":
                stated = (*stated, query)
            facts, changes = parts(shown(stated, rng))
            asked = [seen] if seen else [*facts] if problem_type(cell.problem) == "Consist" else [query]
            leaning = min(rule(facts, changes, one) for one in asked)
            share = {1: [1.0, 0.0, 0.0], 0: [0.5, 0.5, 0.0], -1: [0.0, 1.0, 0.0]}[int(np.sign(leaning))]
            share = [0.0, 0.0, 1.0] if len(answers) == 3 and not leaning else share
            right.append(share[answers.index(gold)])
    return float(np.mean(right))


def main() -> None:
    """Print each rule's accuracy by problem, and the cells in which it is beyond chance."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--orders", type=int, default=4)
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    known = [cell for cell in (*cells((4, 5, 6), HARD), *cells((4, 5), MOTION)) if cores(cell)]
    print("| rule | problem | all | cells beyond chance |")
    for (name, rule), problem in product(RULES.items(), (*HARD, *MOTION)):
        here = [cell for cell in known if cell.problem == problem]
        found = [(cell, len(cores(cell)), accuracy(cell, rule, rng, args.orders)) for cell in here]
        chance, n_tests = 1 / len(answers_of(problem)), len(RULES) * (len(known) + len(HARD) + len(MOTION))

        def most(n: int, chance: float = chance, n_tests: int = n_tests) -> float:
            return float(binom.ppf(1 - 0.01 / n_tests, n, chance)) / n

        mean = sum(n * share for _, n, share in found) / sum(n for _, n, _ in found)
        mark = "**" if mean > most(sum(n for _, n, _ in found)) else ""
        beyond = ", ".join(f"{'/'.join(map(str, cell[1:]))} {share:.2f}" for cell, n, share in found if share > most(n))
        print(f"| {name} | {problem} | {mark}{mean:.3f}{mark} | {beyond or '-'} |", flush=True)


if __name__ == "__main__":
    main()
