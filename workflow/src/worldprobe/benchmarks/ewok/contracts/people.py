"""What is found of people's answers."""

from __future__ import annotations

from worldprobe.benchmarks.ewok.eval_types import EVAL_TYPES
from worldprobe.contracts import Table, column


class Likeness(Table):
    """How a model's preferences follow people's: Pearson's r of differences between contexts, over items and targets."""

    model: str
    eval_type: str = column(isin=EVAL_TYPES)
    r: float = column(ge=-1, le=1, nullable=True, description="Missing where either side does not vary.")
    ci_low: float = column(ge=-1, le=1, nullable=True, description="95 %, pairs of concepts drawn again.")
    ci_high: float = column(ge=-1, le=1, nullable=True)
    ceiling: float = column(ge=0, le=1, nullable=True, description="r that a model of people without noise would reach.")
    n: int = column(ge=0, description="Targets for which both have a difference.")

    class Config(Table.Config):
        name = "likeness"
        unique = ["model", "eval_type"]
        metadata = {"version": 1, "key": ["model", "eval_type"]}


class HumanStatistics(Table):
    """Numbers about people, with intervals over people (EWoK, Section 4.4 and Appendix B.1)."""

    quantity: str = column(
        isin=["accuracy", "split_half_r", "noise_ceiling_r", "label_r", "label_r_binarised", "likert_choice_r", "n_people"],
        description="split_half_r: Spearman-Brown; noise_ceiling_r: its square root; likert_choice_r: over items and targets.",
    )
    eval_type: str = column(isin=["likert", "choice"])
    grouping: str = column(description="overall, domain, version, context_type, context_contrast, target_contrast.")
    group: str
    value: float = column(nullable=True, description="Missing: not defined.")
    ci_low: float = column(nullable=True, description="95 %, people of each list drawn again; or over random halves.")
    ci_high: float = column(nullable=True)
    n: int = column(ge=0, description="Targets, sub-items or, for n_people, answers.")

    class Config(Table.Config):
        name = "human_statistics"
        unique = ["quantity", "eval_type", "grouping", "group"]
        metadata = {"version": 1, "key": ["quantity", "eval_type", "grouping", "group"]}
