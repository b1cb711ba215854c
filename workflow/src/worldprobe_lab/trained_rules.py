"""Rules for WorldSense's trials that match single clauses, or learn from other trials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import logsumexp

from worldprobe.benchmarks.worldsense.inference.reference_solvers import (
    LIST,
    STATED,
    Statement,
    answer_of_list,
    contradict,
    read_statement,
    truth,
)
from worldprobe.benchmarks.worldsense.problems import worlds
from worldprobe.benchmarks.worldsense.skins.skins import Skin
from worldprobe.benchmarks.worldsense.skins.vocabulary import (
    ANSWER_OF,
    ANSWERS,
    DOMAINS,
    problem_type,
)
from worldprobe.benchmarks.worldsense.trials.sets import blocks_of, plan_set, stream_set

#: Seed of the trials that it learns from, which no study of ours has, and rounds of them.
SEED, ROUNDS = 982_451_653, 4
#: An n-gram counts if so many of the texts have it.
FEWEST = 5
_LONGEST = 3


class Classifier:
    """The n-grams of one kind of answer, and their weights."""

    def __init__(
        self, texts: Sequence[str], answers: Sequence[str], options: Sequence[str]
    ) -> None:
        """Learn from solved trials.

        Args:
            texts: of the trials.
            answers: theirs.
            options: the possible answers.
        """
        ngrams = [_ngrams(text) for text in texts]
        counts = Counter(ngram for text_ngrams in ngrams for ngram in text_ngrams)
        self.options = tuple(options)
        self.column = {
            ngram: number
            for number, ngram in enumerate(
                sorted(n for n, count in counts.items() if count >= FEWEST)
            )
        }
        features = self._features(ngrams)
        gold = np.array([self.options.index(answer) for answer in answers])
        is_gold = np.eye(len(self.options))[gold]
        shape = (features.shape[1], len(self.options))

        def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
            weights = flat.reshape(shape)
            scores = features @ weights
            scores = scores - logsumexp(scores, axis=1, keepdims=True)
            slope = features.T @ (np.exp(scores) - is_gold) + weights
            return float(-(scores * is_gold).sum() + (weights**2).sum() / 2), slope.ravel()

        self.weights = minimize(
            loss, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 200}
        ).x.reshape(shape)

    def answer(self, text: str) -> str:
        """The likeliest answer to a text."""
        return self.options[int((self._features([_ngrams(text)]) @ self.weights)[0].argmax())]

    def _features(self, ngrams: Sequence[set[str]]) -> sparse.csr_matrix:
        columns = [
            sorted(self.column[ngram] for ngram in text_ngrams if ngram in self.column)
            for text_ngrams in ngrams
        ]
        starts = np.cumsum([0, *map(len, columns)])
        flat = np.array([number for numbers in columns for number in numbers], int)
        return sparse.csr_matrix(
            (np.ones(len(flat)), flat, starts), (len(columns), len(self.column))
        )


class NgramRule:
    """The classifiers as a rule; they learn when the first text is asked."""

    #: Sets whose trials it learns from, and rounds of each.
    sets: tuple[tuple[str, int], ...] = (("test", ROUNDS),)

    def __init__(self, skins: Sequence[Skin]) -> None:
        """Take the skins in whose words the trials to learn from are."""
        self._skins = list(skins)

    def __call__(self, statement: Statement, text: str) -> str:
        """The likeliest answer."""
        return self._classifiers[statement.problem_type].answer(self.words(statement, text))

    def words(self, statement: Statement, text: str) -> str:
        """The words that its n-grams are of."""
        return text

    def chosen(self) -> list[Skin]:
        """The skins of the trials that it learns from."""
        return [skin for skin in self._skins if skin.name in self._balanced()]

    @cached_property
    def _classifiers(self) -> dict[str, Classifier]:
        texts: dict[str, list[str]] = {kind: [] for kind in ANSWERS}
        answers: dict[str, list[str]] = {kind: [] for kind in ANSWERS}
        for name, rounds in self.sets:
            plan = plan_set(name, per_cell=rounds)
            for batch in stream_set(plan, blocks_of(plan, self.chosen()), SEED):
                for problem, *facts, gold in batch[[*STATED, "gold"]].itertuples(
                    index=False, name=None
                ):
                    kind = problem_type(problem)
                    texts[kind].append(self.words(read_statement(problem, *facts), facts[-1]))
                    answers[kind].append(ANSWER_OF[gold])
        return {
            kind: Classifier(texts[kind], answers[kind], options)
            for kind, options in ANSWERS.items()
        }

    def _balanced(self) -> list[str]:
        """As many skins of each domain as there are of the rarest."""
        by_kind = {
            domain: [
                skin.name for skin in self._skins if skin.use == "test" and skin.domain == domain
            ]
            for domain in DOMAINS
        }
        number = min(len(names) for names in by_kind.values() if names)
        return [name for names in by_kind.values() for name in names[:number]]


class RoleRule(NgramRule):
    """The same of relations instead of words: entities are X, Y, Z where the question names them,
    others in the order of mention.

    So what it learns does not depend on skins; it learns from the problems for training, hard ones
    among them.
    """

    sets = (("train-10k", 12), ("train-hard", 40))

    def words(self, statement: Statement, text: str) -> str:
        """The relations as words.

        >>> told = (worlds.before(0, 1), worlds.is_between(1, 0, 2))
        >>> RoleRule([]).words(
        ...     Statement("Infer", "directQ1", 3, ("Al", "Bo", "Cy"), told, worlds.before(2, 1)), ""
        ... )
        'e0 before Y . Y between e0 X . X before Y'
        """
        relations = [*statement.description, *([statement.query] if statement.query else [])]
        # The two that one is between are in the order of mention: the notation may have them in
        # their order in the world.
        lines = [
            (kind, [first, *(sorted(others) if kind == "between" else others)])
            for kind, (first, *others) in relations
        ]
        roles = dict(zip(lines[-1][1], "XYZ", strict=False)) if statement.query else {}
        named = (
            (kind, [roles.get(entity, f"e{entity}") for entity in entities])
            for kind, entities in lines
        )
        return " . ".join(" ".join([first, kind, *others]) for kind, (first, *others) in named)

    def chosen(self) -> list[Skin]:
        """One skin of each domain, as a skin for training: its words do not count."""
        first = {skin.domain: skin for skin in reversed(super().chosen())}
        return [replace(skin, use="train") for skin in first.values()]


def _ngrams(text: str) -> set[str]:
    words = text.split()
    return {
        " ".join(words[i : i + n])
        for n in range(1, _LONGEST + 1)
        for i in range(len(words) - n + 1)
    }


def match_clause(statement: Statement, text: str) -> str:
    """``together``: what one clause says; without one, that things are so, and of what is not
    stated that it is unknown.
    """
    if statement.problem_type == "Consist":
        return "IMPOSSIBLE" if contradict(statement.description) else "POSSIBLE"
    query = statement.query
    assert query is not None
    if statement.problem_type == "Compl":
        is_stated = any(
            set(query.entities) <= set(clause.entities) for clause in statement.description
        )
        return "1" if is_stated and query.kind != "foreign" else "3"
    if LIST.search(text):
        return answer_of_list(statement, query)
    matching = [
        clause for clause in statement.description if set(clause.entities) == set(query.entities)
    ]
    return truth(all(worlds.normalise(clause) == worlds.normalise(query) for clause in matching))
