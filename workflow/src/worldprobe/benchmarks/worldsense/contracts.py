"""WorldSense's tables: trials, what models respond to them, and what the answers come to.

**Responses.** One file per set, prompting and model:
``results/STUDY/worldsense/responses/SET/PROMPTING/MODEL.parquet``. The model's name is in the
provenance (its ``model``), as in every table of answers. A row joins its trial by
``trial_id`` (the official ``Key``). Several samples of one trial are several rows, ``sample`` 0, 1,
...; greedy answers are sample 0.

``answer`` is there exactly where ``status`` is ok: TRUE, FALSE, POSSIBLE, IMPOSSIBLE, 1, 2 or 3,
always one that the trial's problem accepts. Every other row counts as wrong, as in the paper (the
official layout writes it as an empty string):

* invalid: the last reply contains no accepted answer (constrained: the best two are exactly as
  likely),
* ambiguous: it contains several, or denies one of three,
* refused: it declines to answer, or says that this cannot be decided where that is no alternative;
  or its server marks it as a refusal,
* content_filter: the server's filter withheld it,
* length: the last reply was cut by the limit of tokens, so that its end is not there,
* truncated: the prompt did not fit into the model's context, so that the question was not asked,
* not_finite: the model computed NaN or infinity.

A trial was asked twice where ``follow_up`` has a value: the first reply gave no answer for certain,
or was cut. By the paper's rule (the provenance then says "last_word") the last word is
the answer, nothing is ambiguous, and refused is what the server marks so.
"""

from __future__ import annotations

from worldprobe.benchmarks.worldsense.problems.worlds import LARGEST, SMALLEST
from worldprobe.benchmarks.worldsense.skins.vocabulary import DISGUISE, DISGUISES, PROBLEMS
from worldprobe.contracts import Table, column, results
from worldprobe.models.engine import FINISHES


class Trials(Table, name="trials", version=2, key=["number"], unique=["trial_id"]):
    """One row per question; the trials of a tuple are adjacent rows that differ in one relation
    only (paper, Section 3.4).
    """

    number: int = column("Place in the set, from 0.", ge=0)
    trial_id: int = column("Signed 64-bit number derived from the content; the official Key.")
    tuple_id: str = column(min_length=1)
    problem: str = column(isin=PROBLEMS)
    size: int = column("Entities of the description.", ge=SMALLEST, le=LARGEST)
    complexity: int = column(
        (
            "Ternary relations: none, exactly one, all but one relation; in motion, the number of"
            " updates."
        ),
        ge=0,
        le=6,
    )
    arity: int = column("Arguments of the query, the official query_len.", ge=2, le=3)
    span: int = column("Largest minus smallest index in the query.", nullable=True)
    skin: str = column(min_length=1)
    wording: str = column("The question's wording, e.g. directQ1.", min_length=1)
    description: str = column("Relations in the official notation.", str_startswith="[")
    query: str = column("One relation; for consistency the one that the tuple's trials differ in.")
    entities: str = column("JSON list: the entities' names by index.", str_startswith="[")
    text: str = column("The question that a model reads.", min_length=1)
    gold: str = column("The right answer in disguise.", isin=DISGUISES)
    n_worlds: int = column("Worlds that satisfy the description.", ge=0)
    depth: int = column("Size of the smallest set of relations that decides the trial.", ge=0)
    moment: str = column(
        (
            "In motion, what is asked about: after all, before all, after change K, without"
            " change K."
        ),
        nullable=True,
    )


#: ok, and why there is no answer, in the order in which they are shown.
RESPONSE_STATUSES = (
    *("ok", "invalid", "ambiguous", "refused", "content_filter", "length", "truncated"),
    "not_finite",
)
#: Through the model's chat template, or as text that it continues.
FORMS = ("chat", "text")


class Skins(Table, name="worldsense_skins", version=1, key=["skin"]):
    """The words of every skin of a folder: X, Y and M stand for entities (WorldSense, Tables 3 and
    4).
    """

    skin: str = column(min_length=1)
    domain: str = column("spatial, temporal, scalar, other, or planar: lines in the plane.")
    use: str = column("test, test-new, train or ood-problem.")
    training: str = column(
        "ind: skins of the training sets have its relation; ood: none has.", nullable=True
    )
    relation: str = column("The binary relation.")
    converse: str = column("The other binary relation, in the plane that of a right angle.")
    ternary: str = column("Betweenness; the plane has none.", nullable=True)
    entities: str = column("JSON list.", str_startswith="[")


class Samples(Table, name="worldsense_samples", version=1, key=["set", "problem"]):
    """A trial of each problem of each set (WorldSense, Tables 1 and 5). Holds text of trials."""

    set: str
    problem: str = column(isin=PROBLEMS)
    size: int = column("Entities of the description.", ge=SMALLEST, le=LARGEST)
    skin: str
    text: str
    gold: str = column("The right answer in disguise.", isin=DISGUISES)


