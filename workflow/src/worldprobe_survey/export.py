"""Answers without the people who gave them: the three tables of an export, and the list of whom to
pay.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pandas as pd

from worldprobe_survey.identities import PREVIEW, forget_participant
from worldprobe_survey.store import DAY_MS, Database, count_tally
from worldprobe_survey.study import read_fact


def export_ratings(connection: sqlite3.Connection) -> pd.DataFrame:
    """Rows of contracts.RawRatings: every trial that was shown, practice left out."""
    query = (
        "SELECT sessions.participant, sessions.session AS key, trials.list, trials.position,"
        " trials.number, list_trials.question, trials.kind, lists.eval_type, trials.answer,"
        " trials.rt_ms, trials.is_resumed, trials.n_blurs, (SELECT count(*) FROM list_trials AS"
        " examples WHERE examples.list = trials.list AND examples.kind = 'practice') AS n_practice"
        " FROM trials JOIN real_sessions AS sessions USING (session) JOIN list_trials USING (list,"
        " number) JOIN lists USING (list) WHERE trials.shown_at IS NOT NULL AND trials.kind !="
        " 'practice' AND sessions.status != 'ineligible'"
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
            "response": _texts(
                None if pd.isna(answer) else str(int(answer)) for answer in frame["answer"]
            ),
            "rt_ms": frame["rt_ms"].astype("float64"),
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
        "SELECT participant, session AS key, list, eval_type, status, is_late, started_at,"
        " finished_at, touched_at, n_tries, design FROM real_sessions AS sessions JOIN lists USING"
        " (list) WHERE status != 'ineligible'"
    )
    frame, numbers, digest = _read(connection, query)
    status = frame["status"].where(
        (frame["status"] != "active") | (frame["touched_at"] >= before), "expired"
    )
    return pd.DataFrame(
        {
            "participant": frame["participant"].astype("str"),
            "session": frame["key"].map(numbers).astype("int64"),
            "list": frame["list"].astype("str"),
            "eval_type": frame["eval_type"].astype("str"),
            "status": status.replace({"active": "partial"}).astype("str"),
            "is_late": frame["is_late"].astype("bool") & (frame["status"] == "complete"),
            "day": _texts(_day(value) for value in frame["started_at"]),
            "minutes": (
                ((frame["finished_at"].astype("float64") - frame["started_at"]) / 60_000).round()
            ),
            "n_tries": frame["n_tries"].astype("int64"),
            "design": frame["design"].astype("str"),
            "lists_digest": digest,
        }
    )


def export_demographics(connection: sqlite3.Connection) -> pd.DataFrame:
    """Rows of contracts.Demographics: what people said about themselves; where they said it twice,
    the last.
    """
    query = (
        "SELECT participant, session AS key, started_at, question, answer"
        " FROM real_sessions AS sessions LEFT JOIN demographics USING (session)"
        " WHERE asked_at IS NOT NULL AND status != 'ineligible' ORDER BY started_at, session"
    )
    frame, _, _ = _read(connection, query)
    last = frame.drop_duplicates(["participant", "question"], keep="last")
    people = sorted(frame["participant"].unique())

    def said(question: str) -> list[str | None]:
        rows = last[last["question"] == question]
        answers = dict(zip(rows["participant"], rows["answer"], strict=True))
        return [answers.get(person) for person in people]

    return pd.DataFrame(
        {
            "participant": pd.Series(people, dtype="str"),
            "age": pd.Series(
                [float(age) if age else float("nan") for age in said("age")], dtype="float64"
            ),
            "gender": _texts(said("gender")),
            "country": _texts(said("country")),
            "first_language": _texts(said("language")),
        }
    )


def export_designs(connection: sqlite3.Connection) -> dict[str, Any]:
    """The designs under which people answered, by digest: settings, words and consent."""
    rows = connection.execute(
        "SELECT design, first_at, content FROM designs WHERE design IN (SELECT design FROM"
        " real_sessions) ORDER BY first_at"
    )
    return {
        row["design"]: {"from": _day(row["first_at"]), **json.loads(row["content"])} for row in rows
    }


def list_identities(answers: Database, identities: Database) -> list[dict[str, Any]]:
    """Whom to pay: one row per submission, with the code that was given, minutes taken and catch
    trials failed.

    A catch trial failed is a fact for the reader: what follows from it is decided by people, by the
    platform's rules. Who withdrew after finishing has a row, without anything else about them.
    """
    with identities.read() as connection:
        people = connection.execute(
            "SELECT pid, study, submission, session, code, outcome FROM submissions JOIN people"
            " USING (participant) WHERE study != ? ORDER BY pid, submission",
            (PREVIEW,),
        ).fetchall()
        owed = connection.execute(
            "SELECT submission, study, code FROM owed ORDER BY submission"
        ).fetchall()
    with answers.read() as connection:
        sessions = {row["session"]: row for row in connection.execute(_OUTCOMES)}
    rows: list[dict[str, Any]] = []
    for person in people:
        row = sessions.get(person["session"])
        columns = dict(person)
        del columns["session"]
        rows.append(
            columns
            | {
                "status": row["status"] if row else "no session",
                "is_late": bool(row["is_late"]) if row else False,
                "minutes": (
                    round((row["finished_at"] - row["started_at"]) / 60_000, 1)
                    if row and row["finished_at"]
                    else None
                ),
                "n_answers": row["n_answers"] if row else 0,
                "n_catch": row["n_catch"] if row else 0,
                "n_catch_failed": row["n_failed"] if row else 0,
                "comment": row["comment"] if row else None,
            }
        )
    return rows + [
        dict.fromkeys(IDENTITY_COLUMNS) | dict(row) | {"status": "withdrawn"} for row in owed
    ]


IDENTITY_COLUMNS: tuple[str, ...] = (
    "pid",
    "study",
    "submission",
    "code",
    "outcome",
    "status",
    "is_late",
    "minutes",
)
IDENTITY_COLUMNS += ("n_answers", "n_catch", "n_catch_failed", "comment")
#: The name of a catch trial's question ends in the answer that it asks for.
_OUTCOMES = """
SELECT session, status, is_late, started_at, finished_at, comment,
    (SELECT count(answer) FROM trials
        WHERE trials.session = sessions.session AND kind = 'test') AS n_answers,
    (SELECT count(answer) FROM trials
        WHERE trials.session = sessions.session AND kind = 'catch') AS n_catch,
    (SELECT count(*) FROM trials JOIN list_trials USING (list, number)
        WHERE trials.session = sessions.session AND trials.kind = 'catch'
        AND answer IS NOT NULL AND question NOT LIKE '%-' || answer) AS n_failed
