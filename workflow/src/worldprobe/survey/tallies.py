"""Dated counts of what happened: the only trace of withdrawals, and of alarms."""

from __future__ import annotations

import contextlib
import sqlite3
from datetime import UTC, datetime

from worldprobe.survey.store import Database, UnavailableError


def add(answers: Database, kind: str) -> None:
    """Count one event of today; a database that is busy loses the count, never the request."""
    with contextlib.suppress(UnavailableError), answers.write() as connection:
        count(connection, kind, answers.now())


def count(connection: sqlite3.Connection, kind: str, now: int) -> None:
    """Count one event within a transaction.

    Args:
        connection: of the answers.
        kind: what happened.
        now: milliseconds since 1970.
    """
    day = datetime.fromtimestamp(now / 1000, UTC).date().isoformat()
    connection.execute("INSERT INTO tallies VALUES (?, ?, 1) ON CONFLICT (day, kind) DO UPDATE SET n = n + 1", (day, kind))
