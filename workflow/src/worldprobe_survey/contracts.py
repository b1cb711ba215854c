"""Tables of a study with people: what the survey shows, what stays with us, and what comes back.

The survey reads ``StudyLists`` alone. Which answer is right, and which items a question stands for,
is in ``ListKeys``, which the survey never opens; the two are joined again when the answers are
cleaned. An export is a folder with three tables: ``RawRatings`` (a row per trial), ``Participants``
(a row per session) and ``Demographics`` (a row per person), each also as CSV.
"""

from __future__ import annotations

from worldprobe.contracts import Table, column

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
#: Why a person's correlation with the others is not defined; not_measured: left out by an earlier
#: step.
ISC_STATUSES = ("defined", "constant", "too_few", "no_co_rater", "constant_others", "not_measured")
DAY = r"^\d{4}-\d\d-\d\d$"


class StudyLists(Table, name="study_lists", version=1, key=["list", "position"]):
    """All that the survey needs: one row per trial of a list, without ids of items, labels or
    expected answers.

    Texts are shown as they are written here. Likert: ``first_context`` and ``target``, joined by a
    space, are the scenario. Choice: ``first_context`` is shown as context 1, ``second_context`` as
    context 2, ``target`` is the scenario. Catch: the whole scenario is ``target``, which says what
    to answer.
    """

    list: str = column(str_matches=LIST)
    position: int = column(
        gt=0, description="Counts the trials of a list from 1, catch trials included."
    )
    question: str = column(
        str_matches=QUESTION, description="Digest of the texts; a question is in one list a round."
    )
    kind: str = column(isin=KINDS)
    eval_type: str = column(isin=EVAL_TYPES, description="One for all trials of a list.")
    round: int = column(
        gt=0, description="One for all trials of a list; each round has every question once."
    )
    domain: str = column(nullable=True, description="Missing: catch trial.")
    version: int = column(ge=-1, description="-1: catch trial.")
    first_context: str = column(nullable=True, description="Missing: catch trial.")
    second_context: str = column(nullable=True, description="Choice only.")
    target: str


class ListKeys(
    Table,
    name="list_keys",
    version=1,
    key=["eval_type", "kind", "item_id", "target", "context", "question"],
    unique=["question", "item_id", "target", "context"],
):
    """The answer key, which never leaves our hands: one row per question and item that it stands
    for.

    Several items can have the same sentences; the question is then asked once and counts for all of
    them.
    """

    question: str = column(str_matches=QUESTION)
    kind: str = column(isin=KINDS)
    eval_type: str = column(isin=EVAL_TYPES)
    item_id: str = column(description="Empty: catch trial.")
    target: int = column(isin=[0, 1, 2], description="0: catch trial.")
    context: int = column(
        isin=[0, 1, 2], description="Likert: the item's context that is shown; choice: shown first."
    )
    unit: str = column(
        description="Nobody sees two questions of a unit: template, or what --unit names."
    )
    expected: int = column(
        ge=1, le=5, description="Likert: 5 plausible, 1 not; choice, catch: the right answer."
    )


class ListBalance(Table, name="list_balance", version=1, key=["list"]):
    """How even a list is: numbers of its test trials, by expected answer and by version and
    domain.
    """

    list: str = column(str_matches=LIST)
    eval_type: str = column(isin=EVAL_TYPES)
    round: int = column(gt=0)
    domains: str = column(description="Comma-joined.")
    n_trials: int = column(ge=0, description="Without catch trials.")
    n_catch: int = column(ge=0)
    n_high: int = column(
        ge=0, description="Likert: plausible; choice: the context shown second is right."
    )
    n_low: int = column(
        ge=0, description="Likert: implausible; choice: the context shown first is right."
    )
    version_spread: int = column(
        ge=0, description="Trials of the most frequent minus the least frequent version."
    )
    domain_spread: int = column(
        ge=0,
        description=(
            "Largest difference of a domain's trials between this list and any other of its round"
            " and kind."
        ),
    )


class RawRatings(Table, name="raw_ratings", version=2, key=["participant", "session", "position"]):
    """An export's answers: one row per trial that was shown. No text, no address, no identity."""

    participant: str = column(str_matches=PARTICIPANT, description="A random key, one per person.")
    session: int = column(
        gt=0, description="Counts a person's sessions (lists) from 1 in the order of their start."
    )
    list: str = column(str_matches=LIST)
    position: int = column(gt=0, description="Of the trial in the list.")
    presented: int = column(gt=0, description="Order in which this person saw the trials, from 1.")
    question: str = column(str_matches=QUESTION)
    kind: str = column(isin=KINDS)
    eval_type: str = column(isin=EVAL_TYPES)
    response: str = column(
        nullable=True, description='As given, "1" to "5" or "1" and "2"; missing: none was given.'
    )
    rt_ms: float = column(
        ge=0, nullable=True, description="From sight to answer, as the browser measured it."
    )
    is_resumed: bool = column(description="The page was loaded again between sight and answer.")
    n_blurs: int = column(ge=0, description="How often the window lost the focus during the trial.")
    lists_digest: str = column(
        str_matches=DIGEST, description="Digest of the set of lists that was shown."
    )


