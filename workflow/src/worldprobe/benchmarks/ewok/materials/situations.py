"""Situations: contexts that say nearly the same, whatever fills their slots and whichever side they stand on."""

from __future__ import annotations

import numpy as np
import pandas as pd

from worldprobe.benchmarks.ewok.materials.balance import spelt

#: Two pairs of contexts that share at least this share of their words are of one situation (Jaccard's index).
NEAR = 0.6
_ARTICLES = {"a", "an", "the"}


def number_situations(templates: pd.DataFrame) -> np.ndarray:
    """The number of each template's situation, counted from 0 in row order.

    A pair of contexts is the set of its words: in lower case, without slots, articles and a final s. Pairs with a Jaccard index
    of at least ``NEAR`` are of one situation, and so are chains of such pairs; hence pairs of two situations always share less.

    Args:
        templates: context1 and context2 of each template, slots in braces.

    Returns:
        int64, shape (templates,).
    """
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    pairs = zip(templates["context1"], templates["context2"], strict=True)
    bags = [frozenset(_words(one) | _words(other)) for one, other in pairs]
    place = {bag: number for number, bag in enumerate(dict.fromkeys(bags))}
    column = {word: number for number, word in enumerate(sorted(frozenset[str]().union(*place)))}
    cells = [(row, column[word]) for bag, row in place.items() for word in bag]
    rows, columns = np.array(cells, dtype=np.int64).reshape(-1, 2).T
    words = csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(len(place), max(len(column), 1)))
    shared = (words @ words.T).tocoo()
    size = np.array([len(bag) for bag in place])
    is_near = shared.data >= NEAR * (size[shared.row] + size[shared.col] - shared.data) - 1e-9
    near = csr_matrix((np.ones(is_near.sum()), (shared.row[is_near], shared.col[is_near])), shape=shared.shape)
    situation = connected_components(near, directed=False)[1]
    return pd.factorize(situation[[place[bag] for bag in bags]])[0].astype(np.int64)


def name_situations(templates: pd.DataFrame) -> list[str]:
    """The name of each template's situation: domain and unit of the first template that has it, e.g. ``garden-work_3``.

    Args:
        templates: domain, meta_template, context1 and context2 of each template.
    """
    numbers = number_situations(templates)
    first: dict[int, str] = {}
    for number, domain, unit in zip(numbers.tolist(), templates["domain"], templates["meta_template"], strict=True):
        first.setdefault(number, f"{domain}_{unit}")
    return [first[number] for number in numbers.tolist()]


def _words(text: str) -> set[str]:
    return {word.removesuffix("s") for word in spelt(text) if word not in _ARTICLES}
