"""Identities of people: links and cookies by which they come in, and the recruiter's list of their
submissions.
"""

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
from worldprobe_survey.settings import Settings
from worldprobe_survey.store import Database, count_tally

#: In place of the recruiter's study for a researcher who looks at the survey.
PREVIEW = "preview"


@dataclass(frozen=True)
class Visitor:
    """A person, as an entry link describes them.

    Attributes:
        pid: the recruiter's id of the person.
        study: the recruiter's id of the study.
        submission: the recruiter's id of this person's submission.
    """

    pid: str
    study: str
    submission: str

    @property
    def is_preview(self) -> bool:
        """A researcher who looks at the survey."""
        return self.study == PREVIEW


def find_participant(identities: Database, visitor: Visitor) -> str | None:
    """The random key of a person who consented before."""
    with identities.read() as connection:
        row = connection.execute(
            "SELECT participant FROM people WHERE pid = ?", (visitor.pid,)
        ).fetchone()
    return row["participant"] if row else None


def register(identities: Database, visitor: Visitor) -> str:
    """The random key of a person who consents now; the same one however often they do.

    Raises:
        UnavailableError: nothing was stored.
    """
    with identities.write() as connection:
        now = identities.now()
        connection.execute(
            "INSERT INTO people VALUES (?, ?, ?, ?) ON CONFLICT (pid) DO NOTHING",
            (secrets.token_hex(12), visitor.pid, secrets.token_hex(12), now),
        )
        participant: str = connection.execute(
            "SELECT participant FROM people WHERE pid = ?", (visitor.pid,)
        ).fetchone()[0]
        connection.execute(_NEW_SUBMISSION, (participant, visitor.submission, visitor.study, now))
    return participant


_NEW_SUBMISSION = (
    "INSERT INTO submissions (participant, submission, study, first_at) VALUES (?, ?, ?, ?) ON"
    " CONFLICT DO NOTHING"
)


def may_enter(identities: Database, participant: str, visitor: Visitor, settings: Settings) -> bool:
    """Whether somebody who names a known person is let in as that person.

    An id alone is known to others. Besides the submission with which a person came first, another
    one is let in only where the settings say so, which needs signed links; and another study of the
    recruiter, whose pay is its own, only for another list.
    """
    submissions = _submissions(identities, participant)
    if any(
        (row["submission"], row["study"]) == (visitor.submission, visitor.study)
        for row in submissions
    ):
        return True
    is_other_allowed = settings.another_submission == "resume"
    return is_other_allowed and (
        settings.participation != "once"
        or any(row["study"] == visitor.study for row in submissions)
    )


def note_submission(
    identities: Database, participant: str, visitor: Visitor, session: str | None
) -> bool:
    """Note the submission with which a known person comes, and for which session; True where they
    came with another one before.

    Raises:
        UnavailableError: nothing was stored.
    """
    with identities.write() as connection:
        connection.execute(
            _NEW_SUBMISSION, (participant, visitor.submission, visitor.study, identities.now())
        )
        connection.execute(
            "UPDATE submissions SET session = ? WHERE participant = ? AND submission = ? AND"
            " session IS NULL",
            (session, participant, visitor.submission),
        )
        query = "SELECT count(*) FROM submissions WHERE participant = ? AND submission != ?"
        return bool(connection.execute(query, (participant, visitor.submission)).fetchone()[0])


def has_code(identities: Database, participant: str, visitor: Visitor) -> bool:
    """Whether a person was given the code for this submission already."""
    submissions = _submissions(identities, participant)
    return any(
        row["submission"] == visitor.submission and row["code"] is not None for row in submissions
    )


def _submissions(identities: Database, participant: str) -> list[sqlite3.Row]:
    with identities.read() as connection:
        return connection.execute(
            "SELECT * FROM submissions WHERE participant = ?", (participant,)
        ).fetchall()


def is_owed(identities: Database, visitor: Visitor) -> bool:
    """Whether somebody finished under this submission and withdrew afterwards."""
    with identities.read() as connection:
        row = connection.execute(
            "SELECT 1 FROM owed WHERE submission = ?", (visitor.submission,)
        ).fetchone()
    return row is not None


def note_code(identities: Database, session: str, code: str) -> None:
    """Note which code a person was given for a session.

    Raises:
        UnavailableError: nothing was stored.
    """
    with identities.write() as connection:
        connection.execute(
            "UPDATE submissions SET code = ? WHERE session = ? AND code IS NULL", (code, session)
        )