class Responses(
    Table, name="worldsense_responses", version=1, key=["trial_id", "prompting", "sample"]
):
    """One row per trial, prompting and sample; rows are in the order of the key. Holds text of
    trials.
    """

    trial_id: int = column("The trial's; the official Key.")
    prompting: str = column(
        "Name of the prompt set, e.g. basic, icl_iid.", str_matches=r"^[a-z][a-z0-9_]*$"
    )
    sample: int = column("0 where answers are greedy; else counts the samples of a trial.", ge=0)
    answer: str = column(
        "Normalised; missing unless status is ok.", nullable=True, isin=list(DISGUISE)
    )
    status: str = column(isin=RESPONSE_STATUSES)
    reply: str = column(
        "The first reply, without thoughts; constrained: the option that was chosen."
    )
    follow_up: str = column("The reply to the second question, where it was asked.", nullable=True)
    thoughts: str = column(
        "What the model thought before its replies, never read as answers.", nullable=True
    )
    conversation: str = column(
        "JSON: all messages, role and content, in order.", str_startswith="["
    )
    form: str = column(
        "chat: through the chat template; text: as text to be continued.", isin=FORMS
    )
    finish: str = column("Why the last reply ended.", isin=FINISHES)
    n_tokens: int = column("New tokens of all replies, without thoughts.", ge=0)
    n_thought_tokens: int = column("New tokens of thoughts.", ge=0)
    margin: float = column(
        "Constrained: nats by which the second best option is behind.", ge=0, nullable=True
    )


#: The rule that counts mentions and never chains two clauses: what a model must beat.
COUNTING = "rule_counting"
#: accuracy, bias: the paper's; above_counting: accuracy less that of ``COUNTING``, tuple by tuple,
#: where that rule answered; strict: the exact answer, 1 and 2 apart; corrected: with the
#: solver's gold answers; invalid: share of trials without a valid answer; agreement: same answers
#: to one abstract problem in two skins; consistency: agreement beyond chance; explained: what
#: accuracy explains of consistency.
METRICS = (
    *(
        "accuracy",
        "above_counting",
        "bias",
        "strict",
        "accuracy_corrected",
        "bias_corrected",
        "strict_corrected",
        "invalid",
    ),
    *("agreement", "consistency", "explained"),
)
#: Of consistency: too few abstract trials in several skins; one answer throughout, so that there is
#: nothing beyond chance; a problem without a number.
SUMMARY_STATUSES = (*results.STATUSES, "too_few_pairs", "one_answer", "missing_problem")
#: Grouping -> its columns; a group is written with "|" between their values.
GROUPINGS: dict[str, tuple[str, ...]] = {
    results.OVERALL: (),
    "problem": ("problem",),
    "problem_size": ("problem", "size"),
    "problem_size_complexity_query": ("problem", "size", "complexity", "query"),
    "problem_domain": ("problem", "domain"),
    "domain": ("domain",),
    "intraining": ("intraining",),
    "problem_intraining": ("problem", "intraining"),
    "variant_size": ("variant", "size"),
    "variant_ternary": ("variant", "ternary"),
    "skin": ("skin",),
    "problem_skin": ("problem", "skin"),
    "problem_depth": ("problem", "depth"),
    "problem_worlds": ("problem", "worlds"),
    "problem_updates": ("problem", "updates"),
    "problem_counted": ("problem", "counted"),
    "problem_moment": ("problem", "moment"),
    "problem_size_places": ("problem", "size", "places"),
}


class Summaries(results.Summaries, name="worldsense_summaries"):
    """Means per set, prompting, model, metric and group; groups without a whole tuple have no row.

    n counts tuples after rebalancing; for agreement and consistency, abstract trials.
    """

    metric: str = column(isin=METRICS)
    grouping: str = column(isin=list(GROUPINGS))
    sem: float = column(
        "As the paper's, over tuples; missing where a cell has a single tuple.", ge=0, nullable=True
    )
    conf95: float = column(
        "1.96 standard errors over tuples, as the paper prints it.", ge=0, nullable=True
    )
    status: str = column(isin=SUMMARY_STATUSES)


class Comparisons(results.Comparisons, name="worldsense_comparisons"):
    """Pairs of models on the tuples that both answered as a whole, by set and prompting; corrected
    over the pairs of a group.
    """

    grouping: str = column(isin=(results.OVERALL, "problem"))
    n_a_better: int = column(ge=0)
    n_b_better: int = column(ge=0)


class Reproduction(results.Reproduction, name="worldsense_reproduction"):
    """Every published number next to ours."""
