"""Do bare words answer our materials? Run by hand; prints the numbers of the edition's README.

    pip install vaderSentiment
    python tests/performance/materials_cues.py [--edition builtin@2] [--fast]

Classifiers of pairs of words, one of the context (or two in a row) and one of the target, are
trained on right and wrong pairings of context and target of four fifths of the templates and judge
the rest: a target is answered right if its own context scores higher, as language models are
judged. Parts share no pair of concepts, no situation and no context. Random parts share contexts:
what is above the other there is looked up. Valence prefers the context whose VADER score has the
target's sign. Word vectors that read the other parts judge the adversarial part, by the cosines of
bags of words.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from functools import partial
from itertools import combinations, pairwise, permutations

import numpy as np
import pandas as pd
from gensim.models import FastText, KeyedVectors, Word2Vec
from scipy import sparse
from scipy.sparse.linalg import svds
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import LinearSVC

from worldprobe.benchmarks.ewok.materials.items import compile_all
from worldprobe.benchmarks.ewok.materials.materials import read_materials
from worldprobe.benchmarks.ewok.materials.original_quirks import RIGHT
from worldprobe.benchmarks.ewok.materials.split import folds
from worldprobe.benchmarks.ewok.vocabulary import spelt
from worldprobe.benchmarks.ewok.word2vec import relatedness, train_vectors
from worldprobe.paths import EDITIONS
from worldprobe_authoring.balance import cross_design

#: Right pairings first, then the wrong ones.
PAIRINGS = ((1, 1), (2, 2), (2, 1), (1, 2))
_DENSE = FunctionTransformer(lambda matrix: matrix.toarray())
CLASSIFIERS: dict[str, Callable[[], object]] = {
    "logistic regression": lambda: LogisticRegression(C=1.0, tol=1e-7, max_iter=200),
    "linear SVM": lambda: LinearSVC(C=0.01, dual=False, tol=0.001),
    "naive Bayes": lambda: BernoulliNB(),
    "gradient boosting": lambda: make_pipeline(
        SelectKBest(chi2, k=300),
        _DENSE,
        HistGradientBoostingClassifier(max_iter=100, random_state=0),
    ),
}


def pair_words(contexts: Sequence[str], targets: Sequence[str]) -> list[list[str]]:
    """Every word and two words in a row of a context with every word of its target, as one feature
    each.
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


def cooccurrence_vectors(stories: Collection[str], size: int = 50) -> KeyedVectors:
    """Word vectors from the positive pointwise mutual information of words of one story, reduced by
    SVD.
    """
    bags = CountVectorizer(analyzer=str.split)
    bags.fit(stories)
    number = bags.vocabulary_
    pairs = np.array(
        [
            pair
            for story in stories
            for pair in permutations([number[word] for word in story.split()], 2)
        ]
    )
    count = (
        sparse.coo_matrix((np.ones(len(pairs)), pairs.T), shape=(len(number), len(number)))
        .tocsr()
        .tocoo()
    )
    total = np.bincount(count.row, count.data, len(number))
    pmi = np.log(count.data * total.sum() / (total[count.row] * total[count.col]))
    left, strength, _ = svds(
        sparse.csr_matrix((np.maximum(pmi, 0), (count.row, count.col)), count.shape),
        k=size,
        random_state=0,
    )
    return keyed(bags.get_feature_names_out(), left * np.sqrt(strength))


def semantic_vectors(stories: Collection[str], size: int = 100) -> KeyedVectors:
    """Word vectors of latent semantic analysis: of words by stories, TF-IDF, reduced by SVD."""
    counted = TfidfVectorizer(analyzer=str.split)
    reduced = TruncatedSVD(size, random_state=0).fit(counted.fit_transform(stories))
    return keyed(counted.get_feature_names_out(), reduced.components_.T * counted.idf_[:, None])


def averaged_vectors(stories: Collection[str], size: int = 50) -> KeyedVectors:
    """word2vec that guesses a word from the mean of those around it (CBOW)."""
    texts = [story.split() for story in stories]
    return Word2Vec(
        texts, vector_size=size, window=30, min_count=1, sg=0, epochs=20, seed=5, workers=1
    ).wv


def subword_vectors(stories: Collection[str], size: int = 50) -> KeyedVectors:
    """fastText: word2vec of words and of the letters in them."""
    texts = [story.split() for story in stories]
    wv = FastText(
        texts,
        vector_size=size,
        window=30,
        min_count=1,
        sg=1,
        epochs=20,
        seed=0,
        workers=1,
        bucket=20_000,
    ).wv
    return keyed(
        wv.index_to_key, np.array([wv[word] for word in wv.index_to_key], dtype=np.float64)
    )


