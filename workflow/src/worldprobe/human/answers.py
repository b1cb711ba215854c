"""Answers joined with the key: which sub-item was meant, and what the answer says about it."""

from __future__ import annotations

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
