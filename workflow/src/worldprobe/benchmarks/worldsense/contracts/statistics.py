"""What the answers come to: means by every grouping, comparisons of models, published numbers next to ours."""

from __future__ import annotations

import pandera.pandas as pa
from pandera.typing import Series

from worldprobe.contracts.table import Table

#: accuracy, bias: the paper's; strict: the exact answer, 1 and 2 apart; invalid: share of trials without a valid answer;
#: agreement: same answers to one abstract problem in two skins; consistency: agreement beyond chance.
MEASURES = ("accuracy", "bias", "strict", "invalid", "agreement", "consistency")
#: Grouping -> its columns; a group is written with "|" between their values.
GROUPINGS: dict[str, tuple[str, ...]] = {
    "all": (),
    "problem": ("problem",),
    "problem_size": ("problem", "size"),
    "problem_size_complexity_query": ("problem", "size", "complexity", "query"),
    "problem_domain": ("problem", "domain"),
    "domain": ("domain",),
    "intraining": ("intraining",),
    "problem_intraining": ("problem", "intraining"),
    "condition_size": ("condition", "size"),
    "condition_ternary": ("condition", "ternary"),
    "skin": ("skin",),
    "problem_skin": ("problem", "skin"),
    "problem_depth": ("problem", "depth"),
    "problem_worlds": ("problem", "worlds"),
    "problem_size_places": ("problem", "size", "places"),
}


class Summaries(Table):
    """One row per set, prompting, model, measure, gold answers and group; groups without a whole tuple have no row."""

    set: Series[str] = pa.Field(str_length={"min_value": 1}, description="Name of the set, e.g. test, ood-size.")
    prompting: Series[str] = pa.Field(str_length={"min_value": 1})
    model: Series[str] = pa.Field(str_length={"min_value": 1})
    measure: Series[str] = pa.Field(isin=MEASURES)
    gold: Series[str] = pa.Field(isin=("released", "corrected"), description="The set's gold answers, or the solver's.")
    grouping: Series[str] = pa.Field(isin=list(GROUPINGS))
    group: Series[str] = pa.Field(description="Values of the grouping's columns, joined by |; all: averaged over.")
    mean: Series[float] = pa.Field(ge=-1, le=1, nullable=True)
    sem: Series[float] = pa.Field(ge=0, nullable=True, description="Missing where a cell has a single tuple.")
    conf95: Series[float] = pa.Field(ge=0, nullable=True, description="1.96 standard errors, as the paper prints it.")
    ci_low: Series[float] = pa.Field(ge=-1, le=1, nullable=True, description="95% bootstrap interval over tuples.")
    ci_high: Series[float] = pa.Field(ge=-1, le=1, nullable=True)
    count: Series[int] = pa.Field(ge=0, description="Tuples after rebalancing; agreement and consistency: abstract trials.")

    class Config(Table.Config):
        name = "worldsense_summaries"
        unique = ["set", "prompting", "model", "measure", "gold", "grouping", "group"]
        metadata = {"version": 1, "key": ["set", "prompting", "model", "measure", "gold", "grouping", "group"]}


class Comparisons(Table):
    """One row per set, prompting, group of problems and pair of models: the same tuples, compared one by one."""

    set: Series[str] = pa.Field(str_length={"min_value": 1})
    prompting: Series[str] = pa.Field(str_length={"min_value": 1})
    problem: Series[str] = pa.Field(description="all, or one problem.")
    model_a: Series[str] = pa.Field(str_length={"min_value": 1})
    model_b: Series[str] = pa.Field(str_length={"min_value": 1})
    mean_a: Series[float] = pa.Field(ge=0, le=1)
    mean_b: Series[float] = pa.Field(ge=0, le=1)
    difference: Series[float] = pa.Field(ge=-1, le=1)
    ci_low: Series[float] = pa.Field(ge=-1, le=1, nullable=True)
    ci_high: Series[float] = pa.Field(ge=-1, le=1, nullable=True)
    p: Series[float] = pa.Field(ge=0, le=1)
    p_corrected: Series[float] = pa.Field(ge=0, le=1, description="Holm's correction over the pairs of a group.")
    n_tuples: Series[int] = pa.Field(gt=0, description="Tuples that both answered as a whole.")
    n_a_better: Series[int] = pa.Field(ge=0)
    n_b_better: Series[int] = pa.Field(ge=0)

    class Config(Table.Config):
        name = "worldsense_comparisons"
        unique = ["set", "prompting", "problem", "model_a", "model_b"]
        metadata = {"version": 1, "key": ["set", "prompting", "problem", "model_a", "model_b"]}


class Reproduction(Table):
    """One row per printed number of the paper's tables, ours next to it."""

    position: Series[int] = pa.Field(ge=0)
    table: Series[str] = pa.Field()
    quantity: Series[str] = pa.Field()
    model: Series[str] = pa.Field()
    prompting: Series[str] = pa.Field()
    set: Series[str] = pa.Field()
    group: Series[str] = pa.Field()
    printed: Series[str] = pa.Field()
    ours_printed: Series[str] = pa.Field(description="Empty where there is none.")
    ours: Series[float] = pa.Field(nullable=True)
    status: Series[str] = pa.Field(isin=("within_rounding", "differs", "not_run", "not_comparable"))
    reason: Series[str] = pa.Field()

    class Config(Table.Config):
        name = "worldsense_reproduction"
        unique = ["position"]
        metadata = {"version": 1, "key": ["position"]}


class Trainings(Table):
    """One row per step of each training of a study (paper, Section 5.4)."""

    model: Series[str] = pa.Field(str_length={"min_value": 1}, description="The model that the training makes.")
    step: Series[int] = pa.Field(ge=1)
    lessons: Series[int] = pa.Field(ge=1, description="Lessons seen, with repetitions.")
    loss: Series[float] = pa.Field(description="Nats per token that counts.")
    learning_rate: Series[float] = pa.Field(ge=0)
    gradient_norm: Series[float] = pa.Field(ge=0, nullable=True, description="Before it is limited.")

    class Config(Table.Config):
        name = "worldsense_trainings"
        unique = ["model", "step"]
        metadata = {"version": 1, "key": ["model", "step"]}
