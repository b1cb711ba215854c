"""Can a text classifier answer WorldSense without reasoning? Run by hand; prints a table
(docs/background has one).

    python tests/performance/worldsense_shortcuts.py [--trials 6000] [--set test-hard] [--released
    trials.jsonl.bz2] python tests/performance/worldsense_shortcuts.py --set test-hard --placed
    --trials 33000

Logistic regression over word 1- to 3-grams and over whole clauses, each as counts and as presence,
weakly and strongly penalised, is trained on trials of one seed and tested on trials of another, one
problem at a time; texts of both are left out of the test. The released set is split in halves by
tuples. The strongest of the classifiers is printed, for the problem and for its best cell (size,
complexity, query form). The interval is binomial, 99 % over all classifiers, cells, problems and
sets (Bonferroni).

With --placed: stronger ones, for 100 thousand trials in minutes. Logistic regression, a linear
support vector machine, naive Bayes and gradient boosting (over the 500 features that differ most
between answers) over word 1- to 4-grams and every word at its place from the beginning and from the
end, each also over texts in which names are numbered in the order of their first mention, so that
what is said of the first, the second, ... can be learned whatever its name.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import warnings
from itertools import product

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.stats import binom
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import BernoulliNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

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


def make_trials(
    problem: str, seed: int, n_trials: int, sizes: tuple[int, ...] = (), name: str = "test"
) -> pd.DataFrame:
    """About as many trials of a problem of a set as asked for."""
    plan = plan_set(name, sizes, [problem], 1)
    n_each = sum(len(batch) for batch in stream_set(plan, blocks_of(plan, read_skins()), seed))
    plan = plan_set(name, sizes, [problem], max(1, round(n_trials / n_each)))
    return pd.concat(stream_set(plan, blocks_of(plan, read_skins()), seed), ignore_index=True)


def measure(train: pd.DataFrame, test: pd.DataFrame) -> pd.DataFrame:
    """Right answers (``right``) of ``trials`` by every classifier, in the whole problem (``cell``
    "all") and in each cell.
    """
    test = test[~test["text"].isin(set(train["text"]))]
    rows = []
    for (name, how), binary in product(FEATURES.items(), (False, True)):
        vectorizer = CountVectorizer(lowercase=False, binary=binary, **how)
        learned, asked = vectorizer.fit_transform(train["text"]), vectorizer.transform(test["text"])
        for strength in STRENGTHS:
            classifier = LogisticRegression(C=strength, max_iter=200).fit(learned, train["gold"])
            right = test.assign(right=classifier.predict(asked) == test["gold"].to_numpy())
            label = f"{name}, {'presence' if binary else 'counts'}, C {strength:g}"
            rows.append(
                {
                    "classifier": label,
                    "cell": "all",
                    "right": int(right["right"].sum()),
                    "trials": len(right),
                }
            )
            for cell, part in right.groupby(CELL):
                numbers = {"right": int(part["right"].sum()), "trials": len(part)}
                rows.append({"classifier": label, "cell": "/".join(map(str, cell))} | numbers)
    return pd.DataFrame(rows)


N_HASHED = 1 << 20
PLACED = {
    "logistic regression": lambda: SGDClassifier(
        loss="log_loss", alpha=1e-5, max_iter=12, tol=None, random_state=0
    ),
    "support vectors": lambda: SGDClassifier(
        loss="hinge", alpha=1e-5, max_iter=12, tol=None, random_state=0
    ),
    "logistic regression, penalised": lambda: SGDClassifier(
        loss="log_loss", alpha=1e-3, max_iter=12, tol=None, random_state=0
    ),
    "naive Bayes": lambda: BernoulliNB(),
    "gradient boosting": lambda: make_pipeline(
        SelectKBest(chi2, k=500),
        FunctionTransformer(lambda chosen: chosen.toarray(), accept_sparse=True),
        HistGradientBoostingClassifier(max_iter=100, random_state=0),
    ),
}


def numbered(trials: pd.DataFrame) -> list[str]:
    """Texts in which each name is "name1", "name2", ... in the order of first mention."""
    found = []
    for text, names in zip(trials["text"], trials["entities"], strict=True):
        names = sorted(
            json.loads(names) if isinstance(names, str) else names, key=len, reverse=True
        )
        pattern = "|".join(map(re.escape, names))
        order = {
            name: f"name{number}"
            for number, name in enumerate(dict.fromkeys(re.findall(pattern, text)), 1)
        }
        found.append(re.sub(pattern, lambda match, order=order: order[match.group()], text))
    return found


def placed_features(texts: list[str]) -> sparse.csr_matrix:
    """Presence of word 1- to 4-grams, and of each word at its place from either end, hashed."""
    known: dict[str, int] = {}
    split = [
        [known.setdefault(word, hash_of(word)) for word in re.findall(r"\w+|[^\w\s]", text)]
        for text in texts
    ]
    lengths = np.array([len(words) for words in split])
    words = np.concatenate([np.array(words, np.uint64) for words in split])
    row = np.repeat(np.arange(len(texts)), lengths)
    place = np.arange(len(words)) - np.repeat(lengths.cumsum() - lengths, lengths)
    back = np.repeat(lengths, lengths) - place
    columns = [
        words * np.uint64(3) + np.uint64(1000003) * side.astype(np.uint64) + np.uint64(turn)
        for turn, side in ((1, place), (2, back))
    ]
    rows = [row, row]
    gram = np.zeros(len(words), np.uint64)
    for n in range(4):
        gram = gram[: len(words) - n] * np.uint64(0x9E3779B97F4A7C15) + words[n:]
        within = back[: len(words) - n] > n
        columns.append(gram[within])
        rows.append(row[: len(words) - n][within])
    mixed = np.concatenate(columns) * np.uint64(0xFF51AFD7ED558CCD) >> np.uint64(44)
    one = np.ones(len(mixed), np.float32)
    found = sparse.csr_matrix(
        (one, (np.concatenate(rows), mixed.astype(np.int64))), (len(texts), N_HASHED)
    )
    found.data[:] = 1
    return found


def hash_of(word: str) -> int:
    """The same number for a word in every run."""
    return int.from_bytes(hashlib.blake2b(word.encode(), digest_size=7).digest(), "little")


def measure_placed(train: pd.DataFrame, test: pd.DataFrame) -> pd.DataFrame:
    """The same as ``measure`` by the classifiers of ``PLACED``."""
    test = test[~test["text"].isin(set(train["text"]))]
    rows = []
    for form, texts in (
        ("names", lambda trials: trials["text"].tolist()),
        ("numbered names", numbered),
    ):
        learned, asked = placed_features(texts(train)), placed_features(texts(test))
        for name, make in PLACED.items():
            right = test.assign(
                right=make().fit(learned, train["gold"]).predict(asked) == test["gold"].to_numpy()
            )
            parts = [
                ("all", right),
                *(("/".join(map(str, cell)), part) for cell, part in right.groupby(CELL)),
            ]
            label = f"{name}, {form}"
            rows += [
                {"classifier": label, "cell": c, "right": int(p["right"].sum()), "trials": len(p)}
                for c, p in parts
            ]
    return pd.DataFrame(rows)


def interval(n: int, chance: float, n_tests: int = N_TESTS) -> tuple[float, float]:
    """Where the accuracy of a guesser lies in 99 of 100 tables."""
    low, high = binom.interval(1 - 0.01 / n_tests, n, chance)
    return low / n, high / n


def main() -> None:
    """Print two lines per problem and set, with --placed for either form of names: the whole, and
    the best cell.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=6000)
    parser.add_argument("--released", help="the released test set")
    parser.add_argument("--set", default="test", help="the generated set, e.g. test-hard")
    parser.add_argument("--problems", nargs="*", help="some of the set's")
    parser.add_argument("--placed", action="store_true", help="the stronger classifiers")
    args = parser.parse_args()
    how = measure_placed if args.placed else measure
    warnings.filterwarnings(
        "ignore", category=ConvergenceWarning
    )  # 200 steps are enough to tell a shortcut
    released = read_official(args.released) if args.released else None
    print(
        f"{'problem':<16} {'set':<9} {'cell':<7} {'trials':>6} accuracy  interval of chance "
        " strongest classifier"
    )
    for problem in args.problems or plan_set(args.set).problems:
        sets = {
            "ours": tuple(make_trials(problem, seed, args.trials, name=args.set) for seed in (0, 5))
        }
        if released is not None:
            trials = released[released["problem"] == problem]
            tuples = trials["tuple_id"].unique()
            drawn = np.random.default_rng(0).permutation(tuples)[
                : 2 * args.trials // len(answers_of(problem))
            ]
            half = set(drawn[: len(drawn) // 2])
            trials = trials[trials["tuple_id"].isin(set(drawn))]
            sets["released"] = (
                trials[trials["tuple_id"].isin(half)],
                trials[~trials["tuple_id"].isin(half)],
            )
        for name, (train, test) in sets.items():
            found = how(train, test)
            chance = 1 / len(answers_of(problem))
            found["accuracy"] = found["right"] / found["trials"]
            found["beyond"] = found["accuracy"] - [interval(n, chance)[1] for n in found["trials"]]
            for _, part in found.groupby(found["classifier"].str.endswith("numbered names")):
                whole, cells = part[part["cell"] == "all"], part[part["cell"] != "all"]
                for best in (
                    whole.loc[whole["beyond"].idxmax()],
                    cells.loc[cells["beyond"].idxmax()],
                ):
                    low, high = interval(best["trials"], chance)
                    print(
                        f"{problem:<16} {name:<9} {best['cell']:<7} {best['trials']:>6}"
                        f" {best['accuracy']:.3f}{'  OUTSIDE' if best['beyond'] > 0 else ''} "
                        f" {low:.3f} to {high:.3f}  {best['classifier']}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
