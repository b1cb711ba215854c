"""Rules outside the stated family on hard problems and worlds in motion, by cell. Run by hand
(docs/background has the numbers).

    python tests/performance/worldsense_rules.py
    python tests/performance/worldsense_rules.py --learned

Each rule turns a problem into a leaning: above 0 towards TRUE, POSSIBLE or 1, below towards FALSE,
IMPOSSIBLE or 2; at 0 it says 3, or half of either where there is no 3. It is asked all abstract
problems of a cell, clauses in several random orders. A cell is beyond chance, and a problem bold,
where a guesser who is asked as many is below in 99 of 100 tables (Bonferroni).

With --learned: classifiers that learn from the abstract problems of sets for training, and are
asked those that only tests have, so that knowing problems by heart does not help. Of a hard problem
they see counts: how often what is asked about is mentioned in which roles, and in which roles what
stands in one clause with it is mentioned, summed up. Of a problem in motion, who stood before whom
at first, and the last two changes that move what is asked about.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from itertools import permutations, product

import numpy as np
from scipy.stats import binom
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from worldprobe.benchmarks.worldsense.problems.motion import BLIND_FROM, follow_alone
from worldprobe.benchmarks.worldsense.problems.problems import (
    Cell,
    cells,
    cores,
    numbers_in,
    stated_in,
)
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
        changes = (
            changes[:number] if moment.kind == "at" else changes[: number - 1] + changes[number:]
        )
    return tuple(facts), tuple(changes)


def agreement(query: Relation, score: np.ndarray) -> float:
    """1 where a query holds by the scores of its entities, smaller first; -1 where it does not; 0
    where they are equal.
    """
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
    """What counts say, turned around with each change (without any, each clause) about one of those
    that are asked about.
    """
    touched = sum(len({*entities} & {*query.entities}) == 1 for _, entities in changes or facts)
    return agreement(query, counted(facts)) * (-1) ** touched


def recent_majority(facts: Description, changes: Description, query: Relation) -> float:
    """Who is first rather than second in the clauses and changes that mention it, later ones with
    more weight.
    """
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
    """Counts of being second rather than first, with half of those of the entities that stand in
    one clause with it.
    """
    first = counted(facts)
    score = first.copy()
    for _, entities in facts:
        for entity in entities:
            score[entity] += sum(first[other] for other in entities if other != entity) / 2
    return agreement(query, score)


def last_partner(facts: Description, changes: Description, query: Relation) -> float:
    """Who is asked about and was moved last is where its partner was at first; what is asked is
    read from there.
    """
    return _followed(facts, changes, query)


def one_more(facts: Description, changes: Description, query: Relation) -> float:
    """The same, with the last partner of those that are asked about followed as well."""
    asked = {*query.entities}
    others = [
        {*entities} - asked
        for _, entities in changes
        if len(entities) == 2 and len({*entities} & asked) == 1
    ]
    return _followed(facts, changes, query, *(others[-1] if others else ()))


def last_change(facts: Description, changes: Description, query: Relation) -> float:
    """Where the last change alone leaves the two that are asked about."""
    return _followed(facts, changes[-1:], query)


def _followed(facts: Description, changes: Description, query: Relation, *more: int) -> float:
    places = first_places(facts)
    first = sorted(
        {entity for _, entities in facts for entity in entities}, key=lambda entity: places[entity]
    )
    if len(query.entities) == 3 or not changes:
        return agreement(query, places)
    return float(follow_alone(first, changes, query.entities, *more))


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
    "partner's place, one more followed": one_more,
    "the last change alone": last_change,
}


def shown(description: Description, rng: np.random.Generator) -> Description:
    """As a text shows it: the order of clauses, and of what stands at the ends of a ternary one,
    says nothing.
    """
    facts = [r for r in description if r.kind not in (*UPDATES, *MOMENTS)]
    facts = [
        Relation(k, (e[0], *e[:0:-1])) if k == "between" and rng.random() < 0.5 else Relation(k, e)
        for k, e in facts
    ]
    return (
        *(facts[i] for i in rng.permutation(len(facts))),
        *(r for r in description if r.kind in (*UPDATES, *MOMENTS)),
    )


def accuracy(
    cell: Cell, rule: Callable[..., float], rng: np.random.Generator, orders: int
) -> float:
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
            asked = (
                [seen] if seen else [*facts] if problem_type(cell.problem) == "Consist" else [query]
            )
            leaning = min(rule(facts, changes, one) for one in asked)
            share = {1: [1.0, 0.0, 0.0], 0: [0.5, 0.5, 0.0], -1: [0.0, 1.0, 0.0]}[
                int(np.sign(leaning))
            ]
            share = [0.0, 0.0, 1.0] if len(answers) == 3 and not leaning else share
            right.append(share[answers.index(gold)])
    return float(np.mean(right))


def roles_of(clause: Relation) -> list[tuple[int, int]]:
    """Each entity of a clause with its role: first or second of a pair, in the middle, at an
    end.
    """
    first, *others = clause.entities
    return (
        [(first, 0), *((other, 1) for other in others)]
        if clause.kind == "before"
        else [(first, 2), *((o, 3) for o in others)]
    )


def counts(stated: Description) -> np.ndarray:
    """Of each entity: how often it has each role, and for each role the sum of the roles of what
    stands in its clauses.
    """
    own, around = np.zeros((N, 4)), np.zeros((N, 4, 8))
    for entity, role in (pair for clause in stated for pair in roles_of(clause)):
        own[entity, role] += 1
    for clause in stated:
        for (entity, role), (other, its) in permutations(roles_of(clause), 2):
            around[entity, role, :4] += own[other]
            around[entity, role, 4 + its] += float(own[other, 1] == 0) - float(own[other, 0] == 0)
    return np.concatenate([own, around.reshape(N, -1)], axis=1)


def seen_of_hard(stated: Description, query: Relation, *, is_asked: bool) -> np.ndarray:
    """What is seen of a hard problem."""
    found = counts(stated)
    if not is_asked:
        own = found[:, :4]
        products = [np.zeros((4, 4)), np.zeros((4, 4))]
        for kind, (first, *others) in stated:
            products[kind == "between"] += np.outer(own[first], sum(own[other] for other in others))
        return np.concatenate(
            [*map(np.ravel, products), np.sort(found.sum(axis=1)), (found**2).sum(axis=0)]
        )
    first, *others = (found[entity] for entity in query.entities)
    sides = (
        [first - others[0], first + others[0]]
        if len(others) == 1
        else [first, sum(others), abs(others[0] - others[1])]
    )
    return np.concatenate(sides)


def seen_of_motion(stated: Description, query: Relation) -> np.ndarray:
    """What is seen of a problem in motion."""
    facts, changes = parts(stated)
    there = {entity for _, entities in facts for entity in entities}
    places = first_places(facts)

    def apart(entity: int, other: int) -> float:
        return float(places[entity] - places[other]) if {entity, other} <= there else 99.0

    first, second = query.entities
    found = [apart(first, second), float(len(changes))]
    for entity, other in ((first, second), (second, first)):
        moving = [change for change in changes if entity in change.entities]
        for change in [*moving[::-1], None, None][:2]:
            partner = next((e for e in change.entities if e != entity), None) if change else None
            if change is None or partner is None:
                found += [-1.0, 99.0, 99.0, 0.0]
                continue
            kind = UPDATES.index(change.kind) + 10.0 * (change.entities[0] == entity)  # type: ignore[arg-type]
            found += [kind, apart(partner, other), apart(partner, entity), float(partner == other)]
    return np.array(found)


def examples(cell: Cell, numbers: Iterable[int]) -> tuple[list[np.ndarray], list[int]]:
    """What is seen of each trial of some abstract problems, and its answer's number."""
    seen, answers = [], []
    for core in (cores(cell)[number] for number in numbers):
        for answer, query in enumerate(core.queries):
            stated, asked = stated_in(cell.problem, core, query), query
            if cell.problem == "Consist.motion":
                stated, asked = stated[:-1], stated[-1]
            is_asked = problem_type(cell.problem) != "Consist"
            seen.append(
                seen_of_motion(stated, asked)
                if cell.problem in MOTION
                else seen_of_hard(stated, asked, is_asked=is_asked)
            )
            answers.append(answer)
    return seen, answers