def find_withdrawal_key(identities: Database, participant: str) -> str:
    """With what a person can ask for deletion later; empty where their identity is deleted."""
    with identities.read() as connection:
        row = connection.execute(
            "SELECT withdrawal_key FROM people WHERE participant = ?", (participant,)
        ).fetchone()
    return row["withdrawal_key"] if row else ""


def forget_participant(identities: Database, participant: str) -> bool:
    """Delete a person's identity; whether there was one.

    Raises:
        UnavailableError: nothing was deleted.
    """
    with identities.write() as connection:
        return (
            connection.execute("DELETE FROM people WHERE participant = ?", (participant,)).rowcount
            > 0
        )


#: Statuses of Prolific that give a place back.
RETURNED = "RETURNED"
GIVEN_BACK = {RETURNED, "TIMED OUT", "SCREENED OUT", "CANCELLED"}
KNOWN = GIVEN_BACK | {
    "APPROVED",
    "AWAITING REVIEW",
    "ACTIVE",
    "REJECTED",
    "RESERVED",
    "PARTIALLY APPROVED",
}
#: In place of Prolific's status of a submission that its list does not have.
ABSENT = "NOT IN THE LIST"
PERSON, SUBMISSION, STATUS = "Participant id", "Submission id", "Status"


@dataclass(frozen=True)
class Imported:
    """Result of an import.

    Attributes:
        statuses: how many submissions have each status.
        n_freed: sessions whose list is free again.
        n_returned: of these, sessions that were finished: who returns a submission takes part no
            longer, so the answers are marked as returned, and cleaning leaves them out.
        n_kept: submissions that timed out or were cancelled there after they had been finished
            here; their answers are kept.
        n_incomplete: approved there, or waiting for it, but not complete here.
        n_unknown: people of the file who never consented here.
        n_absent: submissions here of the file's studies that it does not have: invented ids, or
            researchers who forgot to use a preview.
    """

    statuses: dict[str, int]
    n_freed: int
    n_returned: int
    n_kept: int
    n_incomplete: int
    n_unknown: int
    n_absent: int


def _read_statuses(frame: pd.DataFrame, where: object) -> dict[str, str]:
    """Submission -> its status in Prolific's list."""
    if missing := [name for name in (PERSON, SUBMISSION, STATUS) if name not in frame]:
        raise UserError(
            where,
            f'has no column "{missing[0]}".',
            "Export the submissions of the study from Prolific as CSV.",
        )
    status = frame[STATUS].str.strip().str.upper().str.replace(r"[-_\s]+", " ", regex=True)
    for line, word in status.items():
        if word not in KNOWN:
            fix = f"Known are {', '.join(sorted(KNOWN))}."
            raise UserError(
                f"{where}, line {line}", "has a status that is not one of Prolific's.", fix
            )
    submission = frame[SUBMISSION].str.strip()
    again = (
        pd.DataFrame({"submission": submission, "status": status})
        .drop_duplicates()["submission"]
        .duplicated()
    )
    if again.any():
        line = again.index[again][0]
        problem = (
            "has a submission a second time, with another status: which is the latest is not"
            " certain."
        )
        raise UserError(
            f"{where}, line {line}",
            problem,
            "Export the list again, and give one export at a time.",
        )
    return dict(zip(submission, status, strict=True))


