"""Tables about series of checkpoints: scores, learning curves, onsets, and what differs between
seeds.

A *series* is the checkpoints of one training; trainings that differ in their seed alone have one
``series``, and each is a ``model``. Rows of a ``model`` named as its ``series`` with the seed
``all`` are means over seeds.
"""

from __future__ import annotations

from worldprobe.contracts import Table, column
from worldprobe.contracts.results import STATUSES

#: The seed of means over seeds, and that of a training without others.
ALL_SEEDS, ONE_SEED = "all", "one"
#: What is known of an onset: reached; open: perhaps after the last checkpoint; never: below the
#: level at the last checkpoint, as is a model that learned less than the level; already: before the
#: first one; none: the curve has no interval, or so wide a band that it could not show an onset.
REACHED, OPEN, NEVER, ALREADY, NONE = "reached", "open", "never", "already", "none"
#: Accuracy of what knows nothing.
CHANCE = 0.5
_CURVE = ["series", "model", "seed", "eval_type", "grouping", "group"]


class CheckpointScores(
    Table,
    name="checkpoint_scores",
    version=1,
    key=[*_CURVE, "step", "cluster", "condition", "stratum"],
):
    """Mean scores of cells, the units of one cluster, condition and stratum: all that curves are
    computed from.
    """

    series: str = column(min_length=1, description="Id of the card.")
    model: str = column(min_length=1, description="One training; another seed is another one.")
    seed: str = column(min_length=1)
    step: float = column(ge=0, description="In the unit of the series, which the provenance names.")
    eval_type: str = column(min_length=1, description="How the model was asked.")
    grouping: str = column(min_length=1)
    group: str
    cluster: str = column(description="A random factor: a pair of concepts, a template, a skin.")
    condition: str = column(description="A version, if versions are a random factor; else empty.")
    stratum: str = column(
        description="Strata weigh equally: a problem and size; empty: there is one."
    )
    mean: float = column(ge=0, le=1, nullable=True)
    n: int = column(gt=0, description="Units that have a score.")


class Curves(Table, name="curves", version=1, key=[*_CURVE, "step"]):
    """Learning curves: means at each checkpoint, with intervals, and bands that hold at all
    checkpoints at once.
    """

    series: str = column(min_length=1)
    model: str = column(min_length=1)
    seed: str = column(min_length=1, description="all: the mean over seeds.")
    eval_type: str = column(min_length=1)
    grouping: str = column(min_length=1)
    group: str
    step: float = column(ge=0)
    unit: str = column(min_length=1, description="Of step.")
    mean: float = column(ge=0, le=1, nullable=True)
    ci_low: float = column(
        ge=0, le=1, nullable=True, description="95% interval at this checkpoint."
    )
    ci_high: float = column(ge=0, le=1, nullable=True)
    band_low: float = column(
        ge=0, le=1, nullable=True, description="95% band over all checkpoints of the curve."
    )
    band_high: float = column(ge=0, le=1, nullable=True)
    interval_over: str = column(description="What intervals and bands take as random factors.")
    status: str = column(isin=STATUSES)
    between_seeds: float = column(
        ge=0, nullable=True, description="Standard deviation of the seeds' means."
    )
    between_versions: float = column(
        ge=0, nullable=True, description="Standard deviation of the versions' means."
    )
    n_clusters: int = column(ge=0)


class Onsets(Table, name="onsets", version=1, key=_CURVE):
    """When a curve rises above a level for good, and how far it falls from its maximum."""

    series: str = column(min_length=1)
    model: str = column(min_length=1)
    seed: str = column(min_length=1)
    eval_type: str = column(min_length=1)
    grouping: str = column(min_length=1)
    group: str
    unit: str = column(min_length=1)
    level: float = column(
        nullable=True, description="By default chance and the mean half width of the band."
    )
    onset: float = column(
        ge=0,
        nullable=True,
        description="From here on the curve, interpolated, stays above the level.",
    )
    ci_low: float = column(
        ge=0,
        nullable=True,
        description="95%, over what the curve's is; missing: before the first checkpoint.",
    )
    ci_high: float = column(ge=0, nullable=True, description="Missing: after the last checkpoint.")
    status: str = column(isin=(REACHED, OPEN, NEVER, ALREADY, NONE))
    fall: float = column(
        ge=0, nullable=True, description="The largest fall that chance does not explain; 0: none."
    )
    fall_from: float = column(ge=0, nullable=True, description="Checkpoint from which it falls.")
    fall_to: float = column(ge=0, nullable=True)


class OrderAgreements(
    Table,
    name="order_agreements",
    version=2,
    key=["eval_type", "grouping", "model_a", "seed_a", "model_b", "seed_b"],
):
    """Rank correlation (Spearman) of two trainings' orders of onsets."""

    model_a: str = column(min_length=1)
    seed_a: str = column(min_length=1, description="all: the mean over seeds.")
    model_b: str = column(min_length=1)
    seed_b: str = column(min_length=1)
    eval_type: str = column(min_length=1)
    grouping: str = column(min_length=1)
    same_series: bool = column(description="They differ in their seed alone.")
    correlation: float = column(
        ge=-1, le=1, nullable=True, description="Censored onsets are ties at the end."
    )
    ci_low: float = column(
        ge=-1, le=1, nullable=True, description="95%, for other groups (Bonett and Wright 2000)."
    )
    ci_high: float = column(ge=-1, le=1, nullable=True)
    n: int = column(ge=0, description="Groups.")
    n_onsets: int = column(ge=0, description="Groups with an onset in both.")
