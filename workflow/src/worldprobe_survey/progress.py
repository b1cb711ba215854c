"""One person's way (the list they take, which trial comes next, what becomes of an answer), and how
far the survey is.
"""

from __future__ import annotations

import random
import secrets
import sqlite3
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from worldprobe.benchmarks.ewok.vocabulary import joint
from worldprobe_survey.identities import ABSENT, PREVIEW
from worldprobe_survey.store import DAY_MS, Database
from worldprobe_survey.study import Survey, read_fact, shuffled

#: No break is offered when the end is nearer than this.
FEWEST_AFTER_BREAK = 8
#: More refused answers of one person are not noted: repeated for ever, they would fill the disk.
MOST_EVENTS = 100
#: What became of an answer.
STORED, REPEATED, CONFLICTING, FUTURE = "stored", "repeated", "conflicting", "future"
UNKNOWN, IMPOSSIBLE = "unknown", "impossible"


@dataclass(frozen=True)
class State:
    """Where a session is.

    Attributes:
        session: its random key.
        stage: demographics, instructions, trials, complete, ineligible or returned.
        name: the list.
        is_preview: a researcher's.
        has_comment: a comment was stored.
    """

    session: str
    stage: str
    name: str
    is_preview: bool
    has_comment: bool


@dataclass(frozen=True)
class SentAnswer:
    """An answer, as a page sends it.

    Attributes:
        token: of the trial.
        answer: 1 to 5.
        rt_ms: from sight to answer, as the browser measured it.
        n_blurs: how often the window lost the focus meanwhile.
    """

    token: str
    answer: int
    rt_ms: int
    n_blurs: int


def find_state(survey: Survey, participant: str) -> State | None:
    """Where a person is in the session that their page shows: the unfinished one, or else the
    latest.
    """
    with survey.answers.read() as connection:
        return _state(connection, survey, participant)


def _state(connection: sqlite3.Connection, survey: Survey, participant: str) -> State | None:
    row = connection.execute(
        "SELECT * FROM sessions WHERE participant = ?"
        " ORDER BY status IN ('active', 'expired') DESC, started_at DESC, session LIMIT 1",
        (participant,),
    ).fetchone()
    if row is None:
        return None
    stage = "trials"
    if row["status"] in ("complete", "ineligible", "returned"):
        stage = row["status"]
    elif survey.settings.demographics and row["asked_at"] is None:
        stage = "demographics"
    elif row["instructed_at"] is None:
        stage = "instructions"
    return State(
        row["session"], stage, row["list"], bool(row["is_preview"]), row["comment"] is not None
    )


def note_demographics(
    survey: Survey, participant: str, answers: dict[str, str], is_eligible: bool
) -> None:
    """Store what a person says about themselves, once; an ineligible person's list is free again,
    and nothing is kept.

    Raises:
        UnavailableError: nothing was stored.
    """
    with survey.answers.write() as connection:
        state = _state(connection, survey, participant)
        if state is None or state.stage != "demographics":
            return
        now, session = survey.answers.now(), state.session
        if is_eligible:
            rows = [(session, question, answer) for question, answer in answers.items()]
            connection.executemany("INSERT INTO demographics VALUES (?, ?, ?)", rows)
            connection.execute(
                "UPDATE sessions SET asked_at = ?, touched_at = ? WHERE session = ?",
                (now, now, session),
            )
        else:
            connection.execute("DELETE FROM trials WHERE session = ?", (session,))
            connection.execute(
                "UPDATE sessions SET status = 'ineligible', asked_at = ? WHERE session = ?",
                (now, session),
            )


def note_instructed(survey: Survey, participant: str, has_understood: bool) -> None:
    """Note that a person has read the instructions, or has to read them again.

    Raises:
        UnavailableError: nothing was stored.
    """
    with survey.answers.write() as connection:
        state = _state(connection, survey, participant)
        if state is not None and state.stage == "instructions":
            now = survey.answers.now()
            connection.execute(
                "UPDATE sessions SET instructed_at = ?, touched_at = ?, n_tries = n_tries + 1 WHERE"
                " session = ?",
                (now if has_understood else None, now, state.session),
            )


