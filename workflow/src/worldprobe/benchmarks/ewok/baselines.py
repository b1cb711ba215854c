"""Baselines without a language model: how related are a target and a context, by the cosine of a
vector of each?

The vectors are sums of word vectors (``word2vec``), extended glosses of WordNet (``wordnet``), or
those of a sentence encoder. ``relatedness`` is the mean of the last two.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from worldprobe.benchmarks.ewok import frequency
from worldprobe.benchmarks.ewok.contracts import Similarities
from worldprobe.contracts import read_table
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
    index: dict[str, int] = {}
    rows = []
    for row in items.itertuples():
        skipped = frequency.fillers_of(str(row.fillers), skip)
        for target, context in PAIRS:
            texts = (getattr(row, f"target{target}"), getattr(row, f"context{context}"))
            numbers = (
                index.setdefault(frequency.without_phrases(text, skipped), len(index))
                for text in texts
            )
            rows.append((row.item_id, target, context, *numbers))
    table = pd.DataFrame(rows, columns=["item_id", "target", "context", "one", "other"])
    vectors = sparse.csr_array(encode(list(index)), dtype=np.float64)
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


def read_cosines(path: Path, items: pd.DataFrame) -> pd.DataFrame:
    """One kind of cosines, of all targets and contexts of the items, sorted by these.

    Args:
        path: Similarities table.
        items: an Items table.

    Raises:
        UserError: it is not such a table; it is of other items, or lacks some; or no target has two
            cosines that differ, so that the kind has no weight in a mean.
    """
    table = read_table(path, Similarities).sort_values(
        ["item_id", "target", "context"], ignore_index=True
    )
    strangers = table.loc[~table["item_id"].isin(items["item_id"]), "item_id"]
    if len(strangers):
        problem = f"has cosines of {strangers.iloc[0]}, which is not among the items."
        raise UserError(path, problem, "Give cosines of these items.")
    n_cosines = len(PAIRS) * len(items)
    if len(table) < n_cosines:
        raise UserError(
            path,
            f"lacks {n_cosines - len(table)} of the {n_cosines} cosines of these items.",
            "Write the table again, of the same items (--similarities-out).",
        )
    differences = _differences(table)
    if not (np.abs(differences) > 0).any():
        same = "is the same for both contexts of every target that has two"
        what = "knows no item: no target has two cosines" if np.isnan(differences).all() else same
        raise UserError(path, f"{what}.", "Leave the table out.")
    return table


def _differences(table: pd.DataFrame) -> np.ndarray:
    """Of each target's two cosines, in the order of the table."""
    cosines = table["similarity"].to_numpy(float).reshape(-1, 2)
    return np.asarray(cosines[:, 0] - cosines[:, 1])


def weighted_mean(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Means of several kinds of cosines, which count alike: each is weighted by one over the
    root mean square of the difference between a target's two cosines, a composite with unit weights
    (Dawes 1979, American Psychologist 34: 571).

    Args:
        tables: as ``read_cosines`` reads them, of the same items.

    Returns:
        a Similarities table; a target that lacks a cosine of one kind goes by the others, and has
        none where it lacks all.
    """
    cosines = np.stack([table["similarity"].to_numpy(float).reshape(-1, 2) for table in tables])
    differences = np.stack([_differences(table) for table in tables])
    is_missing = np.isnan(differences)
    spread = np.sqrt(np.nanmean(differences**2, axis=1))
    weights = (1 / spread) / (1 / spread).sum()
    mean = np.tensordot(weights, np.where(is_missing[:, :, None], 0, cosines), 1)
    mean[is_missing.all(axis=0)] = np.nan
    return tables[0].assign(similarity=mean.ravel())