class Participants(Table, name="participants", version=2, key=["participant", "session"]):
    """An export's sessions: one row per person and list taken."""

    participant: str = column(str_matches=PARTICIPANT)
    session: int = column(gt=0)
    list: str = column(str_matches=LIST)
    eval_type: str = column(isin=EVAL_TYPES)
    status: str = column(
        isin=STATUSES,
        description=(
            "expired: the place went to another person; returned: given back on the platform."
        ),
    )
    is_late: bool = column(description="Finished after the place had expired.")
    day: str = column(
        str_matches=DAY,
        description="On which the session began (UTC); times of day would lead back to people.",
    )
    minutes: float = column(
        ge=0,
        nullable=True,
        description="From consent to the last answer, rounded; missing: never finished.",
    )
    n_tries: int = column(
        ge=0, description="Tries at the question about the instructions; the last one was right."
    )
    design: str = column(
        str_matches=DIGEST,
        description="Digest of settings, words and consent; designs.json has them.",
    )
    lists_digest: str = column(str_matches=DIGEST)


class Demographics(Table, name="demographics", version=1, key=["participant"]):
    """An export's people, in a table of their own; missing: not asked, or preferred not to say."""

    participant: str = column(str_matches=PARTICIPANT)
    age: float = column(ge=18, le=120, nullable=True, description="Years.")
    gender: str = column(nullable=True)
    country: str = column(nullable=True)
    first_language: str = column(nullable=True)


class CleanAnswers(
    Table,
    name="clean_answers",
    version=1,
    key=["eval_type", "participant", "session", "question"],
    unique=["participant", "session", "question"],
):
    """The answers that count after cleaning: one row per person and question."""

    participant: str = column(str_matches=PARTICIPANT)
    session: int = column(gt=0)
    list: str = column(str_matches=LIST)
    question: str = column(str_matches=QUESTION)
    eval_type: str = column(isin=EVAL_TYPES)
    cell: str = column(
        description=(
            "The sub-item: Likert a question; Choice a target with two contexts in either order."
        )
    )
    answer: int = column(ge=1, le=5, description="As given.")
    value: int = column(
        ge=1,
        le=5,
        description="Likert: the rating; Choice: the context chosen, as the item has them.",
    )
    expected: int = column(ge=1, le=5)
    rt_ms: float = column(ge=0, nullable=True)


class CleaningSteps(Table, name="cleaning_steps", version=1, key=["position"]):
    """What each step of cleaning left: ratings (without catch trials) and people, before and
    after.
    """

    position: int = column(gt=0)
    step: str = column(description="From human.cleaning.STEPS; isc has a row for each pass.")
    pass_number: int = column(
        ge=0, description="Of the correlation; 0 elsewhere, and where no pass excluded anybody."
    )
    is_on: bool = column(description="False: switched off.")
    n_ratings_before: int = column(ge=0)
    n_ratings_after: int = column(ge=0)
    n_people_before: int = column(ge=0)
    n_people_after: int = column(ge=0)


class Raters(Table, name="raters", version=1, key=["participant"]):
    """Everybody in the export: how they agree with the others, and which step left them out."""

    participant: str = column(str_matches=PARTICIPANT)
    eval_type: str = column(isin=EVAL_TYPES)
    r: float = column(
        ge=-1,
        le=1,
        nullable=True,
        description="With the mean of the others, in the last pass that the person was in.",
    )
    std_error: float = column(ge=0, nullable=True, description="sqrt((1 - r^2) / (n - 2)).")
    n_corated: int = column(ge=0, description="Questions that someone else answered too.")
    isc_status: str = column(isin=ISC_STATUSES)
    pass_number: int = column(ge=0, description="The pass that excluded the person; 0: none did.")
    excluded_by: str = column(description="The step; empty: the person's answers count.")


class SubItems(Table, name="sub_items", version=1, key=["eval_type", "cell"]):
    """Every sub-item that was to be asked: how many answers count, and what they say."""

    cell: str
    eval_type: str = column(isin=EVAL_TYPES)
    n_items: int = column(gt=0, description="Items that have these sentences.")
    n: int = column(ge=0)
    mean: float = column(
        ge=1,
        le=5,
        nullable=True,
        description="Likert: of the ratings; Choice: of the contexts chosen.",
    )
    sd: float = column(ge=0, nullable=True, description="With n - 1; missing below two.")
    min: float = column(ge=1, le=5, nullable=True)
    max: float = column(ge=1, le=5, nullable=True)
    median_rt_ms: float = column(ge=0, nullable=True)
    status: str = column(isin=["ok", "below_minimum", "missing"])


class PeopleCounts(Table, name="people_counts", version=1, key=["attribute", "answer"]):
    """Who took part: counts only; answers that fewer than five people gave are merged."""

    attribute: str = column(isin=["age", "gender", "country", "first_language"])
    answer: str
    n: int = column(ge=0)
