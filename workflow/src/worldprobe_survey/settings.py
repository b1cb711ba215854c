"""Settings of one survey: a YAML file, and the consent text that it names."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, PrivateAttr

from worldprobe.errors import UserError
from worldprobe.paths import RESOURCES
from worldprobe.settings.blocks import Block, Count, Distinct, Finding, Seed, Text, Whole, parse
from worldprobe.settings.documents import read_yaml

#: The paper's way, where ours differs: typed answers, the list's own order, no practice, no breaks,
#: no check of understanding.
PAPER = {
    "response": "text",
    "shuffle": False,
    "practice": False,
    "break_every": 0,
    "comprehension": False,
}
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
    """File of public keys (JWKS) next to this file; Prolific's are at
    api.prolific.com/.well-known/study/jwks.json.
    """

    audience: str | None = None
    """Value of the token's claim aud."""

    claim: str = "prolific"
    """Name of the claim that contains the parameters."""


class Codes(Block):
    """What people hand in at the end of each way through the survey; null asks them to return their
    submission.
    """

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
    """Settings of a survey."""

    study: _Id
    """Name of the survey and its cookie, of letters, digits, dashes and underscores; it must stay
    the same while the survey runs.
    """

    title: _Title
    """Title of the pages."""

    contact: _Title
    """Whom people write to; shown on the pages."""

    consent: Text
    """Markdown file of the consent page, next to this file. In it, `{{recorded}}` and `{{deleted}}`
    stand for what the survey says about itself, and `{{minutes}}` and `{{retention_days}}` for the
    settings. Text in `{{#ids}}...{{/ids}}` is shown only if links carry ids, text in
    `{{^ids}}...{{/ids}}` only with `entry: open`.
    """

    texts: Text = "en"
    """Words of all pages: a language in resources/survey/texts, or a YAML file next to this file.
    """

    debriefing: Text | None = None
    """Markdown file next to this file that is shown after the last answer."""

    style: Literal["ours", "paper"] = "ours"
    """How the survey asks; paper is as in the EWoK paper where ours differs (typed answers,
    unshuffled lists, no practice, no breaks, no check of understanding). `style: paper` means
    `response: text`, `shuffle: false`, `practice: false`, `break_every: 0` and `comprehension:
    false`.
    """

    entry: Literal["open", "prolific", "signed"] = "signed"
    """Who may take part. signed, links that Prolific signs; prolific, links with Prolific's
    parameters, which anybody can make up; open, everybody, once per browser.
    """

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
    """Minutes without an answer after which a reserved list returns to the pool; null is Prolific's
    limit, 2 + X + 2 sqrt(X) for X ``minutes``.
    """

    participation: Literal["once", "once_per_domain"] = "once"
    """How often a person may take part. once, one list; once_per_domain, one list of each domain,
    as in the paper.
    """

    another_submission: Literal["resume", "refuse"] = "refuse"
    """What happens when a person comes back with another submission id; resume needs signed links.
    """

    response: Literal["buttons", "text"] = "buttons"
    """How an answer is given. buttons, labelled buttons and number keys; text, the paper's box."""

    shuffle: bool = True
    """Whether every person sees the list in an order of their own."""

    practice: bool = True
    """Whether the survey begins with the prompt's examples."""

    break_every: Whole = 25
    """Number of trials after which a break is offered; 0 offers none."""

    comprehension: bool = True
    """Whether people are asked what the answers mean, and told if they are wrong, before they
    begin.
    """

    devices: Literal["any", "desktop"] = "any"
    """Devices that may be used; with desktop, people with phones are asked to come back with a
    computer.
    """

    demographics: Distinct[Literal["age", "gender", "country", "language"]] = [
        "age",
        "gender",
        "country",
        "language",
    ]
    """Questions before the first trial; each can be declined."""

    youngest: Annotated[int, Field(ge=18, le=120)] = 18
    """Lowest age of people who may take part; adults only."""

    languages: Distinct[Annotated[str, Field(min_length=1, max_length=60)]] = []
    """First languages with which people may take part; an empty list admits all."""

    new_per_minute: Count = 30
    """Most new people in a minute; others wait, and `human status` shows an alarm, so that invented
    ids cannot use up the lists unseen.
    """

    retention_days: Count = 90
    """Days for which identities are kept after `human close` ended the study; the consent states
    them.
    """

    seed: Seed = 0
    """Seed of the choice among equally wanted lists and of each person's order."""

    _consent_text: str = PrivateAttr("")
    _debriefing_text: str = PrivateAttr("")
    _texts: dict[str, Any] = PrivateAttr(default_factory=dict)

    @property
    def consent_text(self) -> str:
        """The consent as people read it."""
        return self._consent_text

    @property
    def consent_digest(self) -> str:
        """SHA-256 of the consent, stored with every consent."""
        return hashlib.sha256(self._consent_text.encode()).hexdigest()

    @property
    def debriefing_text(self) -> str:
        """Content of the file that ``debriefing`` names."""
        return self._debriefing_text

    @property
    def page_texts(self) -> dict[str, Any]:
        """The words of all pages, by key."""
        return self._texts

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
            yield (
                ("return_url",),
                "does not begin with https:// or lacks {code}.",
                "Write the address with {code} in it.",
            )
        if self.entry != "open" and not self.codes.complete:
            problem = "is missing: people could not show that they took part."
            yield (
                ("codes", "complete"),
                problem,
                "Copy the completion code from Prolific's page of the study.",
            )
        if self.entry == "signed" and not (self.signed.keys and self.signed.audience):
            yield (
                ("signed",),
                "needs keys and audience with `entry: signed`.",
                "Name the JWKS file and the audience.",
            )
        if self.entry == "prolific" and self.another_submission == "resume":
            problem = "would let anybody who knows a person's id in, as links are not signed."
            yield (
                ("another_submission",),
                problem,
                "Write `entry: signed`, or `another_submission: refuse`.",
            )
        if (
            self.participation == "once_per_domain"
            and self.another_submission == "refuse"
            and self.entry != "open"
        ):
            fix = (
                "Write `another_submission: resume`: every list comes with a submission of its own."
            )
            yield (
                ("another_submission",),
                "refuses people who come for a list of another domain.",
                fix,
            )
        if self.max_minutes is not None and self.max_minutes < self.minutes:
            problem = f"is less than the {self.minutes:g} minutes that the survey takes."
            yield ("max_minutes",), problem, "Allow at least as many minutes as people are told."
        if self.languages and "language" not in self.demographics:
            yield (
                ("languages",),
                "needs the question about the first language.",
                "Add language to demographics.",
            )


