"""What was answered, without who answered: the three tables of an export, and the list of whom to pay."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import pandas as pd

from worldprobe.survey import people
from worldprobe.survey.store import Database, count_tally


def export_ratings(connection: sqlite3.Connection) -> pd.DataFrame:
    """Rows of contracts.RawRatings: every trial that was shown, practice left out."""
    query = (
        "SELECT sessions.participant, sessions.session AS key, trials.list, trials.position, trials.number, list_trials.question,"
        " trials.kind, lists.eval_type, trials.answer, trials.rt_ms, trials.shown_at, trials.answered_at, trials.is_resumed,"
        " trials.n_blurs, (SELECT count(*) FROM list_trials AS examples WHERE examples.list = trials.list"
        " AND examples.kind = 'practice') AS n_practice"
        " FROM trials JOIN sessions USING (session) JOIN list_trials USING (list, number) JOIN lists USING (list)"
        " WHERE trials.shown_at IS NOT NULL AND trials.kind != 'practice' AND sessions.status != 'ineligible'"
    )
    frame, numbers, digest = _read(connection, query)
    return pd.DataFrame(
        {
            "participant": frame["participant"].astype("str"),
            "session": frame["key"].map(numbers).astype("int64"),
            "list": frame["list"].astype("str"),
            "position": (frame["number"] - frame["n_practice"] + 1).astype("int64"),
            "presented": (frame["position"] - frame["n_practice"]).astype("int64"),
            "question": frame["question"].astype("str"),
            "kind": frame["kind"].astype("str"),
            "eval_type": frame["eval_type"].astype("str"),
            "response": _texts(None if pd.isna(answer) else str(int(answer)) for answer in frame["answer"]),
            "rt_ms": frame["rt_ms"].astype("float64"),
            "shown_at": _times(frame["shown_at"]),
            "answered_at": _times(frame["answered_at"]),
            "is_resumed": frame["is_resumed"].astype("bool"),
            "n_blurs": frame["n_blurs"].fillna(0).astype("int64"),
            "lists_digest": digest,
        }
    )


def export_participants(connection: sqlite3.Connection, before: int) -> pd.DataFrame:
    """Rows of contracts.Participants: every session with its end.

    Args:
        connection: to the answers; all tables of an export are read in one transaction.
        before: reservations untouched since then have expired, in milliseconds since 1970.
    """
    query = (
        "SELECT participant, session AS key, list, eval_type, status, is_late, started_at, finished_at, touched_at"
        " FROM sessions JOIN lists USING (list) WHERE status != 'ineligible'"
    )
    frame, numbers, digest = _read(connection, query)
    status = frame["status"].where((frame["status"] != "active") | (frame["touched_at"] >= before), "expired")
    return pd.DataFrame(
        {
            "participant": frame["participant"].astype("str"),
            "session": frame["key"].map(numbers).astype("int64"),
            "list": frame["list"].astype("str"),
            "eval_type": frame["eval_type"].astype("str"),
            "status": status.replace({"active": "partial"}).astype("str"),
            "is_late": frame["is_late"].astype("bool") & (frame["status"] == "complete"),
            "started_at": _times(frame["started_at"]),
            "finished_at": _times(frame["finished_at"]),
            "lists_digest": digest,
        }
    )


def export_demographics(connection: sqlite3.Connection) -> pd.DataFrame:
    """Rows of contracts.Demographics: what people said about themselves; where they said it twice, the last."""
    query = (
        "SELECT participant, session AS key, started_at, question, answer FROM sessions LEFT JOIN demographics USING (session)"
        " WHERE asked_at IS NOT NULL AND status != 'ineligible' ORDER BY started_at, session"
    )
    frame, _, _ = _read(connection, query)
    last = frame.drop_duplicates(["participant", "question"], keep="last")
    people = sorted(frame["participant"].unique())

    def said(question: str) -> list[str | None]:
        rows = last[last["question"] == question]
        known = dict(zip(rows["participant"], rows["answer"], strict=True))
        return [known.get(person) for person in people]

    return pd.DataFrame(
        {
            "participant": pd.Series(people, dtype="str"),
            "age": pd.Series([float(age) if age else float("nan") for age in said("age")], dtype="float64"),
            "gender": _texts(said("gender")),
            "country": _texts(said("country")),
            "first_language": _texts(said("language")),
        }
    )


def list_identities(answers: Database, identities: Database) -> list[dict[str, Any]]:
    """Whom to pay: one row per submission, with the code that was given, minutes taken and catch trials failed.

    A catch trial failed is a fact for the reader: what follows from it is decided by people, by the platform's rules.
    """
    with identities.read() as connection:
        people = connection.execute(
            "SELECT pid, study, submission, participant, code, outcome FROM submissions JOIN people USING (participant)"
            " ORDER BY pid, submission"
        ).fetchall()
    with answers.read() as connection:
        sessions = {row["participant"]: row for row in connection.execute(_OUTCOMES)}
    rows = []
    for person in people:
        row = sessions.get(person["participant"])
        rows.append(
            dict(person)
            | {
                "status": row["status"] if row else "no session",
                "is_late": bool(row["is_late"]) if row else False,
                "minutes": round((row["finished_at"] - row["started_at"]) / 60_000, 1) if row and row["finished_at"] else None,
                "n_answers": row["n_answers"] if row else 0,
                "n_catch": row["n_catch"] if row else 0,
                "n_catch_failed": row["n_failed"] if row else 0,
            }
        )
    return rows


#: The latest session of each person. The name of a catch trial's question ends in the answer that it asks for.
_OUTCOMES = """
SELECT participant, status, is_late, started_at, finished_at, max(started_at),
    (SELECT count(answer) FROM trials WHERE trials.session = sessions.session AND kind = 'test') AS n_answers,
    (SELECT count(answer) FROM trials WHERE trials.session = sessions.session AND kind = 'catch') AS n_catch,
    (SELECT count(*) FROM trials JOIN list_trials USING (list, number) WHERE trials.session = sessions.session
        AND trials.kind = 'catch' AND answer IS NOT NULL AND question NOT LIKE '%-' || answer) AS n_failed
