"""Marks of templates, from lists in the materials: culture-bound ones, and those where the
relatedness of words misleads.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

import pandas as pd

from worldprobe.benchmarks.ewok.materials.materials import MaterialsFiles
from worldprobe.benchmarks.ewok.materials.slots import KEY
from worldprobe.benchmarks.ewok.vocabulary import TEXTS

#: Words and phrases that not all cultures share, each with its kind: units, money, climate, custom.
CULTURE_BOUND = "utils/culture_bound.csv"
#: The keys of the templates of the adversarial part.
ADVERSARIAL = "utils/adversarial.csv"
INSIDE, OUTSIDE = "inside", "outside"


def add_marks(templates: pd.DataFrame, source: MaterialsFiles) -> pd.DataFrame:
    """The templates with the columns ``culture_bound`` and ``adversarial``, missing where the
    materials have no such list.
    """
    bound = (
        _culture_bound(templates, source)
        if CULTURE_BOUND in source.names
        else [None] * len(templates)
    )
    part = (
        _adversarial(templates, source) if ADVERSARIAL in source.names else [None] * len(templates)
    )
    return templates.assign(
        culture_bound=pd.Series(bound, templates.index, dtype=object),
        adversarial=pd.Series(part, templates.index, dtype=object),
    )


def _culture_bound(templates: pd.DataFrame, source: MaterialsFiles) -> list[str | None]:
    """The kinds of listed words in a template, joined by commas; None: there is none."""
    listed = source.read_list(CULTURE_BOUND, ("kind", "word"))
    words = {
        kind: "|".join(map(re.escape, rows["word"]))
        for kind, rows in listed.groupby("kind", sort=True)
    }
    patterns = {
        kind: re.compile(rf"\b(?:{either})\b", re.IGNORECASE) for kind, either in words.items()
    }
    texts = (
        KEY.sub(" ", " ".join(row))
        for row in zip(*(templates[text] for text in TEXTS), strict=True)
    )
    kinds_by_item = [
        [str(kind) for kind, pattern in patterns.items() if pattern.search(text)] for text in texts
    ]
    return [",".join(kinds) or None for kinds in kinds_by_item]


def _adversarial(templates: pd.DataFrame, source: MaterialsFiles) -> list[str]:
    listed = set(source.read_list(ADVERSARIAL, ("key",))["key"])
    return [INSIDE if key in listed else OUTSIDE for key in digest_templates(templates)]


def digest_templates(templates: pd.DataFrame) -> list[str]:
    """The key of each template."""
    return [template_key(texts) for texts in zip(*(templates[text] for text in TEXTS), strict=True)]


def template_key(texts: Sequence[str]) -> str:
    """A short digest of a template's four texts.

    >>> template_key(("a", "b", "c", "d"))
    '1a84020153d6'
    """
    return hashlib.sha256("\x1f".join(texts).encode()).hexdigest()[:12]
