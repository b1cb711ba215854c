"""Splits of materials into parts that share no situation, no pair of concepts and no concept, and
the part on which relatedness of words misleads most.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from worldprobe.benchmarks.ewok.materials.compile import spelt
from worldprobe.benchmarks.ewok.materials.split import PAIR, PARTS
from worldprobe.benchmarks.ewok.vocabulary import TEXTS

#: Parts that share no situation and no concept: the vectors that judge one have read the others.
N_PARTS = 5
#: The share of each domain's templates that is adversarial.
SHARE = 0.1


def split_by_situation(templates: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """Assign every pair of concepts to ``train`` or ``test``, about half of each domain's pairs to
    either.

    Pairs that share a situation or a concept go together; nothing that a template says in one part
    is said in the other.

    Args:
        templates: a Templates table.
        seed: of the order in which groups are assigned, those of several domains and large ones
            first.

    Returns:
        domain, concept_a, concept_b (empty where there is none) and part, one row per pair, sorted.
    """
    pairs = templates[[*PAIR, "situation"]].fillna({"concept_b": ""})
    pairs["group"] = _groups(pairs)
    pairs = pairs[[*PAIR, "group"]].drop_duplicates(PAIR).sort_values(PAIR, ignore_index=True)
    sizes: dict[int, Counter[str]] = {}
    names: dict[int, str] = {}
    for group, *pair in zip(
        pairs["group"].tolist(), *(pairs[column].tolist() for column in PAIR), strict=True
    ):
        sizes.setdefault(group, Counter()).update([pair[0]])
        names.setdefault(group, "\0".join(pair))

    def place(group: int) -> tuple[int, int, str]:
        """Large groups first, the others in an order that depends on nothing but seed and name."""
        return (
            -len(sizes[group]),
            -sizes[group].total(),
            hashlib.sha256(f"{seed}\0{names[group]}".encode()).hexdigest(),
        )

    surplus: Counter[str] = (
        Counter()
    )  # pairs of the test part minus those of the training part, by domain
    part = {}
    for group in sorted(sizes, key=place):
        lean = sum(surplus[domain] * count for domain, count in sizes[group].items())
        is_test = lean < 0 or (lean == 0 and int(place(group)[2], 16) % 2 == 1)
        part[group] = PARTS[is_test]
        surplus.update(
            {domain: count if is_test else -count for domain, count in sizes[group].items()}
        )
    return pairs.assign(part=pairs["group"].map(part))[[*PAIR, "part"]]


def _groups(pairs: pd.DataFrame) -> np.ndarray:
    """The group of each row: rows that share a situation or one of their concepts in a domain are
    of one group.
    """
    nodes = [
        ("situation " + pairs["situation"]).tolist(),
        ("concept " + pairs["domain"] + " " + pairs["concept_a"]).tolist(),
    ]
    second = "concept " + pairs["domain"] + " " + pairs["concept_b"]
    nodes.append(second.where(pairs["concept_b"] != "", nodes[1]).tolist())
    codes = pd.factorize(np.concatenate(nodes))[0].reshape(3, -1)
    ones, size = np.ones(2 * codes.shape[1]), int(codes.max()) + 1
    edges = coo_matrix((ones, (np.tile(codes[0], 2), codes[1:].ravel())), shape=(size, size))
    return np.asarray(connected_components(edges, directed=False)[1][codes[0]])


def folds(templates: pd.DataFrame, count: int, seed: int = 0) -> np.ndarray:
    """The part of each template, from 0, of about equally large parts that share no situation and
    no concept.

    Args:
        templates: a Templates table.
        count: number of parts.
        seed: of the order of what is equally large.
    """
    rng = np.random.default_rng(seed)
    group = pd.Series(_groups(templates[[*PAIR, "situation"]].fillna({"concept_b": ""})))
    sizes = group.value_counts()
    part, filled = {}, np.zeros(count, int)
    for one in sorted(
        sizes.index, key=lambda one: (-sizes[one], rng.random())
    ):  # each into the part that has the fewest
        part[one] = int(filled.argmin())
        filled[part[one]] += sizes[one]
    return group.map(part).to_numpy()


def split_text(split: pd.DataFrame, canary: str | None) -> str:
    """The file ``utils/split.csv``, below the materials' canary.

    Args:
        split: from ``split_by_situation``.
        canary: lines of the materials' canary.
    """
    return (f"{canary}\n" if canary else "") + split.to_csv(index=False, lineterminator="\n")


def choose_adversarial(templates: pd.DataFrame, seed: int = 0) -> np.ndarray:
    """Whether each template is among the tenth of its domain on which relatedness points the wrong
    way most.

    Args:
        templates: a Templates table.
        seed: of the vectors.

    Returns:
        a truth value per row.
    """
    from worldprobe.benchmarks.ewok.word2vec import train_vectors

    margin = relatedness(templates, partial(train_vectors, seed=seed, size=50, epochs=20)).sum(
        axis=1
    )
    chosen = np.zeros(len(templates), bool)
    for found in templates.groupby("domain").indices.values():
        rows = np.asarray(found)
        worst = rows[np.argsort(margin[rows], kind="stable")]
        chosen[worst[: round(SHARE * len(rows))]] = True
    return chosen


def relatedness(templates: pd.DataFrame, train: Callable[[Collection[str]], Any]) -> np.ndarray:
    """How much closer each template's targets are to their own contexts than to the others, slots
    left out.

    Args:
        templates: a Templates table.
        train: makes word vectors (KeyedVectors) from contexts that are followed by their targets;
            those that judge a part have not read it.

    Returns:
        shape (templates, 2): differences of cosines.
    """
    from worldprobe.benchmarks.ewok.word2vec import bag_similarities

    bare = {text: [" ".join(spelt(one)) for one in templates[text]] for text in TEXTS}
    items = pd.DataFrame({"item_id": templates["template_id"], "fillers": "{}", **bare})
    parts, margin = folds(templates, N_PARTS), np.zeros((len(items), 2))
    for part in range(N_PARTS):
        read = items[parts != part]
        texts = zip(*(read[text] for text in TEXTS), strict=True)
        stories = dict.fromkeys(
            story for c1, c2, t1, t2 in texts for story in (f"{c1} {t1}", f"{c2} {t2}")
        )
        similarities, _ = bag_similarities(items[parts == part], train(stories), ())
        cosine = (
            similarities["similarity"].fillna(0).to_numpy().reshape(-1, 4)
        )  # in the order of baselines.PAIRS
        margin[parts == part] = cosine[:, [0, 3]] - cosine[:, [1, 2]]
    return margin