FROM sessions
"""


def copy_person(answers: Database, identities: Database, participant: str) -> dict[str, Any]:
    """All that is stored about one person, as they may ask for it: table -> rows."""
    with answers.read() as connection:
        condition = (
            "SELECT * FROM {} WHERE session IN (SELECT session FROM sessions WHERE participant = ?)"
        )
        queries = {
            name: condition.format(name)
            for name in ("sessions", "demographics", "trials", "events")
        }
        rows = {name: _rows(connection, query, participant) for name, query in queries.items()}
    with identities.read() as connection:
        for name in ("people", "submissions"):
            rows[name] = _rows(
                connection, f"SELECT * FROM {name} WHERE participant = ?", participant
            )
    return rows


def _rows(connection: sqlite3.Connection, query: str, participant: str) -> list[dict[str, Any]]:
    return [dict(row) for row in connection.execute(query, (participant,))]


def _read(
    connection: sqlite3.Connection, query: str
) -> tuple[pd.DataFrame, Mapping[str, int], str]:
    """The rows, the number of each session among its person's, and the digest of the lists."""
    frame = _frame(connection, query)
    started = _frame(
        connection,
        "SELECT participant, session FROM real_sessions ORDER BY participant, started_at, session",
    )
    digest = connection.execute("SELECT value FROM facts WHERE name = 'lists_digest'").fetchone()[0]
    numbers = dict(
        zip(started["session"], started.groupby("participant").cumcount() + 1, strict=True)
    )
    return frame, numbers, str(digest)


def _frame(connection: sqlite3.Connection, query: str) -> pd.DataFrame:
    cursor = connection.execute(query)
    return pd.DataFrame(
        [tuple(row) for row in cursor.fetchall()],
        columns=[column[0] for column in cursor.description],
    )


