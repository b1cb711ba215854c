"""Who takes which list: chosen, counted and stored in one transaction, so that no list is taken twice too often."""

from __future__ import annotations

import random
import secrets
import sqlite3

from worldprobe.survey.plan import shuffled
from worldprobe.survey.study import Survey

#: Sessions that take up a place of their list.
TAKEN = "status IN ('active', 'complete') AND NOT is_reopened"


class FullError(Exception):
    """All lists are taken, or this person has taken all that they may."""


def reserve(survey: Survey, participant: str) -> str:
    """The session of a person who consents: the unfinished one, or a new one with the list that is wanted most.

    Of the lists with the fewest complete and live sessions, one is drawn. Reservations that expired are given back first.

    Raises:
        FullError: no list is left for this person.
        UnavailableError: nothing was stored.
    """
    settings = survey.settings

    def change(connection: sqlite3.Connection) -> str:
        now = survey.answers.now()
        expire(connection, now - settings.expiry_ms)
        own = connection.execute(
            "SELECT session, domain, status FROM sessions WHERE participant = ? ORDER BY started_at, session", (participant,)
        ).fetchall()
        for row in own:
            if settings.participation == "once" or row["status"] in ("active", "expired"):
                return str(row["session"])
        name = _choose(connection, survey, {row["domain"] for row in own})
        session = secrets.token_hex(12)
        seed = _seed(settings.seed, session)
        connection.execute(
            "INSERT INTO sessions (session, participant, list, domain, seed, status, consent_digest, started_at, touched_at)"
            " VALUES (?, ?, ?, ?, ?, 'active', ?, ?, ?)",
            (session, participant, name, survey.plan.lists[name].domain, seed, settings.consent_digest, now, now),
        )
        trials = survey.trials[name]
        n_practice = sum(trial.kind == "practice" for trial in trials)
        order = [*range(n_practice), *(n_practice + k for k in shuffled(trials[n_practice:], seed, settings.shuffle))]
        connection.executemany(
            "INSERT INTO trials (session, position, list, number, kind, token) VALUES (?, ?, ?, ?, ?, ?)",
            [
                (session, position, name, number, trials[number].kind, secrets.token_urlsafe(16))
                for position, number in enumerate(order, start=1)
            ],
        )
        return session

    return survey.answers.change(change)


def expire(connection: sqlite3.Connection, before: int) -> int:
    """Give back the lists of people who have not answered since ``before`` (milliseconds since 1970); how many."""
    return connection.execute(
        "UPDATE sessions SET status = 'expired' WHERE status = 'active' AND touched_at < ?", (before,)
    ).rowcount


def places(connection: sqlite3.Connection, before: int) -> dict[str, int]:
    """How many complete and live sessions each list has; reservations untouched since ``before`` do not count."""
    rows = connection.execute(
        f"SELECT lists.list, count(sessions.session) AS n FROM lists LEFT JOIN sessions ON sessions.list = lists.list AND {TAKEN}"
        " AND (status = 'complete' OR touched_at >= ?) GROUP BY lists.list",
        (before,),
    )
    return {row["list"]: row["n"] for row in rows}


def wanted_per_list(survey: Survey) -> int:
    """How many people each list is wanted from: every round of lists asks each question once."""
    return -(-survey.settings.ratings_per_item // survey.plan.n_rounds)


def has_place(survey: Survey) -> bool:
    """Whether somebody new could begin now."""
    with survey.answers.read() as connection:
        taken = places(connection, survey.answers.now() - survey.settings.expiry_ms)
    return min(taken.values()) < wanted_per_list(survey)


def _choose(connection: sqlite3.Connection, survey: Survey, done: set[str]) -> str:
    taken = places(connection, survey.answers.now() - survey.settings.expiry_ms)
    open_lists = {
        name: n for name, n in taken.items() if n < wanted_per_list(survey) and survey.plan.lists[name].domain not in done
    }
    if not open_lists:
        raise FullError
    fewest = min(open_lists.values())
    least = sorted(name for name, n in open_lists.items() if n == fewest)
    n_before = connection.execute("SELECT count(*) FROM sessions").fetchone()[0]
    return random.Random(survey.settings.seed * 1_000_003 + n_before).choice(least)


def _seed(seed: int, session: str) -> int:
    """A person's own seed, stored with the session; below 2^62, as SQLite's integers are."""
    return (int(session, 16) ^ seed) % 2**62
