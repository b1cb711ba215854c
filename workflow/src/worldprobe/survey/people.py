"""Who the people are: links and cookies by which they come in, and the recruiter's list of their submissions."""

from __future__ import annotations

import json
import re
import secrets
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jwt
import pandas as pd

from worldprobe.errors import UserError
from worldprobe.survey.settings import Settings
from worldprobe.survey.store import Database, count_tally


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
                    count_tally(connection, "returned", answers.now())
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


#: A cookie lasts as long as a person may need to come back.
COOKIE_SECONDS = 14 * 24 * 3600
#: Longer ids and tokens are refused before anything is computed from them.
LONGEST_ID = 200
LONGEST_TOKEN = 4096


class BadLinkError(Exception):
    """The link lacks what names a person, or it was changed on its way."""


class Doorkeeper:
    """Reads entry links and cookies.

    Args:
        settings: of the study.
        key: signs cookies.
        clock: the time in seconds since 1970.

    Raises:
        UserError: the file of public keys cannot be used.
    """

    def __init__(self, settings: Settings, key: bytes, clock: Callable[[], float] = time.time) -> None:
        self.settings, self.key, self.clock = settings, key, clock
        self._pattern = re.compile(settings.id_pattern)
        self._public_keys = _read_keys(Path(settings.signed.keys or "")) if settings.entry == "signed" else {}

    def is_entry(self, query: Mapping[str, str]) -> bool:
        """Whether an address is an entry link, right or wrong."""
        return self.settings.entry != "open" and any(name in query for _, name in self.settings.parameters)

    def read_link(self, query: Mapping[str, str]) -> Visitor:
        """The person whom an entry link names.

        Raises:
            BadLinkError: a parameter is missing or malformed, or the signature does not hold.
        """
        names = self.settings.parameters.model_dump()
        if self.settings.entry == "signed":
            query = self._verify(query.get(names["token"], ""))
        values = [query.get(names[role]) for role in ("participant", "study", "submission")]
        for value in values:
            if not isinstance(value, str) or len(value) > LONGEST_ID or not self._pattern.fullmatch(value):
                raise BadLinkError
        return Visitor(*map(str, values))

    def new_visitor(self) -> Visitor:
        """Somebody who comes without a recruiter: known by their cookie alone."""
        return Visitor(f"open-{secrets.token_hex(12)}", "open", "open")

    def _verify(self, token: str) -> Mapping[str, Any]:
        if not token or len(token) > LONGEST_TOKEN:
            raise BadLinkError
        try:
            key = self._public_keys[jwt.get_unverified_header(token).get("kid", "")]
            claims = jwt.decode(
                token,
                key,
                algorithms=["RS256"],
                audience=self.settings.signed.audience,
                options={"require": ["exp", "aud"], "verify_exp": False},
            )
            if float(claims["exp"]) <= self.clock():
                raise BadLinkError
            parameters = claims[self.settings.signed.claim]
        except (jwt.PyJWTError, KeyError, TypeError, ValueError) as error:
            raise BadLinkError from error
        if not isinstance(parameters, dict):
            raise BadLinkError
        return parameters

    def write_cookie(self, kind: str, visitor: Visitor | None = None, participant: str = "") -> str:
        """A signed cookie.

        Args:
            kind: entry (before consent), declined, person (consented), withdrawn or refused.
            visitor: who, before consent; kept on their own device only.
            participant: the random key, after consent.
        """
        claims: dict[str, Any] = {"kind": kind, "exp": round(self.clock()) + COOKIE_SECONDS, "aud": self.settings.study}
        claims |= {"visitor": asdict(visitor)} if visitor else {}
        claims |= {"participant": participant} if participant else {}
        return jwt.encode(claims, self.key, "HS256")

    def read_cookie(self, value: str | None) -> tuple[str, Visitor | None, str]:
        """Kind, visitor and participant of a cookie; ("none", None, "") where it is missing, forged or out of date."""
        try:
            claims = jwt.decode(
                (value or "")[:LONGEST_TOKEN],
                self.key,
                algorithms=["HS256"],
                audience=self.settings.study,
                options={"verify_exp": False},
            )
            if claims["exp"] <= self.clock():
                return "none", None, ""
            visitor = Visitor(**claims["visitor"]) if "visitor" in claims else None
            return claims["kind"], visitor, claims.get("participant", "")
        except (jwt.PyJWTError, KeyError, TypeError, ValueError):
            return "none", None, ""


def _read_keys(path: Path) -> dict[str, Any]:
    """Key id -> RSA public key, from a JWKS file."""
    fix = "Save the recruiter's public keys (Prolific: /.well-known/study/jwks.json) in this file."
    try:
        keys = json.loads(path.read_text(encoding="utf-8"))["keys"]
        found = {str(one.get("kid", "")): jwt.PyJWK(one).key for one in keys if one.get("kty") == "RSA"}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, jwt.PyJWTError) as error:
        raise UserError(path, "is not a readable set of public keys (JWKS).", fix) from error
    if not found:
        raise UserError(path, "contains no RSA key.", fix)
    return found
