"""Can a text classifier answer WorldSense without reasoning? Run by hand; prints a table (docs/background has one).

    python tests/performance/worldsense_shortcuts.py [--trials 6000] [--set test-hard] [--released trials.jsonl.bz2]

Logistic regression over word 1- to 3-grams and over whole clauses, each as counts and as presence, weakly and strongly
penalised, is trained on trials of one seed and tested on trials of another, one problem at a time; texts of both are left out of
the test. The released set is split in halves by tuples. The strongest of the classifiers is printed, for the problem and for its
best cell (size, complexity, query form). The interval is binomial, 99 % over all classifiers, cells, problems and sets
(Bonferroni).
"""

from __future__ import annotations

import argparse
import re
import warnings
from itertools import product

import numpy as np
import pandas as pd
from scipy.stats import binom
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from worldprobe.benchmarks.worldsense.skins.skins import read_skins
from worldprobe.benchmarks.worldsense.skins.vocabulary import LINEAR_PROBLEMS, answers_of
from worldprobe.benchmarks.worldsense.trials.files import read_official
from worldprobe.benchmarks.worldsense.trials.sets import blocks_of, plan_set, stream_set

CELL = ["size", "complexity", "arity"]
STRENGTHS = (0.01, 1.0)


def split_clauses(text: str) -> list[str]:
    """A text's clauses: what marks and "and" divide."""
    return [part.strip() for part in re.split(r"[.,:;?!‘’'\n()]+| and ", text) if part.strip()]


FEATURES = {
    "word 1-3-grams": {"ngram_range": (1, 3), "token_pattern": r"\S+", "min_df": 5},
    "clauses": {"analyzer": split_clauses, "min_df": 2},
}
#: Classifiers, and cells at most of a problem with the whole, problems and sets.
N_TESTS = len(FEATURES) * 2 * len(STRENGTHS) * (18 + 1) * len(LINEAR_PROBLEMS) * 2


def make_trials(problem: str, seed: int, n_trials: int, sizes: tuple[int, ...] = (), name: str = "test") -> pd.DataFrame:
    """About as many trials of a problem of a set as asked for."""
    plan = plan_set(name, sizes, [problem], 1)
    n_each = sum(len(batch) for batch in stream_set(plan, blocks_of(plan, read_skins()), seed))
    plan = plan_set(name, sizes, [problem], max(1, round(n_trials / n_each)))
    return pd.concat(stream_set(plan, blocks_of(plan, read_skins()), seed), ignore_index=True)


def measure(train: pd.DataFrame, test: pd.DataFrame) -> pd.DataFrame:
    """Right answers (``right``) of ``trials`` by every classifier, in the whole problem (``cell`` "all") and in each cell."""
    test = test[~test["text"].isin(set(train["text"]))]
    rows = []
    for (name, how), binary in product(FEATURES.items(), (False, True)):
        vectorizer = CountVectorizer(lowercase=False, binary=binary, **how)
        learned, asked = vectorizer.fit_transform(train["text"]), vectorizer.transform(test["text"])
        for strength in STRENGTHS:
            classifier = LogisticRegression(C=strength, max_iter=200).fit(learned, train["gold"])
            right = test.assign(right=classifier.predict(asked) == test["gold"].to_numpy())
            label = f"{name}, {'presence' if binary else 'counts'}, C {strength:g}"
            rows.append({"classifier": label, "cell": "all", "right": int(right["right"].sum()), "trials": len(right)})
            for cell, part in right.groupby(CELL):
                numbers = {"right": int(part["right"].sum()), "trials": len(part)}
                rows.append({"classifier": label, "cell": "/".join(map(str, cell))} | numbers)
    return pd.DataFrame(rows)


def interval(n: int, chance: float, n_tests: int = N_TESTS) -> tuple[float, float]:
    """Where the accuracy of a guesser lies in 99 of 100 tables."""
    low, high = binom.interval(1 - 0.01 / n_tests, n, chance)
    return low / n, high / n


def main() -> None:
    """Print two lines per problem and set: the whole, and the best cell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=6000)
    parser.add_argument("--released", help="the released test set")
    parser.add_argument("--set", default="test", help="the generated set, e.g. test-hard")
    args = parser.parse_args()
    warnings.filterwarnings("ignore", category=ConvergenceWarning)  # 200 steps are enough to tell a shortcut
    released = read_official(args.released) if args.released else None
    print(f"{'problem':<16} {'set':<9} {'cell':<7} {'trials':>6} accuracy  interval of chance  strongest classifier")
    for problem in plan_set(args.set).problems:
        sets = {"ours": tuple(make_trials(problem, seed, args.trials, name=args.set) for seed in (0, 5))}
        if released is not None:
            trials = released[released["problem"] == problem]
            tuples = trials["tuple_id"].unique()
            drawn = np.random.default_rng(0).permutation(tuples)[: 2 * args.trials // len(answers_of(problem))]
            half = set(drawn[: len(drawn) // 2])
            trials = trials[trials["tuple_id"].isin(set(drawn))]
            sets["released"] = (trials[trials["tuple_id"].isin(half)], trials[~trials["tuple_id"].isin(half)])
        for name, (train, test) in sets.items():
            found = measure(train, test)
            chance = 1 / len(answers_of(problem))
            found["accuracy"] = found["right"] / found["trials"]
            found["beyond"] = found["accuracy"] - [interval(n, chance)[1] for n in found["trials"]]
            whole, cells = found[found["cell"] == "all"], found[found["cell"] != "all"]
            for best in (whole.loc[whole["beyond"].idxmax()], cells.loc[cells["beyond"].idxmax()]):
                low, high = interval(best["trials"], chance)
                print(
                    f"{problem:<16} {name:<9} {best['cell']:<7} {best['trials']:>6} {best['accuracy']:.3f}"
                    f"{'  OUTSIDE' if best['beyond'] > 0 else ''}  {low:.3f} to {high:.3f}  {best['classifier']}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