FROM sessions GROUP BY participant
"""


def _read(connection: sqlite3.Connection, query: str) -> tuple[pd.DataFrame, Mapping[str, int], str]:
    """The rows, the number of each session among its person's, and the digest of the lists."""
    frame = _frame(connection, query)
    started = _frame(connection, "SELECT participant, session FROM sessions ORDER BY participant, started_at, session")
    digest = connection.execute("SELECT value FROM facts WHERE name = 'lists_digest'").fetchone()[0]
    numbers = dict(zip(started["session"], started.groupby("participant").cumcount() + 1, strict=True))
    return frame, numbers, str(digest)


def _frame(connection: sqlite3.Connection, query: str) -> pd.DataFrame:
    cursor = connection.execute(query)
    return pd.DataFrame([tuple(row) for row in cursor.fetchall()], columns=[column[0] for column in cursor.description])


def _texts(values: Iterable[str | None]) -> pd.Series[str]:
    return pd.Series(list(values), dtype="str")


def _times(values: pd.Series[Any]) -> pd.Series[str]:
    def write(milliseconds: float) -> str | None:
        if pd.isna(milliseconds):
            return None
        moment = datetime.fromtimestamp(int(milliseconds) // 1000, UTC)
        return f"{moment:%Y-%m-%dT%H:%M:%S}.{int(milliseconds) % 1000:03d}Z"

    return _texts(write(value) for value in values)


DAY_MS = 24 * 3600 * 1000


def find_person(identities: Database, name: str) -> str | None:
    """The random key of a person, named by the recruiter's id or by the key itself."""
    with identities.read() as connection:
        row = connection.execute("SELECT participant FROM people WHERE pid = ? OR participant = ?", (name, name)).fetchone()
    return row["participant"] if row else None


def withdraw(answers: Database, identities: Database, participant: str) -> bool:
    """Delete a person's answers, demographics and identity; their list is free again, and a dated count remains.

    Answers go first: after a fault between the two, the same call finishes the work.

    Returns:
        Whether there was anything to delete.

    Raises:
        UnavailableError: not everything was deleted; call again.
    """
    with answers.write() as connection:
        n = connection.execute("DELETE FROM sessions WHERE participant = ?", (participant,)).rowcount
        if n:
            count_tally(connection, "withdrawn", answers.now())
    was_known = people.forget(identities, participant)
    answers.forget_deleted(is_vacuumed=False)
    identities.forget_deleted(is_vacuumed=True)
    return bool(n) or was_known


def purge(identities: Database, days: int) -> int:
    """Delete the identities of people who consented longer ago than this; their answers stay, under keys that nothing leads to.

    Returns:
        How many.

    Raises:
        UnavailableError: nothing was deleted, or not yet from the file; call again.
    """
    before = identities.now() - days * DAY_MS
    with identities.write() as connection:
        n = connection.execute("DELETE FROM people WHERE consented_at < ?", (before,)).rowcount
    identities.forget_deleted(is_vacuumed=True)
    return n