def import_submissions(
    answers: Database, identities: Database, frame: pd.DataFrame, where: object
) -> Imported:
    """Note each submission's status, and free the lists of people who gave theirs back.

    Args:
        answers: the database.
        identities: the other one.
        frame: the file's cells as text; the index is the line.
        where: the file, for messages.

    Raises:
        UserError: a column is missing, a status is unknown, a submission has two, or none of this
            survey is in the list.
        UnavailableError: not everything was noted; call again.
    """
    statuses = _read_statuses(frame, where)
    pids = frame[PERSON].str.strip()
    with identities.write() as connection:
        by_pid = {
            row["pid"]: row["participant"]
            for row in connection.execute("SELECT pid, participant FROM people")
        }
        here = connection.execute(
            "SELECT * FROM submissions WHERE study != ?", (PREVIEW,)
        ).fetchall()
        # A list is of one study, or of some: it says nothing of the people of others.
        studies = {row["study"] for row in here if row["submission"] in statuses}
        if here and not studies:
            fix = "Export the submissions of the study whose link led people to this survey."
            raise UserError(where, f"has none of the {len(here)} submissions of this survey.", fix)
        outcomes = {
            (row["participant"], row["submission"]): statuses.get(row["submission"], ABSENT)
            for row in here
            if row["study"] in studies
        }
        connection.executemany(
            "UPDATE submissions SET outcome = ? WHERE participant = ? AND submission = ?",
            [(outcome, *key) for key, outcome in outcomes.items()],
        )
    # A session for which a person came back under another submission has its place as long as one
    # of them has.
    listed = {row["session"] for row in here if row["submission"] in statuses}
    of_session: dict[str, set[str]] = {}
    for row in here:
        outcome = outcomes.get((row["participant"], row["submission"]), row["outcome"] or "ACTIVE")
        if row["session"] and row["session"] in listed and outcome != ABSENT:
            of_session.setdefault(row["session"], set()).add(outcome)
    n_freed = n_returned = n_kept = n_incomplete = 0
    with answers.write() as connection:
        for session, words in of_session.items():
            row = connection.execute(
                "SELECT status, finished_at FROM sessions WHERE session = ?", (session,)
            ).fetchone()
            if row is None:
                continue
            is_finished, has_place = row["finished_at"] is not None, not words <= GIVEN_BACK
            n_incomplete += has_place and not is_finished
            if row["status"] == "returned" and has_place:  # the return was undone
                status_again = "complete" if is_finished else "active"
                connection.execute(
                    "UPDATE sessions SET status = ? WHERE session = ?", (status_again, session)
                )
            if has_place or row["status"] in ("returned", "ineligible"):
                continue
            if is_finished and RETURNED not in words:
                n_kept += 1
                continue
            connection.execute(
                "UPDATE sessions SET status = 'returned' WHERE session = ?", (session,)
            )
            count_tally(connection, "returned", answers.now())
            n_freed += 1
            n_returned += is_finished
    return Imported(
        statuses=dict(sorted(Counter(statuses.values()).items())),
        n_freed=n_freed,
        n_returned=n_returned,
        n_kept=n_kept,
        n_incomplete=n_incomplete,
        n_unknown=int((~pids.isin(list(by_pid))).sum()),
        n_absent=list(outcomes.values()).count(ABSENT),
    )


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
            n_sessions = connection.execute(
                "SELECT count(*) FROM sessions WHERE participant = ?", (person,)
            ).fetchone()[0]
            n_unknown += not n_sessions
            change = (
                "UPDATE sessions SET is_reopened = 1 WHERE participant = ? AND status = 'complete'"
                " AND NOT is_reopened"
            )
            n_changed += connection.execute(change, (person,)).rowcount
    return n_changed, n_unknown


#: A cookie lasts as long as a person may need to come back.
COOKIE_SECONDS = 14 * 24 * 3600
#: By how much the recruiter's clock and ours may differ.
LEEWAY_SECONDS = 120
#: Longer ids and tokens are refused before anything is computed from them.
LONGEST_ID = 200
LONGEST_TOKEN = 4096


class BadLinkError(Exception):
    """The link lacks what names a person, or it was changed on its way."""


@dataclass(frozen=True)
class Caller:
    """The person who makes a request.

    Attributes:
        kind: of their cookie.
        visitor: before consent.
        participant: after it.
    """

    kind: str = "none"
    visitor: Visitor | None = None
    participant: str = ""