def note_comment(survey: Survey, participant: str, text: str) -> bool:
    """Store what a person wants to say at the end; whether they have finished.

    Raises:
        UnavailableError: nothing was stored.
    """
    with survey.answers.write() as connection:
        state = _state(connection, survey, participant)
        if state is None or state.stage != "complete":
            return False
        connection.execute(
            "UPDATE sessions SET comment = ? WHERE session = ?", (text, state.session)
        )
        return True


def show_trial(survey: Survey, participant: str) -> dict[str, Any] | None:
    """The trial that a person's page shows now, or that there is none left; the first sight is
    noted.

    Returns:
        What the page needs; None where this person is not at the trials.

    Raises:
        UnavailableError: nothing was stored.
    """
    with survey.answers.write() as connection:
        state = _state(connection, survey, participant)
        if state is None or state.stage not in ("trials", "complete"):
            return None
        return _show(connection, survey, state.session, is_loaded=True)


def take_answer(survey: Survey, participant: str, answer: SentAnswer) -> tuple[str, dict[str, Any]]:
    """Store an answer; it is on the disk when this returns.

    The same answer again changes nothing and is acknowledged again, as its acknowledgement may have
    been lost. Another answer to an answered trial, or one to a trial that was not shown yet, is
    refused and noted.

    Returns:
        What became of it, and the trial that comes next.

    Raises:
        UnavailableError: nothing was stored.
    """
    with survey.answers.write() as connection:
        state = _state(connection, survey, participant)
        if state is None or state.stage not in ("trials", "complete"):
            return UNKNOWN, {}
        query = "SELECT * FROM trials WHERE token = ? AND session = ?"
        row = connection.execute(query, (answer.token, state.session)).fetchone()
        if row is None:
            return UNKNOWN, {}
        if answer.answer > len(survey.questionnaire.wording(state.name).answers):
            return IMPOSSIBLE, {}
        outcome = _store(connection, survey, row, answer)
        return outcome, _show(connection, survey, state.session, is_loaded=False)


def _store(
    connection: sqlite3.Connection, survey: Survey, row: sqlite3.Row, answer: SentAnswer
) -> str:
    now, session = survey.answers.now(), row["session"]
    if row["answer"] is None and row["shown_at"] is not None:
        connection.execute(
            "UPDATE trials SET answer = ?, answered_at = ?, rt_ms = ?, n_blurs = ? WHERE session ="
            " ? AND position = ?",
            (
                answer.answer,
                max(now, row["shown_at"]),
                answer.rt_ms,
                answer.n_blurs,
                session,
                row["position"],
            ),
        )
        _touch(connection, session, now, now - survey.settings.expiry_ms)
        return STORED
    if row["answer"] == answer.answer:
        return REPEATED
    outcome = FUTURE if row["answer"] is None else CONFLICTING
    if (
        connection.execute("SELECT count(*) FROM events WHERE session = ?", (session,)).fetchone()[
            0
        ]
        < MOST_EVENTS
    ):
        connection.execute(
            "INSERT INTO events (session, at, kind) VALUES (?, ?, ?)", (session, now, outcome)
        )
    return outcome


def _touch(connection: sqlite3.Connection, session: str, now: int, before: int) -> None:
    """Note a sign of life; whoever comes back after their place expired goes on, and is marked
    late.
    """
    connection.execute(
        "UPDATE sessions SET touched_at = ?, is_late = is_late OR status = 'expired' OR touched_at"
        " < ?, status = CASE status WHEN 'expired' THEN 'active' ELSE status END WHERE session = ?",
        (now, before, session),
    )