def allowed_minutes(minutes: float) -> float:
    """Prolific's limit for a study that is estimated to take this long: 2 + X + 2 sqrt(X) minutes.

    >>> round(allowed_minutes(9), 1)
    17.0
    """
    return 2 + minutes + 2 * math.sqrt(minutes)


def read_survey_settings(path: Path) -> Settings:
    """Read a settings file and the texts that it names.

    Raises:
        UserError: an unknown or missing key, a value out of bounds, a missing file, a gap of a
            template that is not filled in, or settings that contradict each other.
    """
    source = read_yaml(path)
    refuse_gaps(path, path.read_text(encoding="utf-8"))
    settings = parse(Settings, source.document, [source])
    settings = settings.model_copy(update=PAPER) if settings.style == "paper" else settings
    settings._texts = read_page_texts(settings.texts, path.parent)
    for page, words in settings._texts.pop("open", {}).items() if settings.entry == "open" else ():
        settings._texts[page] |= words
    fix = "Copy resources/survey/consent.md, adapt it to your study, and name it here."
    settings._consent_text = write_consent(
        _read_text(path, "consent", settings.consent, fix), settings
    )
    if settings.debriefing:
        settings._debriefing_text = _read_text(
            path, "debriefing", settings.debriefing, "Write it, or leave the key out."
        )
    if settings.signed.keys is not None:
        settings.signed.keys = str(path.parent / settings.signed.keys)
    return settings


