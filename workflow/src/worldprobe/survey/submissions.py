"""The recruiter's own list of submissions (Prolific's CSV): people who gave their place back free their lists."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pandas as pd

from worldprobe.errors import UserError
from worldprobe.survey import tallies
from worldprobe.survey.store import Database

#: Statuses of Prolific that give a place back.
GIVEN_BACK = {"RETURNED", "TIMED-OUT", "TIMED OUT", "SCREENED OUT", "CANCELLED"}
KNOWN = GIVEN_BACK | {"APPROVED", "AWAITING REVIEW", "ACTIVE", "REJECTED", "RESERVED", "PARTIALLY APPROVED"}
PERSON, SUBMISSION, STATUS = "Participant id", "Submission id", "Status"


@dataclass(frozen=True)
class Imported:
    """What an import found.

    Attributes:
        statuses: how many submissions have each status.
        n_freed: sessions whose list is free again.
        n_kept: submissions given back there but complete here; their answers are kept.
        n_incomplete: approved there, or waiting for it, but not complete here.
        n_unknown: people of the file who never consented here.
    """

    statuses: dict[str, int]
    n_freed: int
    n_kept: int
    n_incomplete: int
    n_unknown: int


def import_submissions(answers: Database, identities: Database, frame: pd.DataFrame, where: object) -> Imported:
    """Note each submission's status, and free the lists of people who gave theirs back.

    Args:
        answers: the database.
        identities: the other one.
        frame: the file's cells as text; the index is the line.
        where: the file, for messages.

    Raises:
        UserError: a column is missing, or a status is unknown.
        UnavailableError: not everything was noted; call again.
    """
    if missing := [name for name in (PERSON, SUBMISSION, STATUS) if name not in frame]:
        raise UserError(where, f'has no column "{missing[0]}".', "Export the submissions of the study from Prolific as CSV.")
    status = frame[STATUS].str.strip().str.upper()
    for line, word in status.items():
        if word not in KNOWN:
            fix = f"Known are {', '.join(sorted(KNOWN))}."
            raise UserError(f"{where}, line {line}", "has a status that is not one of Prolific's.", fix)
    with identities.write() as connection:
        known = {row["pid"]: row["participant"] for row in connection.execute("SELECT pid, participant FROM people")}
        people = frame[PERSON].str.strip().map(known)
        connection.executemany(
            "UPDATE submissions SET outcome = ? WHERE participant = ? AND submission = ?",
            [
                (word, person, submission)
                for word, person, submission in zip(status, people, frame[SUBMISSION].str.strip(), strict=True)
                if isinstance(person, str)
            ],
        )
    best = _outcomes(people, status)
    n_freed = n_kept = n_incomplete = 0
    with answers.write() as connection:
        for person, has_place in best.items():
            rows = connection.execute("SELECT session, status FROM sessions WHERE participant = ?", (person,)).fetchall()
            is_complete = any(row["status"] == "complete" for row in rows)
            if has_place:
                n_incomplete += not is_complete
                continue
            n_kept += is_complete
            for row in rows:
                if row["status"] in ("active", "expired"):
                    connection.execute("UPDATE sessions SET status = 'returned' WHERE session = ?", (row["session"],))
                    tallies.count(connection, "returned", answers.now())
                    n_freed += 1
    return Imported(dict(sorted(Counter(status).items())), n_freed, n_kept, n_incomplete, int(people.isna().sum()))


def _outcomes(people: pd.Series, status: pd.Series) -> dict[str, bool]:
    """Person -> whether any of their submissions still has its place, or is over in the ordinary way."""
    best: dict[str, bool] = {}
    for person, word in zip(people, status, strict=True):
        if isinstance(person, str):
            best[person] = best.get(person, False) or word not in GIVEN_BACK
    return best


def reopen(answers: Database, participants: list[str]) -> tuple[int, int]:
    """Ask somebody else for the lists of people whose answers are not kept.

    Returns:
        How many sessions were reopened now, and how many people are not known here.

    Raises:
        UnavailableError: nothing was changed; call again.
    """
    n_changed = n_unknown = 0
    with answers.write() as connection:
        for person in participants:
            n_sessions = connection.execute("SELECT count(*) FROM sessions WHERE participant = ?", (person,)).fetchone()[0]
            n_unknown += not n_sessions
            change = "UPDATE sessions SET is_reopened = 1 WHERE participant = ? AND status = 'complete' AND NOT is_reopened"
            n_changed += connection.execute(change, (person,)).rowcount
    return n_changed, n_unknown