def print_learned() -> None:
    """How often classifiers are right about abstract problems that they have not seen."""
    known = [
        cell
        for cell in (
            *cells((4, 5, 6, 7, 8), HARD),
            *cells((4, 5), ("Infer.motion", "Consist.motion")),
        )
        if cores(cell)
    ]
    learners = {
        "tree of two questions": lambda: DecisionTreeClassifier(max_depth=2, random_state=0),
        "weighted sum": lambda: make_pipeline(
            StandardScaler(), LogisticRegression(C=0.1, max_iter=1000)
        ),
        "gradient boosting": lambda: HistGradientBoostingClassifier(max_iter=60, random_state=0),
    }
    print("| problem, entities of the query | classifier | new problems | by complexity |")
    for problem, arity in dict.fromkeys((cell.problem, cell.arity) for cell in known):
        here = [
            cell
            for cell in known
            if (cell.problem, cell.arity) == (problem, arity)
            and (problem in HARD or cell.complexity)
        ]
        shown = [numbers_in(cell, is_training=True) for cell in here]
        new = [
            sorted({*numbers_in(cell, is_training=False)} - {*numbers})
            for cell, numbers in zip(here, shown, strict=True)
        ]
        learned = [examples(*pair) for pair in zip(here, shown, strict=True)]
        asked = [examples(*pair) for pair in zip(here, new, strict=True)]
        for name, make in learners.items():
            classifier = make().fit(
                [x for seen, _ in learned for x in seen],
                [y for _, answers in learned for y in answers],
            )
            right: dict[int, list[bool]] = {}
            for cell, (seen, answers) in zip(here, asked, strict=True):
                right.setdefault(cell.complexity, []).extend(
                    classifier.predict(seen) == answers if seen else []
                )
            every = [one for found in right.values() for one in found]
            shares = ", ".join(
                f"{number}: {np.mean(found):.3f}" for number, found in sorted(right.items())
            )
            print(
                f"| {problem}, {arity} | {name} | {np.mean(every):.3f} ({len(every)} trials) |"
                f" {shares} |",
                flush=True,
            )


