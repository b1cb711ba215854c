"""Settings of one survey: a YAML file, and the consent text that it names."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field, PrivateAttr

from worldprobe.errors import UserError
from worldprobe.settings.blocks import Block, Count, Distinct, Finding, Seed, Text, Whole, parse
from worldprobe.settings.documents import read_yaml

#: The paper's way, where ours differs: typed answers, the list's own order, no practice, no breaks.
PAPER = {"response": "text", "shuffle": False, "practice": False, "break_every": 0}
_Id = Annotated[str, Field(pattern="^[A-Za-z0-9_-]{1,64}$")]
_Parameter = Annotated[str, Field(pattern="^[A-Za-z0-9_.-]{1,64}$")]
_Title = Annotated[str, Field(min_length=1, max_length=200)]


class Parameters(Block):
    """Names of the link's parameters."""

    participant: _Parameter = "PROLIFIC_PID"
    """Name of the parameter with the person."""

    study: _Parameter = "STUDY_ID"
    """Name of the parameter with the recruiter's study."""

    submission: _Parameter = "SESSION_ID"
    """Name of the parameter with the recruiter's submission."""

    token: _Parameter = "prolific_token"
    """Name of the parameter with the signed token."""


class Signed(Block):
    """With `entry: signed`, what a link's token (JWT, RS256) is verified against."""

    keys: str | None = None
    """File of public keys (JWKS) next to this file."""

    audience: str | None = None
    """Value of the token's claim aud."""

    claim: str = "prolific"
    """Name of the claim that contains the parameters."""


class Codes(Block):
    """What people hand in at the end of each way through the survey; null asks them to return their submission."""

    complete: _Id | None = None
    """Code of people who gave all answers."""

    no_consent: _Id | None = None
    """Code of people who refused consent."""

    ineligible: _Id | None = None
    """Code of people who are not eligible."""

    def findings(self) -> Iterator[Finding]:
        """One code for two outcomes."""
        codes = [code for _, code in self if code]
        if len(set(codes)) < len(codes):
            yield (), "uses one code for two outcomes.", "Give each outcome a code of its own."


