"""How far a survey is: sessions by state, places by list, and alarms."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field

from worldprobe.survey import progress
from worldprobe.survey.study import Survey


@dataclass(frozen=True)
class ListStatus:
    """One list.

    Attributes:
        name: of the list.
        complete, live, expired, returned: sessions in each state; a reopened one counts under reopened alone.
        reopened: complete sessions whose answers are not kept, so that somebody else is wanted.
        needed: people still wanted.
    """

    name: str
    complete: int
    live: int
    expired: int
    returned: int
    reopened: int
    needed: int


@dataclass(frozen=True)
class Status:
    """The whole survey.

    Attributes:
        lists: by name.
        n_answers: answers to tests that are stored.
        n_late: people who finished after their place had expired.
        wanted: people wanted from each list.
        tallies: kind of event -> count over all days.
    """

    lists: tuple[ListStatus, ...]
    n_answers: int
    n_late: int
    wanted: int
    tallies: dict[str, int] = field(default_factory=dict)

    def total(self, name: str) -> int:
        """A count over all lists."""
        return sum(getattr(one, name) for one in self.lists)

    def line(self) -> str:
        """All in one line."""
        parts = [f"{self.total(name)} {name}" for name in ("complete", "live", "expired", "returned")]
        return f"{', '.join(parts)}; {self.n_answers} answers; {self.total('needed')} people still wanted"


def summarize(survey: Survey) -> Status:
    """Count; changes nothing.

    Raises:
        UnavailableError: the database is busy.
    """
    with survey.answers.read() as connection:
        return count(connection, survey.answers.now() - survey.settings.expiry_ms, progress.wanted_per_list(survey))


def count(connection: sqlite3.Connection, before: int, wanted: int) -> Status:
    """Count in one state of the database.

    Args:
        connection: of the answers.
        before: reservations untouched since then have expired, in milliseconds since 1970.
        wanted: people wanted from each list.
    """
    rows = connection.execute(
        "SELECT lists.list AS name,"
        " count(*) FILTER (WHERE status = 'complete' AND NOT is_reopened) AS complete,"
        " count(*) FILTER (WHERE status = 'active' AND touched_at >= :before) AS live,"
        " count(*) FILTER (WHERE status = 'expired' OR (status = 'active' AND touched_at < :before)) AS expired,"
        " count(*) FILTER (WHERE status = 'returned') AS returned,"
        " count(*) FILTER (WHERE status = 'complete' AND is_reopened) AS reopened"
        " FROM lists LEFT JOIN sessions ON sessions.list = lists.list GROUP BY lists.list ORDER BY lists.list",
        {"before": before},
    ).fetchall()
    lists = tuple(ListStatus(**row, needed=max(0, wanted - row["complete"] - row["live"])) for row in map(dict, rows))
    n_answers = connection.execute("SELECT count(answer) FROM trials WHERE kind = 'test'").fetchone()[0]
    n_late = connection.execute("SELECT count(*) FROM sessions WHERE is_late AND status = 'complete'").fetchone()[0]
    tallied = connection.execute("SELECT kind, sum(n) AS n FROM tallies GROUP BY kind ORDER BY kind")
    return Status(lists, n_answers, n_late, wanted, {row["kind"]: row["n"] for row in tallied})
