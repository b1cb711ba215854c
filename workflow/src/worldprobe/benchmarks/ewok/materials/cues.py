"""Whether single words give the answer away: words that go with one side, and what models of bare words score.

An item is right by construction whichever way its two sides are ordered, so a word alone can only help where it goes with one
side of many pairs of concepts. Pairs of concepts are the unit: a word of one pair says nothing about the next.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pandas as pd

from worldprobe.benchmarks.ewok.materials.balance import PARTS, Pairs, number_concept_pairs, sentence_pairs, spelt, turns

#: Words of fewer pairs of concepts than this are not judged: any order of so few looks one-sided.
LEAST_CONCEPT_PAIRS = 10


@dataclass(frozen=True)
class WordCues:
    """Words by how much they go with one side.

    Attributes:
        table: part, word, n1 and n2 (pairs of sentences that have it on side 1 or 2 alone), pmi (bits; of the word and the side
            that it goes with) and the bound of the part.
        bounds: part -> what the largest pmi of all words stays below in 95 % of random turns of the pairs of concepts.
    """

    table: pd.DataFrame
    bounds: dict[str, float]


def word_cues(templates: pd.DataFrame, seed: int = 0) -> WordCues:
    """Pointwise mutual information of each frequent word and a side, with the bound that chance alone stays below.

    Args:
        templates: a templates table.
        seed: of the turns.
    """
    rows: list[tuple[str, str, int, int, float, float]] = []
    bounds = {}
    for part in PARTS:
        pairs = sentence_pairs(templates, part)
        known, one, two = _side_counts(pairs)
        total = (one + two).sum(axis=0)
        observed = _pmi((one - two).sum(axis=0), total)
        largest = [_pmi(np.abs(signs @ (one - two)), total).max(axis=1) for signs in turns(len(one), seed)] if known else []
        bounds[part] = float(np.quantile(np.concatenate(largest), 0.95)) if known else 0.0
        counted = zip(known, one.sum(axis=0), two.sum(axis=0), observed, strict=True)
        rows += [(part, word, int(n1), int(n2), float(pmi), bounds[part]) for word, n1, n2, pmi in counted]
    table = pd.DataFrame(rows, columns=["part", "word", "n1", "n2", "pmi", "bound"])
    return WordCues(table.sort_values(["part", "pmi", "word"], ascending=[True, False, True], ignore_index=True), bounds)


def _side_counts(pairs: Pairs) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Words of enough pairs of concepts; how often each is on one side alone, shape (pairs of concepts, words) per side."""
    counts: tuple[Counter[tuple[int, str]], Counter[tuple[int, str]]] = (Counter(), Counter())
    spread: Counter[str] = Counter()
    for a, b, cluster in zip(pairs.first, pairs.second, pairs.cluster.tolist(), strict=True):
        for side, only in enumerate((set(a) - set(b), set(b) - set(a))):
            counts[side].update((cluster, word) for word in only)
    spread.update(word for _, word in {*counts[0], *counts[1]})
    known = sorted(word for word, n in spread.items() if n >= LEAST_CONCEPT_PAIRS)
    clusters = range(int(pairs.cluster.max()) + 1)
    one, two = (np.array([[count[c, word] for word in known] for c in clusters], float) for count in counts)
    return known, one, two


def _pmi(difference: np.ndarray, total: np.ndarray) -> np.ndarray:
    """log2 P(side | word) / P(side) for the side that the word goes with; both sides are equally frequent."""
    return np.asarray(np.log2(1 + np.abs(difference) / total))


def bag_of_words(templates: pd.DataFrame) -> pd.DataFrame:
    """Accuracy of two models of bare words, per domain and in all; 0.5 is chance.

    ``shared_words`` prefers the context that shares more of its words with the target, slots included; a tie counts a half.
    ``side_words`` learns from all other pairs of concepts which words go with which side, of contexts and of targets, and puts
    together what goes with the same side: it finds out if, say, negations go with unpleasant targets.
    """
    columns = {"domain": templates["domain"], "shared_words": _shared(templates), "side_words": _learned(templates)}
    scores = pd.DataFrame(columns)
    by_domain = scores.groupby("domain", sort=True).mean(numeric_only=True).reset_index()
    overall = pd.DataFrame([["all", *scores[["shared_words", "side_words"]].mean()]], columns=by_domain.columns)
    return pd.concat([by_domain, overall], ignore_index=True)


def _shared(templates: pd.DataFrame) -> list[float]:
    found = []
    for c1, c2, t1, t2 in zip(*(templates[c] for c in ("context1", "context2", "target1", "target2")), strict=True):
        (a, b), targets = (_bag(c1), _bag(c2)), (_bag(t1), _bag(t2))
        share = [[len(bag & t) / len(bag) for bag in (a, b)] for t in targets]
        found.append((_prefer(share[0][0] - share[0][1]) + _prefer(share[1][1] - share[1][0])) / 2)
    return found


def _bag(text: str) -> set[str]:
    return {*spelt(text), *(part.partition(":")[0] for part in text.replace("}", "{").split("{")[1::2])}


def _prefer(difference: float) -> float:
    return 0.5 if abs(difference) < 1e-12 else float(difference > 0)


def _learned(templates: pd.DataFrame) -> list[float]:
    cluster = number_concept_pairs(templates)
    evidence = np.ones(len(templates))
    for part in PARTS:
        evidence *= _side_scores(templates, part, cluster)
    return [_prefer(value) for value in evidence]


def _side_scores(templates: pd.DataFrame, part: str, cluster: np.ndarray) -> np.ndarray:
    """How much more the words of side 1 than those of side 2 went with side 1 in other pairs of concepts."""
    pairs = sentence_pairs(templates, part)
    difference, number = Counter[str](), Counter[str]()
    own: dict[int, tuple[Counter[str], Counter[str]]] = {}
    for a, b, c in zip(pairs.first, pairs.second, pairs.cluster.tolist(), strict=True):
        own_difference, own_number = own.setdefault(c, (Counter(), Counter()))
        for words, sign in ((set(a) - set(b), 1), (set(b) - set(a), -1)):
            for word in words:
                for counter, change in ((difference, sign), (own_difference, sign), (number, 1), (own_number, 1)):
                    counter[word] += change

    def score(words: set[str], c: int) -> float:
        """How many standard deviations from an even split the words are together."""
        n = {word: number[word] - own[c][1][word] for word in words}
        return float(sum((difference[word] - own[c][0][word]) / np.sqrt(n[word]) for word in sorted(words) if n[word]))

    sides = [[set(spelt(text)) for text in templates[f"{part}{side}"]] for side in (1, 2)]
    return np.array([score(a - b, c) - score(b - a, c) for a, b, c in zip(*sides, cluster.tolist(), strict=True)])
