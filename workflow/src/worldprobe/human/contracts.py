"""Tables of a study with people: what the survey shows, what stays with us, and what comes back.

The survey reads ``StudyLists`` alone. Which answer is right, and which items a question stands for, is in ``ListKeys``, which
the survey never opens; the two are joined again when the answers are cleaned. An export is a folder with three tables:
``RawRatings`` (a row per trial), ``Participants`` (a row per session) and ``Demographics`` (a row per person), each also as CSV.
"""

from __future__ import annotations

import pandera.pandas as pa
from pandera.typing import Series

from worldprobe.contracts import Table

EVAL_TYPES = ("likert", "choice")
KINDS = ("test", "catch")
#: The answers that can be given: a rating, or the position of the context that fits better.
ANSWERS = {"likert": (1, 2, 3, 4, 5), "choice": (1, 2)}
#: How a session ended. Of withdrawn people nothing is exported.
STATUSES = ("complete", "partial", "expired", "returned")

LIST = r"^[a-z0-9][a-z0-9_-]{0,127}$"
QUESTION = r"^(q[0-9a-f]{16}|catch-(likert|choice)-[1-5])$"
DIGEST = r"^[0-9a-f]{64}$"
PARTICIPANT = r"^[A-Za-z0-9_-]{8,64}$"
#: Why a person's correlation with the others is not defined; not_measured: left out by an earlier step.
ISC_STATUSES = ("defined", "constant", "too_few", "no_co_rater", "constant_others", "not_measured")
TIME = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$"


class StudyLists(Table):
    """All that the survey needs: one row per trial of a list, without ids of items, labels or expected answers.

    Texts are shown as they are written here. Likert: ``first_context`` and ``target``, joined by a space, are the scenario.
    Choice: ``first_context`` is shown as context 1, ``second_context`` as context 2, ``target`` is the scenario. Catch: the whole
    scenario is ``target``, which says what to answer.
    """

    list: Series[str] = pa.Field(str_matches=LIST)
    position: Series[int] = pa.Field(gt=0, description="Counts the trials of a list from 1, catch trials included.")
    question: Series[str] = pa.Field(str_matches=QUESTION, description="Digest of the texts; a question is in one list a round.")
    kind: Series[str] = pa.Field(isin=KINDS)
    eval_type: Series[str] = pa.Field(isin=EVAL_TYPES, description="One for all trials of a list.")
    round: Series[int] = pa.Field(gt=0, description="One for all trials of a list; each round has every question once.")
    domain: Series[str] = pa.Field(nullable=True, description="Missing: catch trial.")
    version: Series[int] = pa.Field(ge=-1, description="-1: catch trial.")
    first_context: Series[str] = pa.Field(nullable=True, description="Missing: catch trial.")
    second_context: Series[str] = pa.Field(nullable=True, description="Choice only.")
    target: Series[str]

    class Config(Table.Config):
        name = "study_lists"
        unique = ["list", "position"]
        metadata = {"version": 1, "key": ["list", "position"]}


class ListKeys(Table):
    """The answer key, which never leaves our hands: one row per question and item that it stands for.

    Several items can have the same sentences; the question is then asked once and counts for all of them.
    """

    question: Series[str] = pa.Field(str_matches=QUESTION)
    kind: Series[str] = pa.Field(isin=KINDS)
    eval_type: Series[str] = pa.Field(isin=EVAL_TYPES)
    item_id: Series[str] = pa.Field(description="Empty: catch trial.")
    target: Series[int] = pa.Field(isin=[0, 1, 2], description="0: catch trial.")
    context: Series[int] = pa.Field(isin=[0, 1, 2], description="Likert: the item's context that is shown; choice: shown first.")
    unit: Series[str] = pa.Field(description="Nobody sees two questions of a unit: template, or what --unit names.")
    expected: Series[int] = pa.Field(ge=1, le=5, description="Likert: 5 plausible, 1 not; choice, catch: the right answer.")

    class Config(Table.Config):
        name = "list_keys"
        unique = ["question", "item_id", "target", "context"]
        metadata = {"version": 1, "key": ["eval_type", "kind", "item_id", "target", "context", "question"]}


