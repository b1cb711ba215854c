"""How materials are balanced: sentences, design features, the two sides of templates, and words
that give the answer away.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from worldprobe.benchmarks.ewok.materials.situations import count_parts, spelt
from worldprobe.benchmarks.ewok.vocabulary import contrast_group

#: Design feature -> how a template's value of it is read.
FEATURES: Mapping[str, Callable[[pd.DataFrame], pd.Series]] = {
    "context_type": lambda t: t["context_type"],
    "context_contrast": (
        lambda t: t["context_contrast"].map(
            lambda label: contrast_group(label if isinstance(label, str) else None)
        )
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
class SentencePairs:
    """The different pairs of sentences of one part of the templates, and the pair of concepts that
    each belongs to.

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
    """One row per domain, then one named ``all``, where what several domains share counts once.

    Returns:
        domain, and the numbers of different pairs of concepts, situations, pairs of contexts, pairs
        of targets, concepts, and templates.
    """
    parts = [
        *((str(domain), rows) for domain, rows in templates.groupby("domain", sort=True)),
        ("all", templates),
    ]
    return pd.DataFrame([{"domain": domain} | count_parts(rows) for domain, rows in parts])


def cross_design(templates: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, float]]:
    """How often each design feature has each value in each domain, and how strongly feature and
    domain go together.

    Returns:
        Domains in rows, one column per ``feature: value`` with its share of the domain's templates;
        and feature -> Cramer's V.
    """
    shares, strength = [], {}
    for feature, measure in FEATURES.items():
        counts = pd.crosstab(templates["domain"], measure(templates))
        strength[feature] = cramers_v(counts.to_numpy(float))
        share = counts.div(counts.sum(axis=1), axis=0)
        shares.append(share.set_axis([f"{feature}: {value}" for value in counts.columns], axis=1))
    return pd.concat(shares, axis=1).reset_index(), strength


def cramers_v(counts: np.ndarray) -> float:
    """Cramer's V of a table of counts, 0 where a row or column is all there is.

    >>> (
    ...     round(cramers_v(np.array([[5.0, 0.0], [0.0, 5.0]])), 6),
    ...     cramers_v(np.array([[5.0, 5.0], [2.0, 2.0]])),
    ... )
    (1.0, 0.0)
    """
    from scipy.stats.contingency import association

    return float(association(counts.astype(int))) if min(counts.shape) > 1 else 0.0


def sentence_pairs(templates: pd.DataFrame, part: str) -> SentencePairs:
    """The different pairs of targets or of contexts, in the order of the templates.

    Args:
        templates: a templates table.
        part: ``target`` or ``context``.
    """
    numbered = templates.assign(cluster=number_concept_pairs(templates))
    different = numbered.drop_duplicates(["domain", f"{part}1", f"{part}2"])
    sides = [[spelt(text) for text in different[f"{part}{side}"]] for side in (1, 2)]
    return SentencePairs(
        sides[0], sides[1], different["domain"].to_numpy(str), different["cluster"].to_numpy()
    )


def number_concept_pairs(templates: pd.DataFrame) -> np.ndarray:
    """The number of each template's pair of concepts, from 0 in the order of domains and names."""
    return templates.fillna({"concept_b": ""}).groupby(_PAIR, sort=True).ngroup().to_numpy()


def compare_sides(
    templates: pd.DataFrame,
    frequencies: Callable[[Collection[str]], Mapping[str, float]],
    seed: int = 0,
) -> pd.DataFrame:
    """Whether side 1 and side 2 are alike in length and word frequency: per domain, part and
    measure the mean difference.

    Two sides that differ only by chance keep their difference when whole pairs of concepts are
    turned round: p is the share of 4000 random turns whose mean difference is at least as large.

    Args:
        templates: a templates table.
        frequencies: f of all words, asked once; a word's log frequency is ln(1 + f). Where it is
            NaN, so are difference and p.
        seed: of the turns.
    """
    pairs = {part: sentence_pairs(templates, part) for part in PARTS}
    vocabulary = {
        word
        for p in pairs.values()
        for side in (p.first, p.second)
        for sentence in side
        for word in sentence
    }
    log_frequency = {word: float(np.log1p(f)) for word, f in frequencies(vocabulary).items()}
    rows = []
    for part, p in pairs.items():
        for measure in MEASURES:
            of = _measure(measure, log_frequency)
            difference = np.array([of(a) - of(b) for a, b in zip(p.first, p.second, strict=True)])
            for domain in [*sorted(set(p.domain)), "all"]:
                inside = np.ones(len(difference), bool) if domain == "all" else p.domain == domain
                rows.append(
                    (part, domain, measure, *_test(difference[inside], p.cluster[inside], seed))
                )
    return pd.DataFrame(rows, columns=["part", "domain", "measure", "pairs", "difference", "p"])


