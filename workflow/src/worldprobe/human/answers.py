"""Answers joined with the key: which sub-item was meant, and what the answer says about it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np
import pandas as pd

from worldprobe.errors import UserError
from worldprobe.human.contracts import ANSWERS


def check_export(raw: pd.DataFrame, participants: pd.DataFrame, key: pd.DataFrame, lists_digest: str) -> None:
    """Refuse an export that is not of these lists, or that is at odds with itself.

    Args:
        raw: contracts.RawRatings.
        participants: contracts.Participants.
        key: contracts.ListKeys.
        lists_digest: of the lists that the key belongs to.

    Raises:
        UserError: saying what does not fit.
    """
    for name, table in (("raw_ratings", raw), ("participants", participants)):
        strange = sorted(set(table["lists_digest"]) - {lists_digest})
        if strange:
            n_people = table.loc[table["lists_digest"] != lists_digest, "participant"].nunique()
            raise UserError(
                name,
                f"{n_people} people answered other lists (digest {strange[0][:12]}...) than the key's ({lists_digest[:12]}...).",
                "Give the answer key that was made with the lists that the survey showed.",
            )
    known = set(key["question"])
    unknown = raw.loc[~raw["question"].isin(known), "question"]
    if len(unknown):
        raise UserError("raw_ratings", f"the key does not have the question {unknown.iloc[0]}.", "Give the key of these lists.")
    sessions = ["participant", "session"]
    facts = [*sessions, "list", "eval_type"]
    lost = raw[facts].drop_duplicates().merge(participants[facts], how="left_anti", on=facts)
    if len(lost):
        who = lost.iloc[0]
        problem = f"{len(lost)} sessions with answers are not in participants (the first: {who['participant']}, {who['list']})."
        raise UserError("participants", problem, "Export both tables at once, and change neither.")


def read_answers(raw: pd.DataFrame, key: pd.DataFrame) -> pd.DataFrame:
    """The answers with what they mean, in an order of rows that does not depend on the export's.

    Args:
        raw: contracts.RawRatings, of questions that the key has.
        key: contracts.ListKeys.

    Returns:
        The columns of ``raw``, and: ``answer``, the number given (missing where it is not an answer to the question);
        ``expected``, the number that the design expects; ``cell``, the sub-item (``name_cells``); ``unit``; ``value``, the
        answer as it is compared between people: Likert the rating, Choice the context that was chosen (1 or 2, as the item has
        them, not as they were shown).
    """
    cells = name_cells(key).drop_duplicates("question").set_index("question")
    answers = raw.sort_values(["participant", "session", "presented", "position"]).reset_index(drop=True)
    text = answers["response"].astype("string").str.strip()
    given = {(way, str(number)): number for way, allowed in ANSWERS.items() for number in allowed}
    answers["answer"] = [given.get(pair, float("nan")) for pair in zip(answers["eval_type"], text.fillna(""), strict=True)]
    for column in ("expected", "context", "cell", "unit"):
        answers[column] = answers["question"].map(cells[column])
    is_choice = (answers["eval_type"] == "choice") & (answers["kind"] == "test")
    chosen = answers["context"].where(answers["answer"] == 1, 3 - answers["context"]).where(answers["answer"].notna())
    answers["value"] = answers["answer"].mask(is_choice, chosen)
    return answers.drop(columns="context")


def name_cells(key: pd.DataFrame) -> pd.DataFrame:
    """The key in order, with the sub-item of each row: what is counted together, and compared between people.

    Likert: the question. Choice: the target and its two contexts in either order, named after the first item that has them, so
    that the answers to both orders are about the contexts of one item.
    """
    ordered = key.sort_values(["question", "item_id", "target", "context"]).reset_index(drop=True)
    is_choice = (ordered["eval_type"] == "choice") & (ordered["kind"] == "test")
    first = ordered.drop_duplicates("question").set_index("question")
    names = first["item_id"] + "_t" + first["target"].astype(str)
    ordered["cell"] = ordered["question"].where(~is_choice, ordered["question"].map(names))
    return ordered


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
