"""Withdrawal and the end of retention: what is deleted is gone from the files, not only from the tables."""

from __future__ import annotations

from worldprobe.survey import people, tallies
from worldprobe.survey.store import Database

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
            tallies.count(connection, "withdrawn", answers.now())
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