class Doorkeeper:
    """Reads entry links and cookies.

    Args:
        settings: of the study.
        key: signs cookies.
        clock: the time in seconds since 1970.

    Raises:
        UserError: the file of public keys cannot be used.
    """

    def __init__(
        self, settings: Settings, key: bytes, clock: Callable[[], float] = time.time
    ) -> None:
        self.settings, self.key, self.clock = settings, key, clock
        self._pattern = re.compile(settings.id_pattern)
        self._public_keys = (
            _read_keys(Path(settings.signed.keys or "")) if settings.entry == "signed" else {}
        )

    def is_entry(self, query: Mapping[str, str]) -> bool:
        """Whether an address is an entry link, right or wrong."""
        return PREVIEW in query or (
            self.settings.entry != "open"
            and any(name in query for _, name in self.settings.parameters)
        )

    def read_link(self, query: Mapping[str, str]) -> Visitor:
        """The person whom an entry link names.

        Raises:
            BadLinkError: a parameter is missing or malformed, or the signature does not hold.
        """
        if PREVIEW in query:
            return self._read_preview(query[PREVIEW])
        names = self.settings.parameters.model_dump()
        if self.settings.entry == "signed":
            query = self._verify(query.get(names["token"], ""))
        values = [query.get(names[role]) for role in ("participant", "study", "submission")]
        for value in values:
            if (
                not isinstance(value, str)
                or len(value) > LONGEST_ID
                or not self._pattern.fullmatch(value)
            ):
                raise BadLinkError
        visitor = Visitor(*map(str, values))
        if (
            visitor.is_preview
        ):  # an id_pattern may let the word through, which would take part in a closed study
            raise BadLinkError
        return visitor

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
                leeway=LEEWAY_SECONDS,
                options={"require": ["exp", "aud"], "verify_exp": False},
            )
            if float(claims["exp"]) + LEEWAY_SECONDS <= self.clock():
                raise BadLinkError
            parameters = claims[self.settings.signed.claim]
        except (jwt.PyJWTError, KeyError, TypeError, ValueError) as error:
            raise BadLinkError from error
        if not isinstance(parameters, dict):
            raise BadLinkError
        return parameters

    def _read_preview(self, token: str) -> Visitor:
        """Somebody new whenever the link is opened, so that a researcher can begin again."""
        if self._read_own(token, f"{self.settings.study}/{PREVIEW}") is None:
            raise BadLinkError
        name = f"{PREVIEW}-{secrets.token_hex(12)}"
        return Visitor(name, PREVIEW, name)

    def write_cookie(self, kind: str, visitor: Visitor | None = None, participant: str = "") -> str:
        """A signed cookie.

        Args:
            kind: entry (before consent), declined, person (consented), withdrawn, paid (withdrawn
                after the end), gone (withdrawn before) or refused.
            visitor: who, before consent; kept on their own device only.
            participant: the random key, after consent.
        """
        claims: dict[str, Any] = {"kind": kind}
        claims |= {"visitor": asdict(visitor)} if visitor else {}
        claims |= {"participant": participant} if participant else {}
        return sign(self.key, self.settings.study, self.clock() + COOKIE_SECONDS, claims)

    def read_cookie(self, value: str | None) -> Caller:
        """The person who makes a request; nobody where the cookie is missing, forged or out of
        date.
        """
        claims = self._read_own(value or "", self.settings.study)
        try:
            if claims is None:
                return Caller()
            visitor = Visitor(**claims["visitor"]) if "visitor" in claims else None
            return Caller(claims["kind"], visitor, claims.get("participant", ""))
        except (KeyError, TypeError):
            return Caller()

    def _read_own(self, token: str, audience: str) -> dict[str, Any] | None:
        """Claims that this survey signed; None where it did not, or too long ago."""
        try:
            claims: dict[str, Any] = jwt.decode(
                token[:LONGEST_TOKEN],
                self.key,
                algorithms=["HS256"],
                audience=audience,
                options={"verify_exp": False},
            )
            return claims if claims["exp"] > self.clock() else None
        except (jwt.PyJWTError, KeyError, TypeError, ValueError):
            return None


def sign(key: bytes, audience: str, until: float, claims: Mapping[str, Any]) -> str:
    """A word that only this survey can have written.

    Args:
        key: of the survey.
        audience: the study's cookies, or its previews.
        until: when it loses its force, in seconds since 1970.
        claims: what it says.
    """
    return jwt.encode({**claims, "exp": round(until), "aud": audience}, key, "HS256")


def preview_link(url: str, study: str, key: bytes) -> str:
    """A link by which researchers can look at the survey for a week; what they answer counts
    nowhere.
    """
    return f"{url}?{PREVIEW}={sign(key, f'{study}/{PREVIEW}', time.time() + 7 * 24 * 3600, {})}"


def _read_keys(path: Path) -> dict[str, Any]:
    """Key id -> RSA public key, from a JWKS file."""
    fix = "Save the recruiter's public keys (Prolific: /.well-known/study/jwks.json) in this file."
    try:
        keys = json.loads(path.read_text(encoding="utf-8"))["keys"]
        public_keys = {
            str(key.get("kid", "")): jwt.PyJWK(key).key for key in keys if key.get("kty") == "RSA"
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError, jwt.PyJWTError) as error:
        raise UserError(path, "is not a readable set of public keys (JWKS).", fix) from error
    if not public_keys:
        raise UserError(path, "contains no RSA key.", fix)
    return public_keys
