"""Tables of a study with people: what the survey shows, what stays with us, and what comes back.

The survey reads ``StudyLists`` alone. Which answer is right, and which items a question stands for,
is in ``ListKeys``, which the survey never opens; the two are joined again when the answers are
cleaned. An export is a folder with three tables: ``RawRatings`` (a row per trial), ``Participants``
(a row per session) and ``Demographics`` (a row per person), each also as CSV.
"""

from __future__ import annotations

from worldprobe.benchmarks.ewok import vocabulary
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
    space or as their language does, are the scenario. Choice: ``first_context`` is shown as context
    1, ``second_context`` as context 2, ``target`` is the scenario. Catch: the whole scenario is
    ``target``, which says what to answer.
    """

    list: str = column(str_matches=LIST)
    position: int = column("Counts the trials of a list from 1, catch trials included.", gt=0)
    question: str = column(
        "Digest of the texts; a question is in one list a round.", str_matches=QUESTION
    )
    kind: str = column(isin=KINDS)
    eval_type: str = column("One for all trials of a list.", isin=EVAL_TYPES)
    round: int = column("One for all trials of a list; each round has every question once.", gt=0)
    domain: str = column("Missing: catch trial.", nullable=True)
    version: int = column("-1: catch trial.", ge=-1)
    first_context: str = column("Missing: catch trial.", nullable=True)
    second_context: str = column("Choice only.", nullable=True)
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
    item_id: str = column("Empty: catch trial.")
    target: int = column("0: catch trial.", isin=[0, 1, 2])
    context: int = column(
        "Likert: the item's context that is shown; choice: shown first.", isin=[0, 1, 2]
    )
    unit: str = column("Nobody sees two questions of a unit: template, or what --unit names.")
    expected: int = column(
        "Likert: 5 plausible, 1 not; choice, catch: the right answer.", ge=1, le=5
    )


class ListBalance(Table, name="list_balance", version=1, key=["list"]):
    """How even a list is: numbers of its test trials, by expected answer and by version and
    domain.
    """

    list: str = column(str_matches=LIST)
    eval_type: str = column(isin=EVAL_TYPES)
    round: int = column(gt=0)
    domains: str = column("Comma-joined.")
    n_trials: int = column("Without catch trials.", ge=0)
    n_catch: int = column(ge=0)
    n_high: int = column("Likert: plausible; choice: the context shown second is right.", ge=0)
    n_low: int = column("Likert: implausible; choice: the context shown first is right.", ge=0)
    version_spread: int = column(
        "Trials of the most frequent minus the least frequent version.", ge=0
    )
    domain_spread: int = column(
        (
            "Largest difference of a domain's trials between this list and any other of its round"
            " and kind."
        ),
        ge=0,
    )


class RawRatings(Table, name="raw_ratings", version=2, key=["participant", "session", "position"]):
    """An export's answers: one row per trial that was shown. No text, no address, no identity."""

    participant: str = column("A random key, one per person.", str_matches=PARTICIPANT)
    session: int = column(
        "Counts a person's sessions (lists) from 1 in the order of their start.", gt=0
    )
    list: str = column(str_matches=LIST)
    position: int = column("Of the trial in the list.", gt=0)
    presented: int = column("Order in which this person saw the trials, from 1.", gt=0)
    question: str = column(str_matches=QUESTION)
    kind: str = column(isin=KINDS)
    eval_type: str = column(isin=EVAL_TYPES)
    response: str = column(
        'As given, "1" to "5" or "1" and "2"; missing: none was given.', nullable=True
    )
    rt_ms: float = column("From sight to answer, as the browser measured it.", ge=0, nullable=True)
    is_resumed: bool = column("The page was loaded again between sight and answer.")
    n_blurs: int = column("How often the window lost the focus during the trial.", ge=0)
    lists_digest: str = column("Digest of the set of lists that was shown.", str_matches=DIGEST)


class Participants(Table, name="participants", version=2, key=["participant", "session"]):
    """An export's sessions: one row per person and list taken."""

    participant: str = column(str_matches=PARTICIPANT)
    session: int = column(gt=0)
    list: str = column(str_matches=LIST)
    eval_type: str = column(isin=EVAL_TYPES)
    status: str = column(
        "expired: the place went to another person; returned: given back on the platform.",
        isin=STATUSES,
    )
    is_late: bool = column("Finished after the place had expired.")
    day: str = column(
        "On which the session began (UTC); times of day would lead back to people.", str_matches=DAY
    )
    minutes: float = column(
        "From consent to the last answer, rounded; missing: never finished.", ge=0, nullable=True
    )
    n_tries: int = column(
        "Tries at the question about the instructions; the last one was right.", ge=0
    )
    design: str = column(
        "Digest of settings, words and consent; designs.json has them.", str_matches=DIGEST
    )
    lists_digest: str = column(str_matches=DIGEST)