def main() -> None:
    """Print each rule's accuracy by problem, and the cells in which it is beyond chance."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--orders", type=int, default=4)
    parser.add_argument(
        "--learned", action="store_true", help="classifiers that learn from other problems"
    )
    args = parser.parse_args()
    if args.learned:
        print_learned()
        return
    rng = np.random.default_rng(0)
    known = [cell for cell in (*cells((4, 5, 6), HARD), *cells((4, 5), MOTION)) if cores(cell)]
    print(
        "| rule | problem | all | three changes or more | cells beyond chance, or with two answers"
        " below it |"
    )
    for (name, rule), problem in product(RULES.items(), (*HARD, *MOTION)):
        here = [cell for cell in known if cell.problem == problem]
        found = [(cell, len(cores(cell)), accuracy(cell, rule, rng, args.orders)) for cell in here]
        chance, n_tests = (
            1 / len(answers_of(problem)),
            len(RULES) * (len(known) + len(HARD) + len(MOTION)),
        )

        def most(n: int, chance: float = chance, n_tests: int = n_tests) -> float:
            return float(binom.ppf(1 - 0.01 / n_tests, n, chance)) / n

        mean = sum(n * share for _, n, share in found) / sum(n for _, n, _ in found)
        mark = "**" if mean > most(sum(n for _, n, _ in found)) else ""
        far = [
            (cell, n, max(share, 1 - share) if chance == 0.5 else share, share)
            for cell, n, share in found
        ]
        beyond = ", ".join(
            f"{'/'.join(map(str, cell[1:]))} {share:.2f}"
            for cell, n, apart, share in far
            if apart > most(n)
        )
        many = [
            (n, share)
            for cell, n, share in found
            if problem in MOTION and cell.complexity >= BLIND_FROM
        ]
        later = (
            f"{sum(n * share for n, share in many) / sum(n for n, _ in many):.3f}" if many else "-"
        )
        print(
            f"| {name} | {problem} | {mark}{mean:.3f}{mark} | {later} | {beyond or '-'} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
