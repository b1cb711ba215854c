"""The folder of one running survey: its two databases, its key, and the questionnaire and settings
that it is for.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import random
import re
import secrets
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from worldprobe.errors import UserError
from worldprobe.files import refuse_checkout
from worldprobe_survey.settings import Settings
from worldprobe_survey.store import (
    ANSWER_TABLES,
    ANSWERS,
    IDENTITIES,
    IDENTITY_TABLES,
    Database,
    create,
    read_facts,
)

if TYPE_CHECKING:
    import pandas as pd


#: Why a survey's folder must not be in a repository.
DATA = "it is for data of people"
KEY = "key"
#: Needed besides the databases to list identities; may be kept elsewhere, as the survey does not
#: need it.
TOKEN = "identities-token"


@dataclass(frozen=True)
class Survey:
    """Everything that a request needs.

    Attributes:
        settings: of the study.
        questionnaire: its lists.
        answers: ratings and sessions, under random keys.
        identities: who the people are.
        key: signs cookies.
        trials: what each list shows; a trial's number is its place there.
        design: digest of all that shapes the answers; every session carries it.
    """

    settings: Settings
    questionnaire: Questionnaire
    answers: Database
    identities: Database
    key: bytes
    trials: Mapping[str, tuple[Trial, ...]]
    design: str

    def close(self) -> None:
        """Close both databases; their logs are moved into the files."""
        self.answers.close()
        self.identities.close()


def open_survey(
    folder: Path,
    questionnaire: Questionnaire,
    settings: Settings,
    clock: Callable[[], float] | None = None,
    *,
    url: str = "",
    is_change_accepted: bool = False,
) -> Survey:
    """Open the folder of a survey, creating what is missing.

    Args:
        folder: of this survey alone; created, readable by its owner only.
        questionnaire: its lists.
        settings: of the study.
        clock: the time in seconds since 1970; None is ``store.steady_clock``.
        url: where it is served, for the links of previews.
        is_change_accepted: go on though people answered under another design; every session says
            under which.

    Raises:
        UserError: the folder belongs to other lists, another study or a newer worldprobe, cannot be
            written, can be read by others or would be published by git; or the design has changed.
    """
    refuse_checkout(folder, DATA)
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        _check_modes(folder)
        key = _read_key(folder / KEY)
        facts = {
            "study": settings.study,
            "lists_digest": questionnaire.digest,
            "participation": settings.participation,
        }
        facts["practice"] = str(settings.practice).lower()
        for name, tables, rows in (
            (ANSWERS, ANSWER_TABLES, _list_rows(questionnaire, settings)),
            (IDENTITIES, IDENTITY_TABLES, None),
        ):
            path = folder / name
            if not path.exists():
                all_facts = facts | (
                    {"token_digest": _write_token(folder / TOKEN)} if name == IDENTITIES else {}
                )
                with contextlib.suppress(FileExistsError):
                    create(path, tables, all_facts, rows)
            _check_facts(path, facts)
        trials = {name: shown_trials(questionnaire, settings, name) for name in questionnaire.lists}
        answers, identities = (Database(folder / name, clock) for name in (ANSWERS, IDENTITIES))
        try:
            design = _note_design(
                answers, describe_design(questionnaire, settings), is_change_accepted, folder
            )
        except UserError:
            answers.close()
            identities.close()
            raise
        survey = Survey(settings, questionnaire, answers, identities, key, trials, design)
        _note_settings(survey, url)
        return survey
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise UserError(
            folder, f"cannot be used ({reason}).", "Choose a folder that you may write in."
        ) from error
    except sqlite3.OperationalError as error:
        raise UserError(
            folder,
            f"its databases cannot be used ({error}).",
            "Free disk space, or choose a local disk.",
        ) from error


def shown_trials(questionnaire: Questionnaire, settings: Settings, name: str) -> tuple[Trial, ...]:
    """Trials of a list: examples first where the settings want them, then its own trials."""
    return (
        *(questionnaire.wording(name).practice if settings.practice else ()),
        *questionnaire.lists[name].trials,
    )


def _check_modes(folder: Path) -> None:
    """Refuse a folder that others can read or change.

    Raises:
        UserError: naming the first such file.
    """
    for path in (
        folder,
        *sorted(
            path for name in (ANSWERS, IDENTITIES, KEY, TOKEN) for path in folder.glob(f"{name}*")
        ),
    ):
        mode = path.stat().st_mode & 0o777
        if mode & 0o077:
            raise UserError(
                path,
                f"is open to other users of this machine (mode {mode:o}).",
                f"Run: chmod -R go= {folder}",
            )


#: Settings that shape no answer, or that stand in the design by their texts.
_NOT_DESIGN = {
    "codes",
    "contact",
    "ratings_per_item",
    "new_per_minute",
    "max_minutes",
    "entry",
    "parameters",
    "id_pattern",
}
_NOT_DESIGN |= {
    "signed",
    "return_url",
    "another_submission",
    "consent",
    "texts",
    "debriefing",
    "retention_days",
}


def describe_design(questionnaire: Questionnaire, settings: Settings) -> dict[str, object]:
    """All that shapes the answers, besides the lists: settings, words and consent."""
    return {
        **settings.model_dump(mode="json", exclude=_NOT_DESIGN),
        "prompts": {
            name: asdict(wording) for name, wording in sorted(questionnaire.wordings.items())
        },
        "consent": settings.consent_text,
        "debriefing": settings.debriefing_text,
        "texts": settings.page_texts,
    }


def _note_design(
    answers: Database, design: Mapping[str, object], is_change_accepted: bool, folder: Path
) -> str:
    """Note the design under which people answer from now on; its digest.

    Raises:
        UserError: people answered under others only, and the change is not accepted.
    """
    content = json.dumps(design, sort_keys=True)
    digest = hashlib.sha256(content.encode()).hexdigest()
    with answers.write() as connection:
        query = (
            "SELECT content FROM designs JOIN real_sessions USING (design) ORDER BY started_at DESC"
            " LIMIT 1"
        )
        last = connection.execute(query).fetchone()
        row = connection.execute("SELECT 1 FROM designs WHERE design = ?", (digest,)).fetchone()
        if last and not row and not is_change_accepted:
            before = json.loads(last["content"])
            changed = sorted(
                key for key in {*before, *design} if before.get(key) != json.loads(content).get(key)
            )
            problem = f"people have answered with another value of {', '.join(changed)}."
            fix = (
                "Undo the change, use a new folder, or accept it by --changed: every session then"
                " says which design it had."
            )
            raise UserError(folder, problem, fix)
        connection.execute(
            "INSERT OR IGNORE INTO designs VALUES (?, ?, ?)", (digest, answers.now(), content)
        )
    return digest


def open_databases(
    folder: Path, clock: Callable[[], float] | None = None
) -> tuple[Database, Database]:
    """The answers and the identities of a survey that may be running, for the commands that need
    neither lists nor settings.

    Raises:
        UserError: the folder contains no survey of this version.
    """
    for name in (ANSWERS, IDENTITIES):
        read_facts(folder / name)
    return Database(folder / ANSWERS, clock), Database(folder / IDENTITIES, clock)


def check_token(identities: Database, path: Path) -> None:
    """Compare a file with the token that the survey wrote when it was created.

    Raises:
        UserError: it is not that token.
    """
    try:
        token = path.read_bytes()[:1000].strip()
    except OSError as error:
        raise UserError(
            path, f"cannot be read ({error.strerror}).", "Give the survey's file identities-token."
        ) from error
    if not is_token(identities, token):
        raise UserError(
            path,
            "is not the token of this survey.",
            "Give the file identities-token that `human serve` wrote.",
        )


def is_token(identities: Database, token: bytes) -> bool:
    """Whether this is the token that the survey wrote when it was created."""
    wanted = read_fact(identities, "token_digest")
    return hmac.compare_digest(hashlib.sha256(token).hexdigest(), wanted)


def read_fact(database: Database, name: str) -> str:
    """A fact of a database about its survey: noted when it was last served, or closed_at; empty
    where it is not known.
    """
    with database.read() as connection:
        row = connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
    return str(row[0]) if row else ""


def write_fact(answers: Database, name: str, value: object) -> None:
    """Note something about the survey."""
    with answers.write() as connection:
        connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, str(value)))


def _note_settings(survey: Survey, url: str) -> None:
    """Note what may change from one start to the next, such as a higher number of people."""
    settings = survey.settings
    wanted = -(-settings.ratings_per_item // survey.questionnaire.n_rounds)
    noted: dict[str, object] = {"expiry_ms": settings.expiry_ms, "wanted_per_list": wanted}
    noted |= {
        "retention_days": settings.retention_days,
        "complete_code": settings.codes.complete or "",
        "url": url,
    }
    with survey.answers.read() as connection:
        has_people = connection.execute("SELECT EXISTS (SELECT 1 FROM real_sessions)").fetchone()[0]
    if has_people and (
        promised := read_fact(survey.answers, "retention_days")
    ):  # a longer time was not agreed to
        noted["retention_days"] = min(settings.retention_days, int(promised))
    for name, value in noted.items():
        write_fact(survey.answers, name, value)


def _write_secret(path: Path) -> bytes:
    """A new random word, in a file that only its owner can read."""
    secret = secrets.token_hex(32).encode()
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(handle, "wb") as stream:
        stream.write(secret)
    return secret


def _write_token(path: Path) -> str:
    return hashlib.sha256(_write_secret(path)).hexdigest()


def _read_key(path: Path) -> bytes:
    if not path.exists():
        _write_secret(path)
    key = path.read_bytes().strip()
    if len(key) < 32:
        raise UserError(
            path,
            "is too short to sign cookies with.",
            "Delete it: a new one is made, and people enter again by their links.",
        )
    return key


def _list_rows(
    questionnaire: Questionnaire, settings: Settings
) -> Callable[[sqlite3.Connection], None]:
    def insert(connection: sqlite3.Connection) -> None:
        for rating_list in questionnaire.lists.values():
            trials = shown_trials(questionnaire, settings, rating_list.name)
            connection.execute(
                "INSERT INTO lists VALUES (?, ?, ?)",
                (rating_list.name, rating_list.eval_type, rating_list.domain),
            )
            rows = [
                (rating_list.name, number, trial.kind, trial.question)
                for number, trial in enumerate(trials)
            ]
            connection.executemany("INSERT INTO list_trials VALUES (?, ?, ?, ?)", rows)
        if settings.participation == "once":
            connection.execute("CREATE UNIQUE INDEX one_session ON sessions (participant)")

    return insert


def _check_facts(path: Path, wanted: dict[str, str]) -> None:
    facts = read_facts(path)
    for name, value in wanted.items():
        if facts.get(name) != value:
            label = {"lists_digest": "lists"}.get(name, name)
            problem = (
                f"was created for another value of {label}: {facts.get(name, 'none')}, not {value}."
            )
            raise UserError(
                path,
                problem,
                "Serve it with the lists and settings that it was created for, or give a new"
                " folder.",
            )


_SHOWN = ["kind", "question", "first_context", "second_context", "target"]


@dataclass(frozen=True)
class Trial:
    """One page with one answer.

    Attributes:
        kind: test, catch (the scenario says what to answer) or practice (an example before the
            first).
        question: its name in the lists; empty for practice. It never leaves the server: a catch
            trial's says what to answer.
        contexts: Likert: the one that is shown, or none for a catch trial; choice: two, in the
            order shown.
        target: the sentence after the context.
    """

    kind: str
    question: str
    contexts: tuple[str, ...]
    target: str


@dataclass(frozen=True)
class TrialList:
    """The trials of one person, in the order of the lists file.

    Attributes:
        name: the list's name.
        eval_type: likert or choice.
        domain: of its items; "mixed" where they come from several.
        round: each round contains every question once.
        trials: tests, and catch trials at their places.
    """

    name: str
    eval_type: str
    domain: str
    round: int
    trials: tuple[Trial, ...]


@dataclass(frozen=True)
class Wording:
    """The words around the trials of one way of asking.

    Attributes:
        instructions: the page before the first trial, word for word.
        task: the question under each trial, word for word.
        answers: the labels of the buttons; the first is answer 1.
        practice: examples with which a person begins.
    """

    instructions: str
    task: str
    answers: tuple[str, ...]
    practice: tuple[Trial, ...] = ()


@dataclass(frozen=True)
class Questionnaire:
    """All lists of a survey.

    Attributes:
        digest: of the lists; every rating carries it.
        lists: by name.
        wordings: by eval type.
        language: code of the language that lists and words are in.
    """

    digest: str
    lists: Mapping[str, TrialList]
    wordings: Mapping[str, Wording]
    language: str = "en"

    def wording(self, name: str) -> Wording:
        """The words around the trials of a list."""
        return self.wordings[self.lists[name].eval_type]

    @property
    def n_rounds(self) -> int:
        """How many lists contain each question."""
        return max(rating_list.round for rating_list in self.lists.values())


def read_questionnaire(
    frame: pd.DataFrame, digest: str, wordings: Mapping[str, Wording], language: str = "en"
) -> Questionnaire:
    """The lists of a table (contracts.StudyLists of ``worldprobe_survey``).

    Args:
        frame: its rows.
        digest: of the set of lists.
        wordings: by eval type.
        language: code of theirs.
    """
    lists = {}
    for name, rows in frame.sort_values(["list", "position"]).groupby("list", sort=True):
        domains = sorted(set(rows["domain"].dropna()))
        trials = tuple(
            Trial(
                str(kind),
                str(question),
                tuple(text for text in (first, second) if isinstance(text, str)),
                str(target),
            )
            for kind, question, first, second, target in rows[_SHOWN].itertuples(index=False)
        )
        domain = str(domains[0]) if len(domains) == 1 else "mixed"
        lists[str(name)] = TrialList(
            str(name), str(rows["eval_type"].iloc[0]), domain, int(rows["round"].iloc[0]), trials
        )
    return Questionnaire(digest, lists, wordings, language)


def read_wording(
    instructions: str,
    block: str,
    answers: Sequence[str],
    examples: Sequence[Mapping[str, str]],
    labels: Sequence[str] = (),
) -> Wording:
    r"""The words of a prompt, as people see them: without the headings and the place for an answer.

    Args:
        instructions: the prompt's instructions, under a heading.
        block: its block; the last section with words and without slots is the task.
        answers: its answers.
        examples: texts of its trial examples.
        labels: words beside the answers; the paper's where there are none.

    >>> wording = read_wording(
    ...     "# HOW\n\nRead.",
    ...     "## Scenario\n{target}\n\n## Task\nRate it.\n\n## Response",
    ...     ["1", "2"],
    ...     [],
    ... )
    >>> wording.instructions, wording.task, wording.answers
    ('Read.', 'Rate it.', ('Context 1', 'Context 2'))
    """
    paragraphs = [line for line in instructions.splitlines() if not line.startswith("#")]
    sections = [part.strip() for part in re.split(r"(?m)^##.*$", block)]
    task = next((part for part in reversed(sections) if part and "{" not in part), "")
    labels = labels or (
        ("Context 1", "Context 2")
        if len(answers) == 2
        else ("makes no sense", "", "", "", "makes perfect sense")
    )
    practice = tuple(
        Trial(
            "practice",
            "",
            tuple(example[name] for name in sorted(example) if name.startswith("context")),
            example["target"],
        )
        for example in examples
    )
    return Wording("\n".join(paragraphs).strip(), task, tuple(labels), practice)


def shuffled(trials: Sequence[Trial], seed: int, is_shuffled: bool = True) -> list[int]:
    """The order in which one person sees a list: indices of its trials.

    Catch trials keep their places, at which the list has spread them; the tests between them are
    shuffled.

    Args:
        trials: of the list.
        seed: the person's, which is stored.
        is_shuffled: False: the list's own order, as in the paper.

    >>> trials = [Trial(kind, "", (), "") for kind in ("test", "catch", "test", "test")]
    >>> shuffled(trials, seed=3)
    [0, 1, 3, 2]
    >>> shuffled(trials, seed=3, is_shuffled=False)
    [0, 1, 2, 3]
    """
    order = list(range(len(trials)))
    if is_shuffled:
        tests = [index for index in order if trials[index].kind == "test"]
        moved = iter(random.Random(seed).sample(tests, len(tests)))
        order = [next(moved) if trials[index].kind == "test" else index for index in order]
    return order
