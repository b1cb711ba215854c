"""The materials' own split into two halves that share no situation, no pair of concepts and no
concept.
"""

from __future__ import annotations

import pandas as pd

from worldprobe.benchmarks.ewok.materials.materials import MaterialsFiles
from worldprobe.commented_csv import read_frame
from worldprobe.errors import UserError

#: Where materials have their split.
SPLIT = "utils/split.csv"
PARTS = ("train", "test")
PAIR = ["domain", "concept_a", "concept_b"]


def split_of_templates(templates: pd.DataFrame, source: MaterialsFiles) -> pd.Series:
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
