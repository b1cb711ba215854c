"""Splits of materials into parts that share no situation, no concept and no scale."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from worldprobe.benchmarks.ewok.materials.materials import MaterialsFiles
from worldprobe.commented_csv import read_frame
from worldprobe_authoring.parts import PAIR, PARTS

#: The concepts that are of one scale: columns ``scale`` and ``concept``.
SCALES = "utils/scales.csv"


def split_by_situation(
    templates: pd.DataFrame, scales: Mapping[str, str], seed: int = 0
) -> pd.DataFrame:
    """Assign every pair of concepts to ``train`` or ``test``, about half of each domain's pairs to
    either.

    Pairs that share a situation, a concept or a scale go together; nothing that a template says in
    one part is said in the other.

    Args:
        templates: a Templates table.
        scales: from ``read_scales``.
        seed: of the order in which groups are assigned, those of several domains and large ones
            first.

    Returns:
        domain, concept_a, concept_b (empty where there is none) and part, one row per pair, sorted.
    """
    pairs = templates[[*PAIR, "situation"]].fillna({"concept_b": ""})
    pairs["group"] = _groups(pairs, scales)
    pairs = pairs[[*PAIR, "group"]].drop_duplicates(PAIR).sort_values(PAIR, ignore_index=True)
    sizes: dict[int, Counter[str]] = {}
    names: dict[int, str] = {}
    for group, *pair in zip(
        pairs["group"].tolist(), *(pairs[column].tolist() for column in PAIR), strict=True
    ):
        sizes.setdefault(group, Counter()).update([pair[0]])
        names.setdefault(group, "\0".join(pair))

    def rank(group: int) -> tuple[int, int, str]:
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
    for group in sorted(sizes, key=rank):
        lean = sum(surplus[domain] * count for domain, count in sizes[group].items())
        is_test = lean < 0 or (lean == 0 and int(rank(group)[2], 16) % 2 == 1)
        part[group] = PARTS[is_test]
        surplus.update(
            {domain: count if is_test else -count for domain, count in sizes[group].items()}
        )
    return pairs.assign(part=pairs["group"].map(part))[[*PAIR, "part"]]


def read_scales(source: MaterialsFiles) -> dict[str, str]:
    """The scale of each concept that materials list: what several pairs of concepts name in other
    words ("flexible", "more flexible than").
    """
    if SCALES not in source.names:
        return {}
    listed = read_frame(SCALES, source.read(SCALES))
    return dict(zip(listed["concept"], listed["scale"], strict=True))


def _groups(pairs: pd.DataFrame, scales: Mapping[str, str]) -> np.ndarray:
    """The group of each row: rows that share a situation, a concept in a domain or a scale are of
    one group.
    """
    columns = (pairs[column] for column in (*PAIR, "situation"))
    shared = [
        [
            f"situation {situation}",
            *(f"concept {domain} {name}" for name in (a, b) if name),
            *(f"scale {scales[name]}" for name in (a, b) if name in scales),
        ]
        for domain, a, b, situation in zip(*columns, strict=True)
    ]
    nodes = pd.Series(shared).explode()
    codes = pd.factorize(nodes)[0] + len(pairs)
    size = int(codes.max()) + 1
    edges = coo_matrix((np.ones(len(codes)), (nodes.index, codes)), shape=(size, size))
    return np.asarray(connected_components(edges, directed=False)[1][: len(pairs)])


def folds(
    templates: pd.DataFrame, scales: Mapping[str, str], count: int, seed: int = 0
) -> np.ndarray:
    """The part of each template, from 0, of about equally large parts that share no situation, no
    concept and no scale.

    Args:
        templates: a Templates table.
        scales: from ``read_scales``.
        count: number of parts.
        seed: of the order of what is equally large.
    """
    rng = np.random.default_rng(seed)
    group = pd.Series(_groups(templates[[*PAIR, "situation"]].fillna({"concept_b": ""}), scales))
    sizes = group.value_counts()
    part, filled = {}, np.zeros(count, int)
    for unit in sorted(
        sizes.index, key=lambda unit: (-sizes[unit], rng.random())
    ):  # each into the part that has the fewest
        part[unit] = int(filled.argmin())
        filled[part[unit]] += sizes[unit]
    return group.map(part).to_numpy()


def split_text(split: pd.DataFrame, canary: str | None) -> str:
    """The file ``utils/split.csv``, below the materials' canary.

    Args:
        split: from ``split_by_situation``.
        canary: lines of the materials' canary.
    """
    return (f"{canary}\n" if canary else "") + split.to_csv(index=False, lineterminator="\n")
