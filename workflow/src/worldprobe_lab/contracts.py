"""Tables of the laboratory: plans of studies, pooled means, families, conditions, leaks, the
BabyLM challenge, series of checkpoints (scores, learning curves, onsets, and what differs
between seeds).

A *series* is the checkpoints of one training; trainings that differ in their seed alone have one
``series``, and each is a ``model``. Rows of a ``model`` named as its ``series`` with the seed
``all`` are means over seeds.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from worldprobe.benchmarks.ewok.vocabulary import JUDGED_TYPES
from worldprobe.contracts import Table, column, results

#: The seed of means over seeds, and that of a training without others.
ALL_SEEDS, ONE_SEED = "all", "one"
#: What is known of an onset: reached; open: perhaps after the last checkpoint; never: below the
#: level at the last checkpoint, as is a model that learned less than the level; already: before the
#: first one; none: the curve has no interval, or so wide a band that it could not show an onset.
REACHED, OPEN, NEVER, ALREADY, NONE = "reached", "open", "never", "already", "none"
#: Accuracy of what knows nothing.
CHANCE = 0.5
_CURVE = ["series", "model", "seed", "eval_type", "grouping", "group"]


class Plans(
    Table,
    name="plans",
    version=2,
    key=["eval_type", "grouping", "group", "n_replicates", "n_clusters", "n_versions"],
):
    """The power of studies of several sizes to find a difference of two models
    (``planning``).
    """

    eval_type: str = column("How the models of the pilot were asked.", min_length=1)
    grouping: str = column(min_length=1)
    group: str
    n_replicates: int = column(
        (
            "Of each model, such as training runs; 1: about these trained models. Of people:"
            " ratings of each sentence."
        ),
        ge=1,
    )
    n_clusters: int = column("Pairs of concepts, ...", gt=1)
    n_templates: int = column(gt=1)
    n_versions: int = column(gt=1)
    difference: float = column(
        "True difference of two models, or of people and a model.", gt=0, le=1
    )
    power: float = column("Share of such studies whose test finds it (p < 0.05).", ge=0, le=1)
    power_low: float = column(
        "95%: the variances are known from the pilot's degrees of freedom only.", ge=0, le=1
    )
    power_high: float = column(ge=0, le=1)
    detectable: float = column("The difference that 80% of such studies find.", gt=0)
    detectable_if_independent: float = column(
        "The same by the formula that takes items as independent.", gt=0
    )


class PooledMeans(
    Table, name="pooled_means", version=1, key=["model", "eval_type", "grouping", "group"]
):
    """Means of groups by partial pooling (``pooling``), and their ranks; 1 has the lowest
    mean.
    """

    model: str = column(min_length=1)
    eval_type: str = column("How the model was asked.", min_length=1)
    grouping: str = column(min_length=1)
    group: str
    mean: float = column("Over templates, as they are.", ge=0, le=1)
    pooled: float = column(
        "Drawn to the mean of all groups as far as chance sets them apart.", ge=0, le=1
    )
    ci_low: float = column("95%, for other clusters and versions.", ge=0, le=1)
    ci_high: float = column(ge=0, le=1)
    rank_low: int = column("95% of the rank among the groups, the lowest mean first.", ge=1)
    rank_high: int = column(ge=1)
    n_clusters: int = column(ge=1)
    n_templates: int = column(ge=1)


class Orders(Table, name="orders", version=2, key=["model", "eval_type", "lower", "higher"]):
    """Of every two groups, the one whose true mean is probably lower."""

    model: str = column(min_length=1)
    eval_type: str = column(min_length=1)
    lower: str
    higher: str
    probability: float = column(
        "That the true mean of lower is below that of higher; missing: one version only.",
        ge=0,
        le=1,
        nullable=True,
    )


class BabylmSummaries(results.Summaries, name="babylm_summaries"):
    """Means by the BabyLM challenge's rule and by the paper's (metrics babylm and paper), for each
    checkpoint (condition).
    """

    mean: float = column("Overall: the mean of the domains' means.", ge=0, le=1, nullable=True)
    n_ties: int = column(
        (
            "Exact ties: right by the challenge's rules of 2025, drawn by those of 2026, 0.5 by the"
            " paper's."
        ),
        ge=0,
    )
    n_near_ties: int = column(ge=0)


class Leaks(Table, name="leaks", version=3, key=["model", "measure"]):
    """A model's advantage on given items over parallel forms of their templates, and on a file's
    order over others.
    """

    model: str
    measure: str = column(
        (
            "logprob: nats, of an item's contexts and of its targets after their own;"
            " word_frequency: summed logarithm of how often these texts' words occur in their"
            " language, whatever the model; order: nats per shard of a file."
        ),
        isin=["logprob", "accuracy", "word_frequency", "order"],
    )
    estimate: float = column(
        "Given minus forms, within templates and after unusually frequent fillers; own order"
        " minus others."
    )
    low: float = column("95 %, pairs of concepts (order: shards) being a sample.")
    high: float
    p: float = column("One-sided: how often so much more would come by chance.", ge=0, le=1)
    detectable: float = column(
        "The smallest true excess that this test finds (p < 0.05) in 80% of such samples.",
        ge=0,
        nullable=True,
    )
    n_pairs: int = column("Pairs of concepts; order: shards.", gt=0)
    n_templates: int = column("Templates; order: shards.", gt=0)


class CheckpointScores(
    Table,
    name="checkpoint_scores",
    version=1,
    key=[*_CURVE, "step", "cluster", "condition", "stratum"],
):
    """Mean scores of cells, the units of one cluster, condition and stratum: all that curves are
    computed from.
    """

    series: str = column("Id of the card.", min_length=1)
    model: str = column("One training; another seed is another one.", min_length=1)
    seed: str = column(min_length=1)
    step: float = column("In the unit of the series, which the provenance names.", ge=0)
    eval_type: str = column("How the model was asked.", min_length=1)
    grouping: str = column(min_length=1)
    group: str
    cluster: str = column("A level of a random factor: a pair of concepts, a template, a skin.")
    condition: str = column("A version, if versions are a random factor; else empty.")
    stratum: str = column("Strata weigh equally: a problem and size; empty: there is one.")
    mean: float = column(ge=0, le=1, nullable=True)
    n: int = column("Units that have a score.", gt=0)


class Curves(Table, name="curves", version=1, key=[*_CURVE, "step"]):
    """Learning curves: means at each checkpoint, with intervals, and bands that hold at all
    checkpoints at once.
    """

    series: str = column(min_length=1)
    model: str = column(min_length=1)
    seed: str = column("all: the mean over seeds.", min_length=1)
    eval_type: str = column(min_length=1)
    grouping: str = column(min_length=1)
    group: str
    step: float = column(ge=0)
    unit: str = column("Of step.", min_length=1)
    mean: float = column(ge=0, le=1, nullable=True)
    ci_low: float = column("95% interval at this checkpoint.", ge=0, le=1, nullable=True)
    ci_high: float = column(ge=0, le=1, nullable=True)
    band_low: float = column(
        "95% band over all checkpoints of the curve.", ge=0, le=1, nullable=True
    )
    band_high: float = column(ge=0, le=1, nullable=True)
    interval_over: str = column("What intervals and bands take as random factors.")
    status: str = column(isin=results.STATUSES)
    between_seeds: float = column("Standard deviation of the seeds' means.", ge=0, nullable=True)
    between_versions: float = column(
        "Standard deviation of the versions' means.", ge=0, nullable=True
    )
    n_clusters: int = column(ge=0)


class Onsets(Table, name="onsets", version=1, key=_CURVE):
    """From where on a curve exceeds a level for good, and how far it falls from its maximum."""

    series: str = column(min_length=1)
    model: str = column(min_length=1)
    seed: str = column(min_length=1)
    eval_type: str = column(min_length=1)
    grouping: str = column(min_length=1)
    group: str
    unit: str = column(min_length=1)
    level: float = column(
        "By default chance and the mean half width of the band, which depends on the number of"
        " items; missing: the band is too wide.",
        ge=0,
        le=1,
        nullable=True,
    )
    onset: float = column(
        "From here on the curve, interpolated, stays above the level.", ge=0, nullable=True
    )
    ci_low: float = column(
        "95%, over what the curve's is; missing: before the first checkpoint.", ge=0, nullable=True
    )
    ci_high: float = column("Missing: after the last checkpoint.", ge=0, nullable=True)
    status: str = column(isin=(REACHED, OPEN, NEVER, ALREADY, NONE))
    fall: float = column(
        "The largest fall that chance does not explain; 0: none.", ge=0, nullable=True
    )
    fall_from: float = column("Checkpoint from which it falls.", ge=0, nullable=True)
    fall_to: float = column(ge=0, nullable=True)


class OrderAgreements(
    Table,
    name="order_agreements",
    version=3,
    key=["eval_type", "grouping", "model_a", "seed_a", "model_b", "seed_b"],
):
    """Rank correlation (Spearman) of two trainings' orders of onsets, at one level."""

    model_a: str = column(min_length=1)
    seed_a: str = column("all: the mean over seeds.", min_length=1)
    model_b: str = column(min_length=1)
    seed_b: str = column(min_length=1)
    eval_type: str = column(min_length=1)
    grouping: str = column(min_length=1)
    same_series: bool = column("They differ in their seed alone.")
    level: float = column(
        "That onsets exceed for good: the median of those of the grouping.",
        ge=0,
        le=1,
        nullable=True,
    )
    correlation: float = column(
        "Each training on another random half of the clusters, mean over splits; censored onsets"
        " are ties at the end.",
        ge=-1,
        le=1,
        nullable=True,
    )
    ci_low: float = column(
        "95%, for other groups (Bonett and Wright 2000).", ge=-1, le=1, nullable=True
    )
    ci_high: float = column(ge=-1, le=1, nullable=True)
    same_items: float = column(
        "The same on all items: trainings share how hard these are.", ge=-1, le=1, nullable=True
    )
    n: int = column("Groups.", ge=0)
    n_onsets: int = column("Groups with an onset in both.", ge=0)