class ListBalance(Table):
    """How even a list is: numbers of its test trials, by expected answer and by version and domain."""

    list: Series[str] = pa.Field(str_matches=LIST)
    eval_type: Series[str] = pa.Field(isin=EVAL_TYPES)
    round: Series[int] = pa.Field(gt=0)
    domains: Series[str] = pa.Field(description="Comma-joined.")
    n_trials: Series[int] = pa.Field(ge=0, description="Without catch trials.")
    n_catch: Series[int] = pa.Field(ge=0)
    n_high: Series[int] = pa.Field(ge=0, description="Likert: plausible; choice: the context shown second is right.")
    n_low: Series[int] = pa.Field(ge=0, description="Likert: implausible; choice: the context shown first is right.")
    version_spread: Series[int] = pa.Field(ge=0, description="Trials of the most frequent minus the least frequent version.")
    domain_spread: Series[int] = pa.Field(
        ge=0, description="Largest difference of a domain's trials between this list and any other of its round and kind."
    )

    class Config(Table.Config):
        name = "list_balance"
        unique = ["list"]
        metadata = {"version": 1, "key": ["list"]}


class RawRatings(Table):
    """An export's answers: one row per trial that was shown. No text, no address, no identity."""

    participant: Series[str] = pa.Field(str_matches=PARTICIPANT, description="A random key, one per person.")
    session: Series[int] = pa.Field(gt=0, description="Counts a person's sessions (lists) from 1 in the order of their start.")
    list: Series[str] = pa.Field(str_matches=LIST)
    position: Series[int] = pa.Field(gt=0, description="Of the trial in the list.")
    presented: Series[int] = pa.Field(gt=0, description="Order in which this person saw the trials, from 1.")
    question: Series[str] = pa.Field(str_matches=QUESTION)
    kind: Series[str] = pa.Field(isin=KINDS)
    eval_type: Series[str] = pa.Field(isin=EVAL_TYPES)
    response: Series[str] = pa.Field(nullable=True, description='As given, "1" to "5" or "1" and "2"; missing: none was given.')
    rt_ms: Series[float] = pa.Field(ge=0, nullable=True, description="From sight to answer, as the browser measured it.")
    shown_at: Series[str] = pa.Field(str_matches=TIME, nullable=True, description="UTC, by the server's clock.")
    answered_at: Series[str] = pa.Field(str_matches=TIME, nullable=True, description="UTC, by the server's clock.")
    is_resumed: Series[bool] = pa.Field(description="The page was loaded again between sight and answer.")
    n_blurs: Series[int] = pa.Field(ge=0, description="How often the window lost the focus during the trial.")
    lists_digest: Series[str] = pa.Field(str_matches=DIGEST, description="Digest of the set of lists that was shown.")

    class Config(Table.Config):
        name = "raw_ratings"
        unique = ["participant", "session", "position"]
        metadata = {"version": 1, "key": ["participant", "session", "position"]}


class Participants(Table):
    """An export's sessions: one row per person and list taken."""

    participant: Series[str] = pa.Field(str_matches=PARTICIPANT)
    session: Series[int] = pa.Field(gt=0)
    list: Series[str] = pa.Field(str_matches=LIST)
    eval_type: Series[str] = pa.Field(isin=EVAL_TYPES)
    status: Series[str] = pa.Field(
        isin=STATUSES, description="expired: the place went to another person; returned: given back on the platform."
    )
    is_late: Series[bool] = pa.Field(description="Finished after the place had expired.")
    started_at: Series[str] = pa.Field(str_matches=TIME)
    finished_at: Series[str] = pa.Field(str_matches=TIME, nullable=True, description="Missing: never finished.")
    lists_digest: Series[str] = pa.Field(str_matches=DIGEST)

    class Config(Table.Config):
        name = "participants"
        unique = ["participant", "session"]
        metadata = {"version": 1, "key": ["participant", "session"]}


class Demographics(Table):
    """An export's people, in a table of their own; missing: not asked, or preferred not to say."""

    participant: Series[str] = pa.Field(str_matches=PARTICIPANT)
    age: Series[float] = pa.Field(ge=18, le=120, nullable=True, description="Years.")
    gender: Series[str] = pa.Field(nullable=True)
    country: Series[str] = pa.Field(nullable=True)
    first_language: Series[str] = pa.Field(nullable=True)

    class Config(Table.Config):
        name = "demographics"
        unique = ["participant"]
        metadata = {"version": 1, "key": ["participant"]}