class Settings(Block):
    """What is decided for a survey."""

    study: _Id
    """Name of the survey and its cookie, of letters, digits, dashes and underscores; it must stay the same while the survey
    runs."""

    title: _Title
    """Title of the pages."""

    contact: _Title
    """Whom people write to; shown on the pages."""

    consent: Text
    """Markdown file of the consent page, next to this file."""

    style: Literal["ours", "paper"] = "ours"
    """How the survey asks; paper is as in the EWoK paper where ours differs (typed answers, unshuffled lists, no practice, no
    breaks). `style: paper` means `response: text`, `shuffle: false`, `practice: false` and `break_every: 0`."""

    entry: Literal["open", "prolific", "signed"] = "prolific"
    """Who may take part. open, everybody, once per browser; prolific, links with Prolific's parameters; signed, signed
    links."""

    parameters: Parameters = Parameters()

    id_pattern: str = "[0-9a-f]{24}"
    """Regular expression that a person's, study's and submission's id must match whole."""

    signed: Signed = Signed()
    codes: Codes = Codes()

    return_url: str = "https://app.prolific.com/submissions/complete?cc={code}"
    """Where people go with their code, https, with {code} in it."""

    ratings_per_item: Count = 5
    """Number of people that should take each list."""

    minutes: Annotated[float, Field(ge=1, le=600)] = 15
    """How long the survey takes, as people are told."""

    max_minutes: Annotated[float, Field(ge=1)] | None = None
    """Minutes without an answer after which a reserved list returns to the pool; null is Prolific's limit, 2 + X + 2
    sqrt(X)."""

    participation: Literal["once", "once_per_domain"] = "once"
    """How often a person may take part. once, one list; once_per_domain, one list of each domain, as in the paper."""

    another_submission: Literal["resume", "refuse"] = "resume"
    """What happens when a person comes back with another submission id."""

    response: Literal["buttons", "text"] = "buttons"
    """How an answer is given. buttons, labelled buttons and number keys; text, the paper's box."""

    shuffle: bool = True
    """Whether every person sees the list in an order of their own."""

    practice: bool = True
    """Whether the survey begins with the prompt's examples."""

    break_every: Whole = 25
    """Number of trials after which a break is offered; 0 offers none."""

    devices: Literal["any", "desktop"] = "any"
    """Devices that may be used; with desktop, people with phones are asked to come back with a computer."""

    demographics: Distinct[Literal["age", "gender", "country", "language"]] = ["age", "gender", "country", "language"]
    """Questions before the first trial; each can be declined."""

    youngest: Annotated[int, Field(ge=18, le=120)] = 18
    """Lowest age of people who may take part; adults only."""

    languages: Distinct[Annotated[str, Field(min_length=1, max_length=60)]] = []
    """First languages with which people may take part; an empty list admits all."""

    new_per_minute: Count = 300
    """Most new people in a minute, so that invented ids cannot use up the lists unseen."""

    retention_days: Count = 90
    """How long identities are kept, as the consent says; `human purge` deletes older ones."""

    seed: Seed = 0
    """Seed of the choice among equally wanted lists and of each person's order."""

    _consent_text: str = PrivateAttr("")

    @property
    def consent_text(self) -> str:
        """Content of the file that ``consent`` names."""
        return self._consent_text

    @property
    def consent_digest(self) -> str:
        """SHA-256 of the consent, stored with every consent."""
        return hashlib.sha256(self._consent_text.encode()).hexdigest()

    @property
    def expiry_ms(self) -> int:
        """How long a reservation lasts without an answer, in milliseconds."""
        return round((self.max_minutes or allowed_minutes(self.minutes)) * 60_000)

    @property
    def cookie(self) -> str:
        """Name of this study's cookie: two studies on one host never read each other's."""
        return f"worldprobe_{hashlib.sha256(self.study.encode()).hexdigest()[:12]}"

    @property
    def return_origin(self) -> str:
        """Scheme and host of the page to which people return."""
        parts = urlsplit(self.return_url)
        return f"{parts.scheme}://{parts.netloc}"

    def findings(self) -> Iterator[Finding]:
        """Settings that contradict each other."""
        for key, value in PAPER.items() if self.style == "paper" else ():
            if key in self.model_fields_set and getattr(self, key) != value:
                problem = f"`style: paper` means `{key}: {str(value).lower()}`."
                yield (key,), problem, f"Remove {key}, or `style: paper`."
        try:
            re.compile(self.id_pattern)
        except re.error as error:
            yield ("id_pattern",), f"is not a regular expression ({error}).", "Correct it."
        if "{code}" not in self.return_url or urlsplit(self.return_url).scheme != "https":
            yield ("return_url",), "does not begin with https:// or lacks {code}.", "Write the address with {code} in it."
        if self.entry != "open" and not self.codes.complete:
            problem = "is missing: people could not show that they took part."
            yield ("codes", "complete"), problem, "Copy the completion code from Prolific's page of the study."
        if self.entry == "signed" and not (self.signed.keys and self.signed.audience):
            yield ("signed",), "needs keys and audience with `entry: signed`.", "Name the JWKS file and the audience."
        if self.participation == "once_per_domain" and self.another_submission == "refuse":
            fix = "Write `another_submission: resume`: every list comes with a submission of its own."
            yield ("another_submission",), "refuses people who come for a list of another domain.", fix
        if self.languages and "language" not in self.demographics:
            yield ("languages",), "needs the question about the first language.", "Add language to demographics."


def allowed_minutes(minutes: float) -> float:
    """Prolific's limit for a study that is estimated to take this long: 2 + X + 2 sqrt(X) minutes.

    >>> round(allowed_minutes(9), 1)
    17.0
    """
    return 2 + minutes + 2 * math.sqrt(minutes)


def read_settings(path: Path) -> Settings:
    """Read a settings file and the text that it names.

    Raises:
        UserError: an unknown or missing key, a value out of bounds, a missing file, or settings that contradict each other.
    """
    source = read_yaml(path)
    settings = parse(Settings, source.document, [source])
    settings = settings.model_copy(update=PAPER) if settings.style == "paper" else settings
    consent = path.parent / settings.consent
    try:
        text = consent.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        fix = "Copy resources/survey/consent.md, adapt it to your study, and name it here."
        raise UserError(f"{path}: consent", f"{consent} cannot be read as UTF-8 text.", fix) from error
    if "[[" in text:
        lines = [number for number, line in enumerate(text.splitlines(), 1) if "[[" in line]
        problem = f"still contains gaps, [[...]], of the template: on lines {', '.join(map(str, lines))}."
        raise UserError(consent, problem, "Fill them in.")
    if not text.strip():
        raise UserError(consent, "is empty.", "Write what people consent to.")
    settings._consent_text = text
    if settings.signed.keys is not None:
        settings.signed.keys = str(path.parent / settings.signed.keys)
    return settings
