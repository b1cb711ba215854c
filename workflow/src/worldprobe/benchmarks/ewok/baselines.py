"""Baselines without a language model: how related are a target and a context, by the cosine of a
vector of each?

The vectors are sums of word vectors (``word2vec``), extended glosses of WordNet (``wordnet``), or
those of a sentence encoder.
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