def _show(
    connection: sqlite3.Connection, survey: Survey, session: str, is_loaded: bool
) -> dict[str, Any]:
    """The first unanswered trial as the page needs it: its texts and a random token, nothing that
    tells which it is.
    """
    rows = connection.execute(
        "SELECT count(*) AS total, count(answer) AS done FROM trials WHERE session = ? AND kind !="
        " 'practice'",
        (session,),
    ).fetchone()
    row = connection.execute(
        "SELECT * FROM trials WHERE session = ? AND answer IS NULL ORDER BY position LIMIT 1",
        (session,),
    ).fetchone()
    progress = {"done": rows["done"], "total": rows["total"]}
    now = survey.answers.now()
    if row is None:
        connection.execute(
            "UPDATE sessions SET status = 'complete', finished_at = coalesce(finished_at, max(?,"
            " started_at)) WHERE session = ? AND status IN ('active', 'expired') AND instructed_at"
            " IS NOT NULL",
            (now, session),
        )
        return {"state": "complete", **progress}
    if row["shown_at"] is None:
        connection.execute(
            "UPDATE trials SET shown_at = ? WHERE session = ? AND position = ?",
            (now, session, row["position"]),
        )
    elif is_loaded:
        connection.execute(
            "UPDATE trials SET is_resumed = 1 WHERE session = ? AND position = ?",
            (session, row["position"]),
        )
    trial = survey.trials[row["list"]][row["number"]]
    every, n_left = survey.settings.break_every, rows["total"] - rows["done"]
    return {
        "state": "trial",
        "token": row["token"],
        "practice": row["kind"] == "practice",
        "contexts": list(trial.contexts),
        "join": joint("".join(trial.contexts[:1])),
        "target": trial.target,
        "break": bool(
            every and rows["done"] and rows["done"] % every == 0 and n_left >= FEWEST_AFTER_BREAK
        ),
        **progress,
    }


#: Sessions that take up a place of their list.
TAKEN = "status IN ('active', 'complete') AND NOT is_reopened"
MINUTE_MS = 60_000
HELD_UP = "newcomers over the limit"


class FullError(Exception):
    """All lists are taken, or this person has taken all that they may."""


def reserve(survey: Survey, participant: str, is_preview: bool = False) -> str:
    """The session of a person who consents: the unfinished one, or a new one with the list that is
    wanted most.

    Of the lists with the fewest complete and live sessions, one is drawn. Reservations that expired
    are given back first.

    Args:
        survey: the survey.
        participant: the person's random key.
        is_preview: takes no place, and finds one in any case.

    Raises:
        FullError: no list is left for this person.
        UnavailableError: nothing was stored.
    """
    settings = survey.settings
    with survey.answers.write() as connection:
        now = survey.answers.now()
        expire(connection, now - settings.expiry_ms)
        sessions = connection.execute(
            "SELECT session, domain, status FROM sessions WHERE participant = ? ORDER BY"
            " started_at, session",
            (participant,),
        ).fetchall()
        for row in sessions:
            if settings.participation == "once" or row["status"] in ("active", "expired"):
                return str(row["session"])
        name = _choose(connection, survey, {row["domain"] for row in sessions}, is_preview)
        session = secrets.token_hex(12)
        seed = _seed(settings.seed, session)
        connection.execute(
            "INSERT INTO sessions (session, participant, list, domain, seed, is_preview, status,"
            " consent_digest, design, started_at, touched_at) VALUES (?, ?, ?, ?, ?, ?, 'active',"
            " ?, ?, ?, ?)",
            (
                session,
                participant,
                name,
                survey.questionnaire.lists[name].domain,
                seed,
                is_preview,
                settings.consent_digest,
                survey.design,
                now,
                now,
            ),
        )
        trials = survey.trials[name]
        n_practice = sum(trial.kind == "practice" for trial in trials)
        order = [
            *range(n_practice),
            *(n_practice + k for k in shuffled(trials[n_practice:], seed, settings.shuffle)),
        ]
        connection.executemany(
            "INSERT INTO trials (session, position, list, number, kind, token) VALUES (?, ?, ?, ?,"
            " ?, ?)",
            [
                (session, position, name, number, trials[number].kind, secrets.token_urlsafe(16))
                for position, number in enumerate(order, start=1)
            ],
        )
        return session


