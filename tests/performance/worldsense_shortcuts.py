"""Can a text classifier answer WorldSense without reasoning? Run by hand; prints a table (docs/worldsense.md has one).

    python tests/performance/worldsense_shortcuts.py [--trials 10000] [--released trials.jsonl.bz2]

Logistic regression over counts of word 1- to 3-grams, and over counts of whole clauses, is trained on trials of one seed
and tested on trials of another, one problem at a time. The released set is split in halves by tuples. The interval is
binomial, 99 % over all rows of the table (Bonferroni).
"""

from __future__ import annotations

import argparse
import re

import numpy as np
import pandas as pd
from scipy.stats import binom
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from worldprobe.benchmarks.worldsense.official import read_official
from worldprobe.benchmarks.worldsense.sets import blocks_of, plan_set, stream_set
from worldprobe.benchmarks.worldsense.skins import read_skins
from worldprobe.benchmarks.worldsense.vocabulary import LINEAR_PROBLEMS, answers_of

#: Rows of the table: problems, two kinds of features, two sets.
N_TESTS = len(LINEAR_PROBLEMS) * 2 * 2


def split_clauses(text: str) -> list[str]:
    """A text's clauses: what marks and "and" divide."""
    return [part.strip() for part in re.split(r"[.,:;?!‘’'\n()]+| and ", text) if part.strip()]


FEATURES = {
    "word 1-3-grams": {"ngram_range": (1, 3), "token_pattern": r"\S+", "min_df": 5},
    "clauses": {"analyzer": split_clauses, "min_df": 2},
}


def make_trials(problem: str, seed: int, n_trials: int, sizes: tuple[int, ...] = (3, 4, 5)) -> pd.DataFrame:
    """About as many trials of a problem as asked for."""
    per_cell = 1
    plan = plan_set("test", sizes, [problem], per_cell)
    n_each = sum(len(batch) for batch in stream_set(plan, blocks_of(plan, read_skins()), seed))
    plan = plan_set("test", sizes, [problem], max(1, round(n_trials / n_each)))
    return pd.concat(stream_set(plan, blocks_of(plan, read_skins()), seed), ignore_index=True)


def measure(train: pd.DataFrame, test: pd.DataFrame, features: dict[str, object]) -> tuple[int, int]:
    """Right answers and trials of a classifier on another set than it was trained on."""
    vectorizer = CountVectorizer(lowercase=False, **features)
    classifier = LogisticRegression(C=0.01, max_iter=300)
    classifier.fit(vectorizer.fit_transform(train["text"]), train["gold"])
    right = classifier.predict(vectorizer.transform(test["text"])) == test["gold"].to_numpy()
    return int(right.sum()), len(right)


def interval(n: int, chance: float, n_tests: int = N_TESTS) -> tuple[float, float]:
    """Where the accuracy of a guesser lies in 99 of 100 tables."""
    low, high = binom.interval(1 - 0.01 / n_tests, n, chance)
    return low / n, high / n


def main() -> None:
    """Print one line per problem, features and set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=10_000)
    parser.add_argument("--released", help="the released test set")
    args = parser.parse_args()
    released = read_official(args.released) if args.released else None
    print(f"{'problem':<16} {'features':<15} {'set':<9} {'trials':>6} accuracy  interval of chance")
    for problem in LINEAR_PROBLEMS:
        sets = {"ours": (make_trials(problem, 0, args.trials), make_trials(problem, 1, args.trials))}
        if released is not None:
            trials = released[released["problem"] == problem]
            tuples = trials["tuple_id"].unique()
            half = set(np.random.default_rng(0).permutation(tuples)[: len(tuples) // 2])
            in_half = trials["tuple_id"].isin(half)
            sets["released"] = (trials[in_half], trials[~in_half])
        for name, (train, test) in sets.items():
            for label, features in FEATURES.items():
                right, n = measure(train, test, features)
                low, high = interval(n, 1 / len(answers_of(problem)))
                verdict = "" if low <= right / n <= high else "  OUTSIDE"
                print(
                    f"{problem:<16} {label:<15} {name:<9} {n:>6} {right / n:.4f}    {low:.4f} to {high:.4f}{verdict}", flush=True
                )


if __name__ == "__main__":
    main()