def _texts(values: Iterable[str | None]) -> pd.Series[str]:
    return pd.Series(list(values), dtype="str")


def _day(milliseconds: int) -> str:
    """The day alone: the recruiter keeps the times of each person, so that times in an export would
    lead back to them.
    """
    return datetime.fromtimestamp(milliseconds / 1000, UTC).date().isoformat()


def find_person(identities: Database, name: str) -> str | None:
    """The random key of a person, named by the recruiter's id or by the key of their last page."""
    with identities.read() as connection:
        row = connection.execute(
            "SELECT participant FROM people WHERE pid = ? OR withdrawal_key = ?", (name, name)
        ).fetchone()
    return row["participant"] if row else None


@dataclass(frozen=True)
class Withdrawn:
    """Outcome of somebody's wish to withdraw.

    Attributes:
        was_known: there was something to delete.
        is_owed: they had finished, so that they are still to be paid.
    """

    was_known: bool
    is_owed: bool


def withdraw(answers: Database, identities: Database, participant: str) -> Withdrawn:
    """Delete a person's answers, demographics and identity; their list is free again, and a dated
    count remains.

    Of somebody who had finished, the submission and the code are kept apart, for the payment.
    Answers go before the identity: after a fault in between, the same call finishes the work.

    Raises:
        UnavailableError: not everything was deleted; call again.
    """
    finished = "SELECT session FROM real_sessions WHERE participant = ? AND status = 'complete'"
    with answers.read() as connection:
        sessions = [row["session"] for row in connection.execute(finished, (participant,))]
    code = read_fact(answers, "complete_code")
    with identities.write() as connection:
        for session in sessions if code else ():
            connection.execute(
                "INSERT OR IGNORE INTO owed SELECT submission, study, coalesce(code, ?), ? FROM"
                " submissions WHERE session = ?",
                (code, identities.now(), session),
            )
        # Also where an interrupted call has noted it, and the answers are gone.
        query = (
            "SELECT count(*) FROM owed WHERE submission IN (SELECT submission FROM submissions"
            " WHERE participant = ?)"
        )
        is_owed = connection.execute(query, (participant,)).fetchone()[0] > 0
    with answers.write() as connection:
        n = connection.execute(
            "DELETE FROM sessions WHERE participant = ?", (participant,)
        ).rowcount
        if n:
            count_tally(connection, "withdrawn", answers.now())
    was_known = forget_participant(identities, participant)
    answers.forget_deleted(is_vacuumed=False)
    identities.forget_deleted(is_vacuumed=True)
    return Withdrawn(bool(n) or was_known, is_owed)


def purge(answers: Database, identities: Database) -> int:
    """Delete all identities; the answers stay, under keys that nothing leads to.

    What could lead to somebody without their identity goes, too: comments, and times of day, of
    which the recruiter keeps a record. Each person's day then begins at midnight; what an export
    contains stays the same.

    Returns:
        How many.

    Raises:
        UnavailableError: nothing was deleted, or not yet from the file; call again.
    """
    with answers.write() as connection:
        connection.execute("UPDATE sessions SET comment = NULL")
        early = f"min(started_at) OVER (PARTITION BY participant, started_at / {DAY_MS}) % {DAY_MS}"
        moves = [
            dict(row)
            for row in connection.execute(
                f"SELECT session, {early} AS early FROM sessions"
            ).fetchall()
        ]
        for table, times in _TIMES_OF_PEOPLE.items():
            change = ", ".join(f"{name} = {name} - :early" for name in times)
            connection.executemany(f"UPDATE {table} SET {change} WHERE session = :session", moves)
    with identities.write() as connection:
        connection.execute("DELETE FROM owed")
        n = connection.execute("DELETE FROM people").rowcount
    answers.forget_deleted(is_vacuumed=True)
    identities.forget_deleted(is_vacuumed=True)
    return n


#: Columns that tell the time of day at which somebody took part.
_TIMES_OF_PEOPLE = {
    "trials": ("shown_at", "answered_at"),
    "events": ("at",),
    "sessions": ("started_at", "touched_at", "asked_at", "instructed_at", "finished_at"),
}