def _read_text(settings: Path, key: str, name: str, fix: str) -> str:
    path = settings.parent / name
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"{settings}: {key}", f"{path} cannot be read as UTF-8 text.", fix
        ) from error
    refuse_gaps(path, text)
    if not text.strip():
        raise UserError(path, "is empty.", "Write what people should read.")
    return text


def refuse_gaps(path: Path, text: str) -> None:
    """Refuse a template that is not filled in.

    Raises:
        UserError: naming the lines of its gaps.
    """
    lines = [number for number, line in enumerate(text.splitlines(), 1) if "[[" in line]
    if lines:
        problem = (
            f"still contains gaps, [[...]], of the template: on lines {', '.join(map(str, lines))}."
        )
        raise UserError(path, problem, "Fill them in.")


def read_page_texts(name: str, folder: Path) -> dict[str, Any]:
    """The words of all pages.

    Args:
        name: a language in resources/survey/texts, or a file.
        folder: of the settings, where the file is.

    Raises:
        UserError: there is no such file, or its keys are not those of the English one.
    """
    shipped = RESOURCES / "survey" / "texts"
    english = read_yaml(shipped / "en.yaml").document
    path = shipped / f"{name}.yaml" if (shipped / f"{name}.yaml").is_file() else folder / name
    texts = read_yaml(path).document
    page_keys = set(_keys_of(texts))
    english_keys = set(_keys_of(english))
    lacking = {key for key in english_keys - page_keys if not key.startswith("open.")}
    for problem, keys in (("lacks", lacking), ("has no use for", page_keys - english_keys)):
        if keys:
            raise UserError(
                path,
                f"{problem} {', '.join(sorted(keys))}.",
                "Translate each text of resources/survey/texts/en.yaml.",
            )
    return dict(texts)


def _keys_of(texts: Any, above: str = "") -> Iterator[str]:
    if isinstance(texts, dict):
        for key, value in texts.items():
            yield from _keys_of(value, f"{above}{key}.")
    else:
        yield above.rstrip(".")


#: What is stored about a person: its name in the texts. A test says which columns of the databases
#: each one is.
RECORDED = (
    "answers",
    "times",
    "attention",
    "demographics",
    "comment",
    "consent",
    "keys",
    "ids",
    "outcome",
    "owed",
)


def write_consent(text: str, settings: Settings) -> str:
    """The consent with what the survey says about itself in the places that the lab's text leaves
    for it.

    What stands between ``{{#ids}}`` and ``{{/ids}}`` is for people who come with an id, between
    ``{{^ids}}`` and ``{{/ids}}`` for those of an open survey, of whom no id is known.

    Raises:
        UserError: the text leaves no place for one of them.
    """
    words = settings.page_texts["consent"]
    other = "#" if settings.entry == "open" else "^"
    text = re.sub(
        r"\{\{([#^])ids\}\}(.*?)\{\{/ids\}\}",
        lambda part: "" if part[1] == other else part[2],
        text,
        flags=re.DOTALL,
    )
    numbers = {"minutes": f"{settings.minutes:g}", "retention_days": str(settings.retention_days)}
    recorded = [name for name in RECORDED if name != "demographics" or settings.demographics]
    if settings.entry == "open":
        recorded = [name for name in recorded if name not in ("ids", "outcome", "owed")]
    asked = ", ".join(
        settings.page_texts["demographics"][name]["name"] for name in settings.demographics
    )
    items = [words["recorded"][name].replace("{{demographics}}", asked) for name in recorded]
    filled = text.replace("{{recorded}}", "\n".join(f"- {item}" for item in items)).replace(
        "{{deleted}}", words["deleted"]
    )
    for name in ("{{recorded}}", "{{deleted}}"):
        if name not in text:
            fix = "Put it where people should read it; resources/survey/consent.md shows how."
            raise UserError(
                settings.consent,
                f"has no {name}, where the survey says what it stores and when it deletes it.",
                fix,
            )
    for name, value in numbers.items():
        filled = filled.replace(f"{{{{{name}}}}}", value)
    return filled