def is_crowded(survey: Survey) -> bool:
    """Whether as many people began in the last minute as may."""
    with survey.answers.read() as connection:
        since = survey.answers.now() - MINUTE_MS
        begun = connection.execute(
            "SELECT count(*) FROM sessions WHERE started_at > ?", (since,)
        ).fetchone()[0]
    return bool(begun >= survey.settings.new_per_minute)


def expire(connection: sqlite3.Connection, before: int) -> int:
    """Give back the lists of people who have not answered since ``before`` (milliseconds since
    1970); how many.
    """
    return connection.execute(
        "UPDATE sessions SET status = 'expired' WHERE status = 'active' AND touched_at < ?",
        (before,),
    ).rowcount


def count_taken(connection: sqlite3.Connection, before: int) -> dict[str, int]:
    """How many complete and live sessions each list has; reservations untouched since ``before`` do
    not count.
    """
    rows = connection.execute(
        "SELECT lists.list, count(sessions.session) AS n FROM lists"
        f" LEFT JOIN real_sessions AS sessions ON sessions.list = lists.list AND {TAKEN}"
        " AND (status = 'complete' OR touched_at >= ?) GROUP BY lists.list",
        (before,),
    )
    return {row["list"]: row["n"] for row in rows}


def wanted_per_list(survey: Survey) -> int:
    """How many people each list is wanted from: every round of lists asks each question once."""
    return -(-survey.settings.ratings_per_item // survey.questionnaire.n_rounds)


def has_place(survey: Survey) -> bool:
    """Whether somebody new could begin now."""
    with survey.answers.read() as connection:
        taken = count_taken(connection, survey.answers.now() - survey.settings.expiry_ms)
    return min(taken.values()) < wanted_per_list(survey)


def _choose(
    connection: sqlite3.Connection, survey: Survey, done: set[str], is_preview: bool
) -> str:
    taken = count_taken(connection, survey.answers.now() - survey.settings.expiry_ms)
    open_lists = {
        name: n
        for name, n in taken.items()
        if is_preview
        or (n < wanted_per_list(survey) and survey.questionnaire.lists[name].domain not in done)
    }
    if not open_lists:
        raise FullError
    fewest = min(open_lists.values())
    least = sorted(name for name, n in open_lists.items() if n == fewest)
    n_before = connection.execute("SELECT count(*) FROM real_sessions").fetchone()[0]
    return random.Random(survey.settings.seed * 1_000_003 + n_before).choice(least)


def _seed(seed: int, session: str) -> int:
    """A person's own seed, stored with the session; below 2^62, as SQLite's integers are."""
    return (int(session, 16) ^ seed) % 2**62


@dataclass(frozen=True)
class ListStatus:
    """One list.

    Attributes:
        name: of the list.
        complete, live, expired, returned: sessions in each state; a reopened one counts under
            reopened alone.
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
        n_previews: sessions of researchers, which count nowhere else.
    """

    lists: tuple[ListStatus, ...]
    n_answers: int
    n_late: int
    wanted: int
    tallies: dict[str, int] = field(default_factory=dict)
    n_previews: int = 0

    def total(self, name: str) -> int:
        """A count over all lists."""
        return sum(getattr(status, name) for status in self.lists)

    def line(self) -> str:
        """All in one line."""
        parts = [
            f"{self.total(name)} {name}" for name in ("complete", "live", "expired", "returned")
        ]
        return (
            f"{', '.join(parts)}; {self.n_answers} answers; {self.total('needed')} people still"
            " wanted"
        )


def survey_status(survey: Survey) -> Status:
    """Count; changes nothing.

    Raises:
        UnavailableError: the database is busy.
    """
    with survey.answers.read() as connection:
        return count(
            connection, survey.answers.now() - survey.settings.expiry_ms, wanted_per_list(survey)
        )


def count(connection: sqlite3.Connection, before: int, wanted: int) -> Status:
    """Count in one state of the database.

    Args:
        connection: of the answers.
        before: reservations untouched since then have expired, in milliseconds since 1970.
        wanted: people wanted from each list.
    """
    rows = connection.execute(
        "SELECT lists.list AS name, count(*) FILTER (WHERE status = 'complete' AND NOT is_reopened)"
        " AS complete, count(*) FILTER (WHERE status = 'active' AND touched_at >= :before) AS live,"
        " count(*) FILTER (WHERE status = 'expired' OR (status = 'active' AND touched_at <"
        " :before)) AS expired, count(*) FILTER (WHERE status = 'returned') AS returned, count(*)"
        " FILTER (WHERE status = 'complete' AND is_reopened) AS reopened FROM lists LEFT JOIN"
        " real_sessions AS sessions ON sessions.list = lists.list GROUP BY lists.list ORDER BY"
        " lists.list",
        {"before": before},
    ).fetchall()
    lists = tuple(
        ListStatus(**row, needed=max(0, wanted - row["complete"] - row["live"]))
        for row in map(dict, rows)
    )

    def number(query: str) -> int:
        return int(connection.execute(query).fetchone()[0])

    tallied = connection.execute(
        "SELECT kind, sum(n) AS n FROM tallies GROUP BY kind ORDER BY kind"
    )
    return Status(
        lists,
        number(
            "SELECT count(answer) FROM trials JOIN real_sessions USING (session) WHERE kind ="
            " 'test'"
        ),
        number("SELECT count(*) FROM real_sessions WHERE is_late AND status = 'complete'"),
        wanted,
        {row["kind"]: row["n"] for row in tallied},
        number("SELECT count(*) FROM sessions WHERE is_preview"),
    )


#: Days without an answer after which the researcher is asked whether the study has ended.
QUIET_DAYS = 14


def find_alarms(answers: Database, identities: Database) -> list[str]:
    """Alarms for the researcher: ids that may be invented, and data that are kept longer than
    people were told.

    Raises:
        UnavailableError: a database is busy.
    """
    alarms = []
    with answers.read() as connection:
        held_up = connection.execute(
            "SELECT sum(n) FROM tallies WHERE kind = ?", (HELD_UP,)
        ).fetchone()[0]
        last = connection.execute("SELECT max(touched_at) FROM real_sessions").fetchone()[0]
    with identities.read() as connection:
        n_absent = connection.execute(
            "SELECT count(*) FROM submissions WHERE outcome = ?", (ABSENT,)
        ).fetchone()[0]
        n_studies = connection.execute(
            "SELECT count(DISTINCT study) FROM submissions WHERE study != ?", (PREVIEW,)
        ).fetchone()[0]
        n_people = connection.execute("SELECT count(*) FROM people").fetchone()[0]
    if held_up:
        alarms.append(
            f"ALARM: {held_up} times, more people began in a minute than new_per_minute allows; ids"
            " may be invented"
        )
    if n_absent:
        alarms.append(
            f"ALARM: {n_absent} submissions are not in the recruiter's list; ids may be invented"
        )
    if n_studies > 1:
        alarms.append(f"NOTE: people came from {n_studies} studies of the recruiter")
    now, closed_at = answers.now(), read_fact(answers, "closed_at")
    if closed_at:
        due = int(closed_at) + int(read_fact(answers, "retention_days")) * DAY_MS
        day = datetime.fromtimestamp(due / 1000, UTC).date()
        if n_people and now > due:
            alarms.append(
                f"ALARM: {n_people} identities should have been deleted by {day}, as people were"
                " told: run `human purge`"
            )
        elif n_people:
            alarms.append(f"NOTE: {n_people} identities are to be deleted on {day}")
    elif last and now - last > QUIET_DAYS * DAY_MS:
        days = (now - last) // DAY_MS
        alarms.append(
            f"REMINDER: nobody has answered for {days} days; if the study has ended, run `human"
            " close`"
        )
    return alarms