#: Said where no word has a frequency.
NO_LIST = "there is no list of word frequencies of the language"


def is_known(sides: pd.DataFrame) -> bool:
    """Whether words have frequencies in what ``compare_sides`` returned."""
    return bool(sides.loc[sides["measure"] == "log_frequency", "difference"].notna().any())


def _measure(name: str, log_frequency: Mapping[str, float]) -> Callable[[Sequence[str]], float]:
    if name == "words":
        return len
    if name == "characters":
        return lambda sentence: float(sum(map(len, sentence)))
    return lambda sentence: (
        float(np.mean([log_frequency[word] for word in sentence])) if sentence else 0.0
    )


def _test(difference: np.ndarray, cluster: np.ndarray, seed: int) -> tuple[int, float, float]:
    _, code = np.unique(cluster, return_inverse=True)
    sums = np.bincount(code, weights=difference)
    observed = abs(sums.sum())
    if np.isnan(observed):
        return len(difference), np.nan, np.nan
    drawn = np.abs(np.concatenate([signs @ sums for signs in turns(len(sums), seed)]))
    return (
        len(difference),
        float(difference.mean()),
        float((1 + (drawn >= observed - 1e-9).sum()) / (1 + _FLIPS)),
    )


def turns(n_clusters: int, seed: int) -> Iterator[np.ndarray]:
    """Blocks of random signs, shape (block, n_clusters), ``_FLIPS`` rows in all; the same for the
    same seed.
    """
    rng = np.random.default_rng([seed, n_clusters])
    for _ in range(_FLIPS // 500):
        yield rng.integers(0, 2, (500, n_clusters)) * 2.0 - 1.0


#: Words of fewer pairs of concepts than this are not judged: any order of so few looks one-sided.
LEAST_CONCEPT_PAIRS = 10


@dataclass(frozen=True)
class WordCues:
    """Words by how much they go with one side.

    Attributes:
        table: part, word, n1 and n2 (pairs of sentences that have it on side 1 or 2 alone), pmi
            (bits; of the word and the side that it goes with) and the bound of the part.
        bounds: part -> what the largest pmi of all words stays below in 95 % of random turns of the
            pairs of concepts.
    """

    table: pd.DataFrame
    bounds: dict[str, float]


def word_cues(templates: pd.DataFrame, seed: int = 0) -> WordCues:
    """Pointwise mutual information of each frequent word and a side, with the bound that chance
    alone stays below.

    Args:
        templates: a templates table.
        seed: of the turns.
    """
    rows: list[tuple[str, str, int, int, float, float]] = []
    bounds = {}
    for part in PARTS:
        pairs = sentence_pairs(templates, part)
        words, one, two = _side_counts(pairs)
        total = (one + two).sum(axis=0)
        observed = _pmi((one - two).sum(axis=0), total)
        largest = (
            [
                _pmi(np.abs(signs @ (one - two)), total).max(axis=1)
                for signs in turns(len(one), seed)
            ]
            if words
            else []
        )
        bounds[part] = float(np.quantile(np.concatenate(largest), 0.95)) if words else 0.0
        counted = zip(words, one.sum(axis=0), two.sum(axis=0), observed, strict=True)
        rows += [
            (part, word, int(n1), int(n2), float(pmi), bounds[part])
            for word, n1, n2, pmi in counted
        ]
    table = pd.DataFrame(rows, columns=["part", "word", "n1", "n2", "pmi", "bound"])
    return WordCues(
        table.sort_values(
            ["part", "pmi", "word"], ascending=[True, False, True], ignore_index=True
        ),
        bounds,
    )


def _side_counts(pairs: SentencePairs) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Words of enough pairs of concepts; how often each is on one side alone, shape (pairs of
    concepts, words) per side.
    """
    counts: tuple[Counter[tuple[int, str]], Counter[tuple[int, str]]] = (Counter(), Counter())
    spread: Counter[str] = Counter()
    for a, b, cluster in zip(pairs.first, pairs.second, pairs.cluster.tolist(), strict=True):
        for side, only in enumerate((set(a) - set(b), set(b) - set(a))):
            counts[side].update((cluster, word) for word in only)
    spread.update(word for _, word in {*counts[0], *counts[1]})
    words = sorted(word for word, n in spread.items() if n >= LEAST_CONCEPT_PAIRS)
    clusters = range(int(pairs.cluster.max()) + 1)
    one, two = (
        np.array([[count[c, word] for word in words] for c in clusters], float) for count in counts
    )
    return words, one, two


def _pmi(difference: np.ndarray, total: np.ndarray) -> np.ndarray:
    """log2 P(side | word) / P(side) for the side that the word goes with; both sides are equally
    frequent.
    """
    return np.asarray(np.log2(1 + np.abs(difference) / total))


def bag_of_words(templates: pd.DataFrame) -> pd.DataFrame:
    """Accuracy of two models of bare words, per domain and in all; 0.5 is chance.

    ``shared_words`` prefers the context that shares more of its words with the target, slots
    included; a tie counts a half. ``side_words`` learns from all other pairs of concepts which
    words go with which side, of contexts and of targets, and puts together what goes with the same
    side: it finds out if, say, negations go with unpleasant targets.
    """
    columns = {
        "domain": templates["domain"],
        "shared_words": _shared(templates),
        "side_words": _learned(templates),
    }
    scores = pd.DataFrame(columns)
    by_domain = scores.groupby("domain", sort=True).mean(numeric_only=True).reset_index()
    overall = pd.DataFrame(
        [["all", *scores[["shared_words", "side_words"]].mean()]], columns=by_domain.columns
    )
    return pd.concat([by_domain, overall], ignore_index=True)


def _shared(templates: pd.DataFrame) -> list[float]:
    preferences = []
    for c1, c2, t1, t2 in zip(
        *(templates[c] for c in ("context1", "context2", "target1", "target2")), strict=True
    ):
        (a, b), targets = (_bag(c1), _bag(c2)), (_bag(t1), _bag(t2))
        share = [[len(bag & t) / len(bag) for bag in (a, b)] for t in targets]
        preferences.append(
            (_prefer(share[0][0] - share[0][1]) + _prefer(share[1][1] - share[1][0])) / 2
        )
    return preferences


def _bag(text: str) -> set[str]:
    return {
        *spelt(text),
        *(part.partition(":")[0] for part in text.replace("}", "{").split("{")[1::2]),
    }


def _prefer(difference: float) -> float:
    return 0.5 if abs(difference) < 1e-12 else float(difference > 0)


def _learned(templates: pd.DataFrame) -> list[float]:
    cluster = number_concept_pairs(templates)
    evidence = np.ones(len(templates))
    for part in PARTS:
        evidence *= _side_scores(templates, part, cluster)
    return [_prefer(value) for value in evidence]


def _side_scores(templates: pd.DataFrame, part: str, cluster: np.ndarray) -> np.ndarray:
    """How much more the words of side 1 than those of side 2 went with side 1 in other pairs of
    concepts.
    """
    pairs = sentence_pairs(templates, part)
    difference, number = Counter[str](), Counter[str]()
    # A pair of concepts all of whose sentences an earlier one has brings none of its own.
    by_cluster = {c: (Counter[str](), Counter[str]()) for c in cluster.tolist()}
    for a, b, c in zip(pairs.first, pairs.second, pairs.cluster.tolist(), strict=True):
        own_difference, own_number = by_cluster[c]
        for one_sided, sign in ((set(a) - set(b), 1), (set(b) - set(a), -1)):
            for word in one_sided:
                for counter, change in (
                    (difference, sign),
                    (own_difference, sign),
                    (number, 1),
                    (own_number, 1),
                ):
                    counter[word] += change

    def score(words: set[str], c: int) -> float:
        """How many standard deviations from an even split the words are together."""
        n = {word: number[word] - by_cluster[c][1][word] for word in words}
        return float(
            sum(
                (difference[word] - by_cluster[c][0][word]) / np.sqrt(n[word])
                for word in sorted(words)
                if n[word]
            )
        )

    sides = [[set(spelt(text)) for text in templates[f"{part}{side}"]] for side in (1, 2)]
    return np.array(
        [
            score(a - b, c) - score(b - a, c)
            for a, b, c in zip(*sides, cluster.tolist(), strict=True)
        ]
    )


#: Below this a design feature is not confounded with domain, and above this share of turns two
#: sides are alike.
LARGEST_V, LEAST_P = 0.25, 0.05


def overview(
    templates: pd.DataFrame,
    frequencies: Callable[[Collection[str]], Mapping[str, float]],
    seed: int,
) -> tuple[dict[str, pd.DataFrame], str]:
    """The tables by name, and a text that shows them.

    Args:
        templates: a templates table.
        frequencies: of words, asked once.
        seed: of the random turns.
    """
    design, strength = cross_design(templates)
    cues = word_cues(templates, seed)
    associations = pd.DataFrame(list(strength.items()), columns=["feature", "cramers_v"])
    tables = {
        "counts": count_templates(templates),
        "design": design,
        "associations": associations,
        "sides": compare_sides(templates, frequencies, seed),
        "words": cues.table,
        "bag_of_words": bag_of_words(templates),
    }
    unlike = tables["sides"][tables["sides"]["p"] < LEAST_P]
    telling = cues.table[cues.table["pmi"] > cues.table["bound"]]
    bounds = ", ".join(f"{part}s {bound:.2f}" for part, bound in cues.bounds.items())
    parts = [
        ("Pairs of concepts, situations, and what is made of them", _text(tables["counts"])),
        ("Share of each design feature's values in each domain", _text(_short(design))),
        (
            f"Association of design feature and domain (Cramer's V; below {LARGEST_V})",
            _text(associations),
        ),
        (
            (
                "Side 1 minus side 2, mean over pairs of sentences (p: random turns of pairs of"
                f" concepts{'' if is_known(tables['sides']) else f'; {NO_LIST}'})"
            ),
            _text(_wide(tables["sides"])),
        ),
        (f"Differences with p below {LEAST_P}", _text(unlike)),
        (
            (
                f"Words of {LEAST_CONCEPT_PAIRS} or more pairs of concepts that go with one side"
                f" (bits; chance: {bounds})"
            ),
            _text(cues.table.groupby("part").head(5)),
        ),
        ("Words above the bound", _text(telling)),
        ("Accuracy of models of bare words (chance: 0.5)", _text(tables["bag_of_words"])),
    ]
    return tables, "\n\n".join(f"{title}\n{body}" for title, body in parts)


def _text(table: pd.DataFrame) -> str:
    if table.empty:
        return "none"
    return table.to_string(
        index=False, float_format=lambda value: f"{value:.3f}", max_rows=None, na_rep="–"
    )


def _short(design: pd.DataFrame) -> pd.DataFrame:
    return design.rename(
        columns=lambda name: name.replace("_", " ").replace(": ", ":\n").rpartition("\n")[2]
    )


def _wide(sides: pd.DataFrame) -> pd.DataFrame:
    rows = sides.pivot(index=["part", "domain"], columns="measure", values=["difference", "p"])
    order = [
        (value, measure)
        for measure in ("words", "characters", "log_frequency")
        for value in ("difference", "p")
    ]
    return (
        rows[order]
        .set_axis(
            [measure if value == "difference" else f"p({measure})" for value, measure in order],
            axis=1,
        )
        .reset_index()
    )
