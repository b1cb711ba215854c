"""A split of materials into two halves that share no situation, no pair of concepts and no
concept.
"""

from __future__ import annotations

import hashlib
from collections import Counter

import numpy as np
import pandas as pd
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from worldprobe.benchmarks.ewok.materials.materials import Source
from worldprobe.commented_csv import read_frame
from worldprobe.errors import UserError

#: Where materials have their split.
SPLIT = "utils/split.csv"
PARTS = ("train", "test")
PAIR = ["domain", "concept_a", "concept_b"]


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


def parts_of(templates: pd.DataFrame, source: Source) -> pd.Series:
    """The part of each template, as the materials' own split says.

    Args:
        templates: a Templates table of these materials.
        source: the materials.

    Raises:
        UserError: the materials have no split, or it lacks a pair of concepts or has another part.
    """
    where, fix = (
        f"{source.path}, {SPLIT}",
        f"Write it again: worldprobe materials split {source.path} --out {SPLIT}.",
    )
    if SPLIT not in source.names:
        raise UserError(where, "there is no such file.", fix)
    split = read_frame(where, source.read(SPLIT)).fillna("")
    if absent := [column for column in (*PAIR, "part") if column not in split]:
        raise UserError(where, f"has no column {absent[0]}.", fix)
    part = dict(
        zip(zip(*(split[column] for column in PAIR), strict=True), split["part"], strict=True)
    )
    pairs = list(zip(*(templates[column].fillna("") for column in PAIR), strict=True))
    for pair in pairs:
        if part.get(pair) not in PARTS:
            problem = (
                f"does not say of {pair[0]}, {pair[1]}/{pair[2] or '-'} whether it is of train or"
                " test."
            )
            raise UserError(where, problem, fix)
    return pd.Series([part[pair] for pair in pairs], index=templates.index)