class CleanAnswers(Table):
    """The answers that count after cleaning: one row per person and question."""

    participant: Series[str] = pa.Field(str_matches=PARTICIPANT)
    session: Series[int] = pa.Field(gt=0)
    list: Series[str] = pa.Field(str_matches=LIST)
    question: Series[str] = pa.Field(str_matches=QUESTION)
    eval_type: Series[str] = pa.Field(isin=EVAL_TYPES)
    cell: Series[str] = pa.Field(
        description="The sub-item: Likert a question; Choice a target with two contexts in either order."
    )
    answer: Series[int] = pa.Field(ge=1, le=5, description="As given.")
    value: Series[int] = pa.Field(ge=1, le=5, description="Likert: the rating; Choice: the context chosen, as the item has them.")
    expected: Series[int] = pa.Field(ge=1, le=5)
    rt_ms: Series[float] = pa.Field(ge=0, nullable=True)

    class Config(Table.Config):
        name = "clean_answers"
        unique = ["participant", "session", "question"]
        metadata = {"version": 1, "key": ["eval_type", "participant", "session", "question"]}


class CleaningSteps(Table):
    """What each step of cleaning left: ratings (without catch trials) and people, before and after."""

    position: Series[int] = pa.Field(gt=0)
    step: Series[str] = pa.Field(description="From human.cleaning.STEPS; isc has a row for each pass.")
    pass_number: Series[int] = pa.Field(ge=0, description="Of the correlation; 0 elsewhere, and where no pass excluded anybody.")
    is_on: Series[bool] = pa.Field(description="False: switched off.")
    n_ratings_before: Series[int] = pa.Field(ge=0)
    n_ratings_after: Series[int] = pa.Field(ge=0)
    n_people_before: Series[int] = pa.Field(ge=0)
    n_people_after: Series[int] = pa.Field(ge=0)

    class Config(Table.Config):
        name = "cleaning_steps"
        unique = ["position"]
        metadata = {"version": 1, "key": ["position"]}


class Raters(Table):
    """Everybody in the export: how they agree with the others, and which step left them out."""

    participant: Series[str] = pa.Field(str_matches=PARTICIPANT)
    eval_type: Series[str] = pa.Field(isin=EVAL_TYPES)
    r: Series[float] = pa.Field(
        ge=-1, le=1, nullable=True, description="With the mean of the others, in the last pass that the person was in."
    )
    std_error: Series[float] = pa.Field(ge=0, nullable=True, description="sqrt((1 - r^2) / (n - 2)).")
    n_corated: Series[int] = pa.Field(ge=0, description="Questions that someone else answered too.")
    isc_status: Series[str] = pa.Field(isin=ISC_STATUSES)
    pass_number: Series[int] = pa.Field(ge=0, description="The pass that excluded the person; 0: none did.")
    excluded_by: Series[str] = pa.Field(description="The step; empty: the person's answers count.")

    class Config(Table.Config):
        name = "raters"
        unique = ["participant"]
        metadata = {"version": 1, "key": ["participant"]}


class SubItems(Table):
    """Every sub-item that was to be asked: how many answers count, and what they say."""

    cell: Series[str]
    eval_type: Series[str] = pa.Field(isin=EVAL_TYPES)
    n_items: Series[int] = pa.Field(gt=0, description="Items that have these sentences.")
    n: Series[int] = pa.Field(ge=0)
    mean: Series[float] = pa.Field(
        ge=1, le=5, nullable=True, description="Likert: of the ratings; Choice: of the contexts chosen."
    )
    sd: Series[float] = pa.Field(ge=0, nullable=True, description="With n - 1; missing below two.")
    min: Series[float] = pa.Field(ge=1, le=5, nullable=True)
    max: Series[float] = pa.Field(ge=1, le=5, nullable=True)
    median_rt_ms: Series[float] = pa.Field(ge=0, nullable=True)
    status: Series[str] = pa.Field(isin=["ok", "below_minimum", "missing"])

    class Config(Table.Config):
        name = "sub_items"
        unique = ["eval_type", "cell"]
        metadata = {"version": 1, "key": ["eval_type", "cell"]}


class PeopleCounts(Table):
    """Who took part: counts only; answers that fewer than five people gave are merged."""

    attribute: Series[str] = pa.Field(isin=["age", "gender", "country", "first_language"])
    answer: Series[str]
    n: Series[int] = pa.Field(ge=0)

    class Config(Table.Config):
        name = "people_counts"
        unique = ["attribute", "answer"]
        metadata = {"version": 1, "key": ["attribute", "answer"]}
