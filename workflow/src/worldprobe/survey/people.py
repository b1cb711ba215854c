"""Who the people are: the one place where ids of the recruiter are stored, in a database of their own."""

from __future__ import annotations

import secrets
import sqlite3
from dataclasses import dataclass

from worldprobe.survey.store import Database


@dataclass(frozen=True)
class Visitor:
    """What an entry link says about a person.

    Attributes:
        pid: the recruiter's id of the person.
        study: the recruiter's id of the study.
        submission: the recruiter's id of this person's submission.
    """

    pid: str
    study: str
    submission: str


def find_participant(identities: Database, visitor: Visitor) -> str | None:
    """The random key of a person who consented before."""
    with identities.read() as connection:
        row = connection.execute("SELECT participant FROM people WHERE pid = ?", (visitor.pid,)).fetchone()
    return row["participant"] if row else None


def register(identities: Database, visitor: Visitor) -> str:
    """The random key of a person who consents now; the same one however often they do.

    Raises:
        UnavailableError: nothing was stored.
    """

    def change(connection: sqlite3.Connection) -> str:
        now = identities.now()
        connection.execute(
            "INSERT INTO people VALUES (?, ?, ?) ON CONFLICT (pid) DO NOTHING", (secrets.token_hex(12), visitor.pid, now)
        )
        participant: str = connection.execute("SELECT participant FROM people WHERE pid = ?", (visitor.pid,)).fetchone()[0]
        _add_submission(connection, participant, visitor, now)
        return participant

    return identities.change(change)


def add_submission(identities: Database, participant: str, visitor: Visitor) -> bool:
    """Note the submission with which a known person comes; True where they came with another one before.

    Raises:
        UnavailableError: nothing was stored.
    """
    with identities.write() as connection:
        _add_submission(connection, participant, visitor, identities.now())
        others = connection.execute(
            "SELECT count(*) FROM submissions WHERE participant = ? AND submission != ?", (participant, visitor.submission)
        ).fetchone()
    return bool(others[0])


def has_submission(identities: Database, participant: str, visitor: Visitor) -> bool:
    """Whether a known person came with this submission before."""
    with identities.read() as connection:
        row = connection.execute(
            "SELECT 1 FROM submissions WHERE participant = ? AND submission = ?", (participant, visitor.submission)
        ).fetchone()
    return row is not None


def has_code(identities: Database, participant: str, visitor: Visitor) -> bool:
    """Whether a person was given the code for this submission already."""
    with identities.read() as connection:
        row = connection.execute(
            "SELECT code FROM submissions WHERE participant = ? AND submission = ?", (participant, visitor.submission)
        ).fetchone()
    return row is not None and row["code"] is not None


def note_code(identities: Database, participant: str, code: str) -> None:
    """Note which code a person was given.

    Raises:
        UnavailableError: nothing was stored.
    """
    noted = "UPDATE submissions SET code = ? WHERE participant = ? AND code IS NULL"
    identities.change(lambda connection: connection.execute(noted, (code, participant)))


def forget(identities: Database, participant: str) -> bool:
    """Delete a person's identity; whether there was one.

    Raises:
        UnavailableError: nothing was deleted.
    """
    with identities.write() as connection:
        return connection.execute("DELETE FROM people WHERE participant = ?", (participant,)).rowcount > 0


def _add_submission(connection: sqlite3.Connection, participant: str, visitor: Visitor, now: int) -> None:
    connection.execute(
        "INSERT INTO submissions (participant, submission, study, first_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (participant, visitor.submission, visitor.study, now),
    )
