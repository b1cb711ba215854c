"""How materials are balanced: how many sentences there are, which design features go with which domain, and how alike the two
targets and the two contexts of a template are in length and word frequency.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from worldprobe.benchmarks.ewok.baselines.words import words
from worldprobe.benchmarks.ewok.materials.placeholders import KEY
from worldprobe.benchmarks.ewok.vocabulary import contrast_group

#: Design feature -> how a template's value of it is read.
FEATURES: Mapping[str, Callable[[pd.DataFrame], pd.Series]] = {
    "context_type": lambda t: t["context_type"],
    "context_contrast": lambda t: t["context_contrast"].map(
        lambda label: contrast_group(label if isinstance(label, str) else None)
    ),
    "target_contrast": lambda t: t["target_contrast"],
}
PARTS = ("context", "target")
#: The measures of a sentence.
MEASURES = ("words", "characters", "log_frequency")
#: What is turned as a whole: sentences of one pair of concepts are no independent evidence.
_PAIR = ["domain", "concept_a", "concept_b"]
_FLIPS = 4000


@dataclass(frozen=True)
class Pairs:
    """The different pairs of sentences of one part of the templates, and the pair of concepts that each belongs to.

    Attributes:
        first: sentences of side 1, as lists of words without their slots.
        second: sentences of side 2.
        domain: of each pair.
        cluster: number of the pair of concepts, from 0.
    """

    first: list[list[str]]
    second: list[list[str]]
    domain: np.ndarray
    cluster: np.ndarray


def count_templates(templates: pd.DataFrame) -> pd.DataFrame:
    """One row per domain, then one named ``all``: templates, concepts, different pairs of targets and of contexts."""
    counted: list[tuple[str, int, int, int, int]] = [
        (
            str(domain),
            len(rows),
            len({*rows["concept_a"], *rows["concept_b"].dropna()}),
            len(rows[["target1", "target2"]].drop_duplicates()),
            len(rows[["context1", "context2"]].drop_duplicates()),
        )
        for domain, rows in templates.groupby("domain", sort=True)
    ]
    total = ("all", *(sum(numbers) for numbers in zip(*(row[1:] for row in counted), strict=True)))
    return pd.DataFrame([*counted, total], columns=["domain", "templates", "concepts", "target_pairs", "context_pairs"])


def cross_design(templates: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, float]]:
    """How often each design feature has each value in each domain, and how strongly feature and domain go together.

    Returns:
        Domains in rows, one column per ``feature: value`` with its share of the domain's templates; and feature -> Cramer's V.
    """
    shares, strength = [], {}
    for feature, value_of in FEATURES.items():
        counts = pd.crosstab(templates["domain"], value_of(templates))
        strength[feature] = cramers_v(counts.to_numpy(float))
        share = counts.div(counts.sum(axis=1), axis=0)
        shares.append(share.set_axis([f"{feature}: {value}" for value in counts.columns], axis=1))
    return pd.concat(shares, axis=1).reset_index(), strength


def cramers_v(counts: np.ndarray) -> float:
    """Cramer's V of a table of counts, 0 where a row or column is all there is.

    >>> round(cramers_v(np.array([[5.0, 0.0], [0.0, 5.0]])), 6), cramers_v(np.array([[5.0, 5.0], [2.0, 2.0]]))
    (1.0, 0.0)
    """
    if min(counts.shape) < 2:
        return 0.0
    expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0) / counts.sum()
    statistic = float(((counts - expected) ** 2 / expected).sum())
    return float(np.sqrt(statistic / counts.sum() / (min(counts.shape) - 1)))


def sentence_pairs(templates: pd.DataFrame, part: str) -> Pairs:
    """The different pairs of targets or of contexts, in the order of the templates.

    Args:
        templates: a templates table.
        part: ``target`` or ``context``.
    """
    numbered = templates.assign(cluster=number_concept_pairs(templates))
    different = numbered.drop_duplicates(["domain", f"{part}1", f"{part}2"])
    sides = [[spelt(text) for text in different[f"{part}{side}"]] for side in (1, 2)]
    return Pairs(sides[0], sides[1], different["domain"].to_numpy(str), different["cluster"].to_numpy())


def number_concept_pairs(templates: pd.DataFrame) -> np.ndarray:
    """The number of each template's pair of concepts, from 0 in the order of domains and names."""
    return templates.fillna({"concept_b": ""}).groupby(_PAIR, sort=True).ngroup().to_numpy()


def spelt(text: str) -> list[str]:
    """The words of a template's text in lower case, without its slots.

    >>> spelt("{agent1} can't lift {object1:large=true}.")
    ["can't", 'lift']
    """
    return [word.lower() for word in words(KEY.sub(" ", text))]


def compare_sides(
    templates: pd.DataFrame, frequencies: Callable[[Collection[str]], Mapping[str, float]], seed: int = 0
) -> pd.DataFrame:
    """Whether side 1 and side 2 are alike in length and word frequency: per domain, part and measure the mean difference.

    Two sides that differ only by chance keep their difference when whole pairs of concepts are turned round: p is the share of
    4000 random turns whose mean difference is at least as large.

    Args:
        templates: a templates table.
        frequencies: f of all words, asked once; a word's log frequency is ln(1 + f).
        seed: of the turns.
    """
    pairs = {part: sentence_pairs(templates, part) for part in PARTS}
    vocabulary = {word for p in pairs.values() for side in (p.first, p.second) for sentence in side for word in sentence}
    log_frequency = {word: float(np.log1p(f)) for word, f in frequencies(vocabulary).items()}
    rows = []
    for part, p in pairs.items():
        for measure in MEASURES:
            of = _measure(measure, log_frequency)
            difference = np.array([of(a) - of(b) for a, b in zip(p.first, p.second, strict=True)])
            for domain in [*sorted(set(p.domain)), "all"]:
                inside = np.ones(len(difference), bool) if domain == "all" else p.domain == domain
                rows.append((part, domain, measure, *_test(difference[inside], p.cluster[inside], seed)))
    return pd.DataFrame(rows, columns=["part", "domain", "measure", "pairs", "difference", "p"])


def _measure(name: str, log_frequency: Mapping[str, float]) -> Callable[[Sequence[str]], float]:
    if name == "words":
        return len
    if name == "characters":
        return lambda sentence: float(sum(map(len, sentence)))
    return lambda sentence: float(np.mean([log_frequency[word] for word in sentence])) if sentence else 0.0


def _test(difference: np.ndarray, cluster: np.ndarray, seed: int) -> tuple[int, float, float]:
    _, code = np.unique(cluster, return_inverse=True)
    sums = np.bincount(code, weights=difference)
    observed = abs(sums.sum())
    drawn = np.abs(np.concatenate([signs @ sums for signs in turns(len(sums), seed)]))
    return len(difference), float(difference.mean()), float((1 + (drawn >= observed - 1e-9).sum()) / (1 + _FLIPS))


def turns(n_clusters: int, seed: int) -> Iterator[np.ndarray]:
    """Blocks of random signs, shape (block, n_clusters), ``_FLIPS`` rows in all; the same for the same seed."""
    rng = np.random.default_rng([seed, n_clusters])
    for _ in range(_FLIPS // 500):
        yield rng.integers(0, 2, (500, n_clusters)) * 2.0 - 1.0
