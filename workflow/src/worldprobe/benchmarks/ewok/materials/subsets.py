"""Subsets of templates and items: a share or a sample of templates, items by their slots."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

import numpy as np
import pandas as pd

from worldprobe.analysis.sampling import stratified
from worldprobe.errors import UserError

#: Columns that name a pair of concepts.
PAIR = ["domain", "concept_a", "concept_b"]


def in_share(table: pd.DataFrame, limit: int) -> np.ndarray:
    """Mask of the rows of a share of the templates, spread evenly over domains, and in these over
    pairs of concepts.

    It is the same in every version, a smaller share is part of a larger one, and which of a pair's
    templates it has is decided by a digest of their places, so by nothing that a model or an author
    could know.

    Args:
        table: templates or items.
        limit: number of templates.

    Returns:
        A mask of the rows, shape (n,).
    """
    key = ["domain", "meta_template", "template"]
    templates = table[[*key, "concept_a", "concept_b"]].drop_duplicates(key).fillna("")
    digests = [
        hashlib.sha256("/".join(map(str, row)).encode()).hexdigest()
        for row in templates[key].to_numpy()
    ]
    templates = templates.assign(digest=digests).sort_values("digest")
    templates["round"] = templates.groupby(["domain", "concept_a", "concept_b"]).cumcount()
    templates = templates.sort_values(["round", "digest"])
    templates["turn"] = templates.groupby("domain").cumcount()
    chosen = templates.sort_values(["turn", "domain"])[key].head(limit)
    return pd.MultiIndex.from_frame(table[key]).isin(pd.MultiIndex.from_frame(chosen))


def in_sample(table: pd.DataFrame, size: int) -> np.ndarray:
    """Mask of a sample of templates that stands for all, shape (n,). Every pair of concepts has at
    least one, unless there are more pairs than templates in the sample; see ``stratified``.

    Args:
        table: templates.
        size: number of templates.
    """
    pairs = table[PAIR].fillna("").itertuples(index=False)
    templates = table[["domain", "meta_template", "template"]].itertuples(index=False)
    keys = ["/".join(map(str, row)) for row in templates]
    return stratified(list(map(tuple, pairs)), keys, size, of_each=False)


def filter_tags(items: pd.DataFrame, pattern: str) -> pd.DataFrame:
    """The items in whose tags (their slot keys, joined by commas) a regular expression is found.

    Raises:
        UserError: the pattern is broken, or nothing is left.
    """
    tagged = items[items["tags"].isin(matching_tags(items["tags"], pattern)).to_numpy(bool)]
    if tagged.empty:
        raise UserError(
            f"--filter {pattern}",
            "no item is left.",
            'It is searched for in the slots, e.g. "agent1:sex=male,object1".',
        )
    return tagged


def matching_tags(tags: Iterable[str], pattern: str) -> set[str]:
    """Those of some tags in which a regular expression is found.

    Raises:
        UserError: the pattern is broken.
    """
    try:
        expression = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise UserError(
            f"--filter {pattern}", f"is not a valid regular expression ({error}).", "Correct it."
        ) from error
    return {text for text in set(tags) if expression.search(text) is not None}
