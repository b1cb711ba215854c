"""What the answers come to: means by every grouping, comparisons of models, published numbers next to ours."""

from __future__ import annotations

from worldprobe.contracts import Table, column, results

#: accuracy, bias: the paper's; strict: the exact answer, 1 and 2 apart; corrected: with the solver's gold answers; invalid: share
#: of trials without a valid answer; agreement: same answers to one abstract problem in two skins; consistency: agreement beyond
#: chance; explained: what accuracy explains of consistency.
METRICS = (
    *("accuracy", "bias", "strict", "accuracy_corrected", "bias_corrected", "strict_corrected", "invalid"),
    *("agreement", "consistency", "explained"),
)
#: Of consistency: too few abstract trials in several skins; one answer throughout, so that there is nothing beyond chance; a
#: problem without a number.
STATUSES = (*results.STATUSES, "too_few_pairs", "one_answer", "missing_problem")
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
    "problem_size_places": ("problem", "size", "places"),
}


class Summaries(results.Summaries):
    """Means per set, prompting, model, metric and group; groups without a whole tuple have no row.

    n counts tuples after rebalancing; for agreement and consistency, abstract trials.
    """

    metric: str = column(isin=METRICS)
    grouping: str = column(isin=list(GROUPINGS))
    sem: float = column(ge=0, nullable=True, description="As the paper's, over tuples; missing where a cell has a single tuple.")
    conf95: float = column(ge=0, nullable=True, description="1.96 standard errors over tuples, as the paper prints it.")
    status: str = column(isin=STATUSES)

    class Config(results.Summaries.Config):
        name = "worldsense_summaries"


class Comparisons(results.Comparisons):
    """Pairs of models on the tuples that both answered as a whole, by set and prompting; corrected over the pairs of a group."""

    grouping: str = column(isin=(results.OVERALL, "problem"))
    n_a_better: int = column(ge=0)
    n_b_better: int = column(ge=0)

    class Config(results.Comparisons.Config):
        name = "worldsense_comparisons"


class Reproduction(results.Reproduction):
    """Every published number next to ours."""

    class Config(results.Reproduction.Config):
        name = "worldsense_reproduction"


class Trainings(Table):
    """One row per step of each training of a study (paper, Section 5.4)."""

    model: str = column(min_length=1, description="The model that the training makes.")
    step: int = column(ge=1)
    lessons: int = column(ge=1, description="Lessons seen, with repetitions.")
    loss: float = column(description="Nats per token that counts.")
    learning_rate: float = column(ge=0)
    gradient_norm: float = column(ge=0, nullable=True, description="Before it is limited.")

    class Config(Table.Config):
        name = "worldsense_trainings"
        unique = ["model", "step"]
        metadata = {"version": 1, "key": ["model", "step"]}