class Contrast(NamedTuple):
    """What stands in place of the slope where levels are kinds, not amounts.

    Attributes:
        weights: level -> by what its accuracy is multiplied.
        minus: what is taken from the sum.
        words: what it is.
    """

    weights: dict[int, float]
    minus: float
    words: str


#: By family. Of ``belief``, who always says where the thing is, or always where it was put, has one
#: half over both kinds of change; of ``distraction``, the sentence that distracts is compared with
#: a neutral one.
CONTRASTS = {
    "belief": Contrast(
        {1: 0.5, 2: 0.5},
        0.5,
        "the mean of levels 1 and 2 minus 0.5 (who ignores what the person knows has 0)",
    ),
    "distraction": Contrast({1: -1.0, 2: 1.0}, 0.0, "level 2 minus level 1"),
}


def contrast_of(family: str, levels: Iterable[float]) -> Contrast | None:
    """The contrast of a family; None for one of its name whose levels are others, which has a
    slope.
    """
    contrast = CONTRASTS.get(family)
    return contrast if contrast and {*contrast.weights} <= {*levels} else None


class FamilyLevels(
    Table, name="family_levels", version=2, key=["family", "model", "eval_type", "level"]
):
    """Accuracy at each level of a family of templates, and its slope over levels; intervals over
    bases (not in the papers).
    """

    model: str
    eval_type: str = column(isin=JUDGED_TYPES)
    family: str
    level: int = column(
        "Missing: the row is about the slope, accuracy per unit of the level.", nullable=True
    )
    mean: float = column(
        "Over items, ties 0.5; of the slope: over bases and versions.", nullable=True
    )
    ci_low: float = column("95%, for other bases.", nullable=True)
    ci_high: float = column(nullable=True)
    p: float = column("Of the slope: two-sided, that it is 0.", ge=0, le=1, nullable=True)
    detectable: float = column(
        "The smallest true slope that this test finds in 80% of such samples.", ge=0, nullable=True
    )
    status: str = column("As in summaries: ok, one_cluster, no_spread, no_values.")
    n_bases: int = column(ge=0)
    n_items: int = column(ge=0)
    n_ties: int = column("Target rows that were exact ties.", ge=0)
    n_missing: int = column("Target rows without an answer or a score.", ge=0)


class ConditionComparisons(results.Comparisons, name="condition_comparisons", version=7):
    """A model in a condition (a) of a study and in its first one (b), over versions, paired by
    template and target; n: templates.
    """

    grouping: str = column(isin=(results.OVERALL, "domain"))
    low_a: float = column("Lowest mean of a version over these templates.", ge=0, le=1)
    high_a: float = column("Highest mean of a version.", ge=0, le=1)
    low_b: float = column(ge=0, le=1)
    high_b: float = column(ge=0, le=1)
    n_versions_a: int = column("Versions, or samples of each template.", gt=0)
    n_versions_b: int = column(gt=0)
    n_items_a: int = column("Items of these templates.", gt=0)
    n_items_b: int = column(gt=0)
    n_targets: int = column(
        "That have an accuracy in both: in each version, where both have the same ones.", gt=0
    )
    n_missing_a: int = column("Likewise, left out, as only the other condition has one.", ge=0)
    n_missing_b: int = column(ge=0)
    enough_versions: int = column(
        "Versions that halve the smallest difference found; 0: none do.", ge=0
    )
    finding: str = column("What may be said.")
