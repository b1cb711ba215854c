"""Who took part, as counts in which nobody can be recognised."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np
import pandas as pd

#: An answer that fewer people gave is not shown by itself.
FEWEST = 5
MERGED = "other answers"
UNKNOWN = "not said"
_AGES = (18, 30, 40, 50, 60, 121)


def count_people(participants: Iterable[str], demographics: pd.DataFrame | None) -> pd.DataFrame:
    """Counts of each answer (contracts.PeopleCounts): every attribute's add up to the number of people.

    Answers that differ in case or blanks alone are one, in the spelling that most people use: country and language are typed.
    Answers that fewer than five people gave are merged; if all merged together are still fewer than five, the next smallest
    count joins them, because otherwise it could be found by subtraction.

    Args:
        participants: keys of the people to count.
        demographics: contracts.Demographics; who is not in it said nothing, as if nobody had been asked (None).
    """
    columns = ["age", "gender", "country", "first_language"]
    known = pd.DataFrame(columns=["participant", *columns]) if demographics is None else demographics
    demographics = known.set_index("participant").reindex(pd.Index(list(participants)))[columns]
    parts = []
    for attribute in columns:
        column = demographics[attribute]
        labels = _band(column) if attribute == "age" else column.astype("string").str.split().str.join(" ")
        merged = merge_small(_count_spellings(labels.fillna(UNKNOWN).replace("", UNKNOWN)))
        parts += [{"attribute": attribute, "answer": answer, "n": n} for answer, n in merged.items()]
    return pd.DataFrame(parts, columns=["attribute", "answer", "n"]).astype({"n": "int64"})


def merge_small(counts: dict[str, int]) -> dict[str, int]:
    """Counts in which no answer has fewer than five people, unless there are fewer than five in all.

    >>> merge_small({"a": 20, "b": 7, "c": 2, "d": 1})
    {'a': 20, 'other answers': 10}
    """
    rest = dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))
    merged = rest.pop(MERGED, 0) + sum(n for n in rest.values() if n < FEWEST)
    rest = {answer: n for answer, n in rest.items() if n >= FEWEST}
    while 0 < merged < FEWEST and rest:
        merged += rest.pop(next(reversed(rest)))
    return rest | ({MERGED: merged} if merged else {})


def _count_spellings(labels: pd.Series) -> dict[str, int]:
    counts: dict[str, int] = {}
    shown: dict[str, str] = {folded: folded for folded in (UNKNOWN, MERGED)}
    spellings = labels.value_counts()
    for answer, n in sorted(spellings.items(), key=lambda pair: (-pair[1], str(pair[0]))):
        name = shown.setdefault(str(answer).casefold(), str(answer))
        counts[name] = counts.get(name, 0) + int(n)
    return counts


def _band(ages: pd.Series) -> pd.Series:
    """Ages in bands: 18-29, 30-39, ..., 60 and over."""
    names = [f"{low}-{high - 1}" if high < 100 else f"{low} and over" for low, high in itertools.pairwise(_AGES)]
    places = np.digitize(pd.to_numeric(ages).fillna(0).astype(float), _AGES) - 1
    return pd.Series([names[p] if 0 <= p < len(names) else None for p in places], index=ages.index, dtype="string")