def global_vectors(
    stories: Collection[str], size: int = 50, epochs: int = 25, rate: float = 0.05
) -> KeyedVectors:
    """GloVe (Pennington et al., 2014): log counts of words of one story, nearer ones counting more,
    by AdaGrad.
    """
    texts = [story.split() for story in stories]
    number = {word: n for n, word in enumerate(sorted({word for text in texts for word in text}))}
    counts: Counter[tuple[int, int]] = Counter()
    for text in texts:
        for (i, one), (j, other) in combinations(enumerate(text), 2):
            for pair in ((number[one], number[other]), (number[other], number[one])):
                counts[pair] += (j - i) ** -0.5
    pairs, weight = np.array(list(counts)), np.array(list(counts.values()))
    share, rng = np.minimum((weight / 10) ** 0.75, 1), np.random.default_rng(0)
    vectors = [(rng.random((len(number), size)) - 0.5) / size for _ in range(2)]
    biases, squares = (
        [np.zeros((len(number), 1)) for _ in range(2)],
        [np.ones((len(number), size + 1)) for _ in range(2)],
    )
    for _ in range(epochs):
        for batch in np.array_split(rng.permutation(len(pairs)), max(len(pairs) // 2048, 1)):
            sides = pairs[batch].T
            own = [both[side] for both, side in zip(vectors, sides, strict=True)]
            bias = sum(both[side, 0] for both, side in zip(biases, sides, strict=True))
            error = share[batch] * ((own[0] * own[1]).sum(axis=1) + bias - np.log(weight[batch]))
            for k in range(2):
                slope = np.zeros((len(number), size + 1))
                np.add.at(
                    slope,
                    sides[k],
                    error[:, None] * np.column_stack([own[1 - k], np.ones(len(batch))]),
                )
                squares[k] += slope**2
                step = rate * slope / np.sqrt(squares[k])
                vectors[k], biases[k] = vectors[k] - step[:, :-1], biases[k] - step[:, -1:]
    return keyed(list(number), vectors[0] + vectors[1])


def keyed(words: Sequence[str], vectors: np.ndarray) -> KeyedVectors:
    """Vectors, a row per word, that can be looked up."""
    found = KeyedVectors(vectors.shape[1], dtype=np.float64)
    found.add_vectors(list(words), vectors)
    return found


#: What else reads the other parts than the word2vec that chose the adversarial one.
BAGS = {
    "PPMI, SVD": cooccurrence_vectors,
    "TF-IDF, SVD": semantic_vectors,
    "fastText": subword_vectors,
    "GloVe": global_vectors,
    "word2vec, CBOW": averaged_vectors,
    "word2vec, seed 3, 100 dimensions": partial(train_vectors, seed=3, size=100, epochs=20),
}


def main() -> None:
    """Print accuracies by measure, overall, by domain, and inside and outside the adversarial
    part.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edition", default="builtin@2")
    parser.add_argument("--fast", action="store_true", help="logistic regression alone")
    options = parser.parse_args()
    templates = compile_all(read_materials(EDITIONS[options.edition], RIGHT))
    x, held_out = features(templates), folds(templates, 5)
    table = {}
    for name, make in CLASSIFIERS.items() if not options.fast else list(CLASSIFIERS.items())[:1]:
        table[name] = accuracies(templates, make, held_out, x)
        print(f"{name}: {table[name].mean():.3f}", flush=True)
    random = np.random.default_rng(0).integers(0, 5, len(templates))
    table["logistic regression, random parts"] = accuracies(
        templates, CLASSIFIERS["logistic regression"], random, x
    )
    part = templates["adversarial"].fillna("none")
    for name, train in BAGS.items():
        right = pd.Series(prefer(relatedness(templates, train)).mean(axis=1), templates.index)
        print(f"{name}, adversarial part:", right.groupby(part).mean().round(3).to_dict())
    try:
        table["valence"] = valence(templates)
    except ImportError:
        print("vaderSentiment is not installed: no valence")
    scores = pd.DataFrame(table, index=templates.index).assign(domain=templates["domain"])
    by_domain = scores.groupby("domain").mean()
    by_domain.loc["all"] = scores.drop(columns="domain").mean()
    print(by_domain.T.round(3).T.to_string())
    _, strength = cross_design(templates)
    print(
        "Cramer's V of domain with",
        ", ".join(f"{name} {value:.3f}" for name, value in strength.items()),
    )


if __name__ == "__main__":
    main()