class Demographics(Table, name="demographics", version=1, key=["participant"]):
    """An export's people, in a table of their own; missing: not asked, or preferred not to say."""

    participant: str = column(str_matches=PARTICIPANT)
    age: float = column("Years.", ge=18, le=120, nullable=True)
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
        "The sub-item: Likert a question; Choice a target with two contexts in either order."
    )
    answer: int = column("As given.", ge=1, le=5)
    value: int = column(
        "Likert: the rating; Choice: the context chosen, as the item has them.", ge=1, le=5
    )
    expected: int = column(ge=1, le=5)
    rt_ms: float = column(ge=0, nullable=True)


class CleaningSteps(Table, name="cleaning_steps", version=1, key=["position"]):
    """Ratings (without catch trials) and people before and after each step of cleaning."""

    position: int = column(gt=0)
    step: str = column("From human.cleaning.STEPS; isc has a row for each pass.")
    pass_number: int = column(
        "Of the correlation; 0 elsewhere, and where no pass excluded anybody.", ge=0
    )
    is_on: bool = column("False: switched off.")
    n_ratings_before: int = column(ge=0)
    n_ratings_after: int = column(ge=0)
    n_people_before: int = column(ge=0)
    n_people_after: int = column(ge=0)


class Raters(Table, name="raters", version=1, key=["participant"]):
    """Everybody in the export: how they agree with the others, and which step left them out."""

    participant: str = column(str_matches=PARTICIPANT)
    eval_type: str = column(isin=EVAL_TYPES)
    r: float = column(
        "With the mean of the others, in the last pass that the person was in.",
        ge=-1,
        le=1,
        nullable=True,
    )
    std_error: float = column("sqrt((1 - r^2) / (n - 2)).", ge=0, nullable=True)
    n_corated: int = column("Questions that someone else answered too.", ge=0)
    isc_status: str = column(isin=ISC_STATUSES)
    pass_number: int = column("The pass that excluded the person; 0: none did.", ge=0)
    excluded_by: str = column("The step; empty: the person's answers count.")


class SubItems(Table, name="sub_items", version=1, key=["eval_type", "cell"]):
    """Every sub-item that was to be asked: how many answers count, and what they say."""

    cell: str
    eval_type: str = column(isin=EVAL_TYPES)
    n_items: int = column("Items that have these sentences.", gt=0)
    n: int = column(ge=0)
    mean: float = column(
        "Likert: of the ratings; Choice: of the contexts chosen.", ge=1, le=5, nullable=True
    )
    sd: float = column("With n - 1; missing below two.", ge=0, nullable=True)
    min: float = column(ge=1, le=5, nullable=True)
    max: float = column(ge=1, le=5, nullable=True)
    median_rt_ms: float = column(ge=0, nullable=True)
    status: str = column(isin=["ok", "below_minimum", "missing"])


class PeopleCounts(Table, name="people_counts", version=1, key=["attribute", "answer"]):
    """Counts of participants. Answers that fewer than five people gave are merged."""

    attribute: str = column(isin=["age", "gender", "country", "first_language"])
    answer: str
    n: int = column(ge=0)


class Likeness(Table, name="likeness", version=1, key=["model", "eval_type"]):
    """How a model's preferences follow people's: Pearson's r of differences between contexts, over
    items and targets.
    """

    model: str
    eval_type: str = column(isin=vocabulary.EVAL_TYPES)
    r: float = column("Missing where either side does not vary.", ge=-1, le=1, nullable=True)
    ci_low: float = column("95 %, pairs of concepts drawn again.", ge=-1, le=1, nullable=True)
    ci_high: float = column(ge=-1, le=1, nullable=True)
    ceiling: float = column(
        "r that a model of people without noise would reach.", ge=0, le=1, nullable=True
    )
    n: int = column("Targets for which both have a difference.", ge=0)


class HumanStatistics(
    Table, name="human_statistics", version=1, key=["quantity", "eval_type", "grouping", "group"]
):
    """Numbers about people, with intervals over templates and the people asked (EWoK, Section 4.4
    and Appendix B.1).
    """

    quantity: str = column(
        (
            "split_half_r: Spearman-Brown; noise_ceiling_r: its square root; likert_choice_r: over"
            " items and targets."
        ),
        isin=[
            "accuracy",
            "split_half_r",
            "noise_ceiling_r",
            "label_r",
            "label_r_binarised",
            "likert_choice_r",
            "n_people",
        ],
    )
    eval_type: str = column(isin=["likert", "choice"])
    grouping: str = column(
        "overall, domain, version, context_type, context_contrast, target_contrast."
    )
    group: str
    value: float = column("Missing: not defined.", nullable=True)
    ci_low: float = column("95 %, for other items and people.", nullable=True)
    ci_high: float = column(nullable=True)
    n: int = column("Targets, sub-items or, for n_people, answers.", ge=0)
