"""Do bare words answer our materials? What tests measure it with.

Classifiers of pairs of words, one of the context (or two in a row) and one of the target, are
trained on right and wrong pairings of context and target of four fifths of the templates and judge
the rest: a target is answered right if its own context scores higher, as language models are
judged. Parts share no pair of concepts, no situation and no context. Valence prefers the context
whose VADER score has the target's sign.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB

from worldprobe.benchmarks.ewok.materials.situations import spelt

#: Right pairings first, then the wrong ones.
PAIRINGS = ((1, 1), (2, 2), (2, 1), (1, 2))
CLASSIFIERS: dict[str, Callable[[], object]] = {
    "logistic regression": lambda: LogisticRegression(C=1.0, tol=1e-7, max_iter=200),
    "naive Bayes": lambda: BernoulliNB(),
}


def pair_words(contexts: Sequence[str], targets: Sequence[str]) -> list[list[str]]:
    """Every word and two words in a row of a context with every word of its target, as one
    feature each.
    """

    def grams(text: str) -> set[str]:
        words = spelt(text)
        return {*words, *(f"{a} {b}" for a, b in pairwise(words))}

    return [
        [f"{c}|{t}" for c in sorted(grams(one)) for t in sorted(set(spelt(other)))]
        for one, other in zip(contexts, targets, strict=True)
    ]


def features(templates: pd.DataFrame) -> list[sparse.csr_matrix]:
    """A matrix for each of ``PAIRINGS``, a row per template."""
    texts = [pair_words(templates[f"context{c}"], templates[f"target{t}"]) for c, t in PAIRINGS]
    counted = CountVectorizer(analyzer=list, min_df=4, binary=True).fit(
        [one for pairing in texts for one in pairing]
    )
    return [counted.transform(pairing).astype(np.float32) for pairing in texts]


def accuracies(
    templates: pd.DataFrame,
    make: Callable[[], object],
    parts: np.ndarray,
    x: list[sparse.csr_matrix],
) -> np.ndarray:
    """Accuracy of each template's two targets, its part judged by a classifier of the others."""
    found = np.full(len(templates), np.nan)
    for part in np.unique(parts):
        train, test = parts != part, parts == part
        label = np.repeat([1, 1, 0, 0], train.sum())
        fitted = make().fit(sparse.vstack([matrix[train] for matrix in x]), label)
        score = getattr(fitted, "decision_function", None) or (
            lambda m, f=fitted: f.predict_log_proba(m)[:, 1]
        )
        right1, right2, wrong1, wrong2 = (score(matrix[test]) for matrix in x)
        found[test] = (prefer(right1 - wrong1) + prefer(right2 - wrong2)) / 2
    return found


def prefer(difference: np.ndarray) -> np.ndarray:
    """1 where above zero, 0.5 where zero."""
    return np.where(np.abs(difference) < 1e-9, 0.5, (difference > 0).astype(float))


def valence(templates: pd.DataFrame) -> np.ndarray:
    """Accuracy of each template if one prefers the context whose valence has the sign of the
    target's.
    """
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    analyzer = SentimentIntensityAnalyzer()
    c1, c2, t1, t2 = (
        np.array(
            [
                analyzer.polarity_scores(" ".join(spelt(text)))["compound"]
                for text in templates[column]
            ]
        )
        for column in ("context1", "context2", "target1", "target2")
    )
    return (prefer(t1 * (c1 - c2)) + prefer(t2 * (c2 - c1))) / 2
