"""Baselines without a language model: how related are a target and a context, by the cosine of a
vector of each?

The vectors are sums of word vectors (``word2vec``), extended glosses of WordNet (``wordnet``), or
those of a sentence encoder. ``relatedness`` is the mean of the last two.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from worldprobe.benchmarks.ewok import frequency
from worldprobe.errors import UserError

PAIRS = ((1, 1), (1, 2), (2, 1), (2, 2))
#: Texts -> a row each, dense or sparse; one of zeros where nothing of a text is known.
Encoder = Callable[[Sequence[str]], Any]


def similarities(items: pd.DataFrame, encode: Encoder, skip: Collection[str] = ()) -> pd.DataFrame:
    """Cosines of each item's targets with its contexts.

    Args:
        items: an Items table.
        encode: makes vectors of distinct texts, shape (texts, dimensions).
        skip: filler classes whose words do not count.

    Raises:
        UserError: no target and context have a vector each.

    Returns:
        a Similarities table; a text without a vector has no cosine.
    """
    place: dict[str, int] = {}
    rows = []
    for row in items.itertuples():
        skipped = frequency.fillers_of(str(row.fillers), skip)
        for target, context in PAIRS:
            texts = (getattr(row, f"target{target}"), getattr(row, f"context{context}"))
            places = (
                place.setdefault(frequency.without_phrases(text, skipped), len(place))
                for text in texts
            )
            rows.append((row.item_id, target, context, *places))
    table = pd.DataFrame(rows, columns=["item_id", "target", "context", "one", "other"])
    vectors = sparse.csr_array(encode(list(place)), dtype=np.float64)
    lengths = np.sqrt((vectors * vectors).sum(axis=1))
    one, other = table.pop("one").to_numpy(), table.pop("other").to_numpy()
    with np.errstate(invalid="ignore"):
        table["similarity"] = (vectors[one] * vectors[other]).sum(axis=1) / (
            lengths[one] * lengths[other]
        )
    if table["similarity"].isna().all():
        problem = "no target can be compared with a context: the items' words have no vectors."
        raise UserError("items", problem, "Give vectors of the items' language.")
    return table


def weighted_mean(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Means of several kinds of cosines, which count alike: each is weighted by one over the
    root mean square of the difference between a target's two cosines, a composite with unit weights
    (Dawes 1979, American Psychologist 34: 571).

    Args:
        tables: as ``similarities`` gives them, of the same items.

    Raises:
        UserError: the tables are of different items, or one kind knows no difference, so that it
            has no weight.

    Returns:
        a Similarities table; a target that lacks a cosine of one kind goes by the others, and has
        none where it lacks all.
    """
    key = ["item_id", "target", "context"]
    tables = [table.sort_values(key, ignore_index=True) for table in tables]
    if not all(table[key].equals(tables[0][key]) for table in tables):
        raise UserError(
            "--source", "the cosines are of different items.", "Give those of one table."
        )
    cosines = np.stack([table["similarity"].to_numpy(float).reshape(-1, 2) for table in tables])
    differences = cosines[:, :, 0] - cosines[:, :, 1]
    is_missing = np.isnan(differences)
    spread = np.sqrt(np.nanmean(differences**2, axis=1))
    if not (spread > 0).all():
        problem = "a kind of cosine is the same for both contexts of every target."
        raise UserError("--source", problem, "Leave it out.")
    weights = (1 / spread) / (1 / spread).sum()
    mean = np.tensordot(weights, np.where(is_missing[:, :, None], 0, cosines), 1)
    mean[is_missing.all(axis=0)] = np.nan
    return tables[0].assign(similarity=mean.ravel())
