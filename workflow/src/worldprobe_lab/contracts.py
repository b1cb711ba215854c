"""Tables of the laboratory: plans of studies, pooled means, leaks, the BabyLM challenge."""

from __future__ import annotations

from worldprobe.contracts import Table, column, results


class Plans(
    Table,
    name="plans",
    version=2,
    key=["eval_type", "grouping", "group", "n_replicates", "n_clusters", "n_versions"],
):
    """The power of studies of several sizes to find a difference of two models
    (``analysis.planning``).
    """

    eval_type: str = column(min_length=1, description="How the models of the pilot were asked.")
    grouping: str = column(min_length=1)
    group: str
    n_replicates: int = column(
        ge=1,
        description=(
            "Of each model, such as training runs; 1: about these trained models. Of people:"
            " ratings of each sentence."
        ),
    )
    n_clusters: int = column(gt=1, description="Pairs of concepts, ...")
    n_templates: int = column(gt=1)
    n_versions: int = column(gt=1)
    difference: float = column(
        gt=0, le=1, description="True difference of two models, or of people and a model."
    )
    power: float = column(
        ge=0, le=1, description="Share of such studies whose test finds it (p < 0.05)."
    )
    power_low: float = column(
        ge=0,
        le=1,
        description="95%: the variances are known from the pilot's degrees of freedom only.",
    )
    power_high: float = column(ge=0, le=1)
    detectable: float = column(gt=0, description="The difference that 80% of such studies find.")
    detectable_if_independent: float = column(
        gt=0, description="The same by the formula that takes items as independent."
    )


class PooledMeans(
    Table, name="pooled_means", version=1, key=["model", "eval_type", "grouping", "group"]
):
    """Means of groups by partial pooling (``analysis.pooling``), and their ranks; 1 has the lowest
    mean.
    """

    model: str = column(min_length=1)
    eval_type: str = column(min_length=1, description="How the model was asked.")
    grouping: str = column(min_length=1)
    group: str
    mean: float = column(ge=0, le=1, description="Over templates, as they are.")
    pooled: float = column(
        ge=0, le=1, description="Drawn to the mean of all groups as far as chance sets them apart."
    )
    ci_low: float = column(ge=0, le=1, description="95%, for other clusters and versions.")
    ci_high: float = column(ge=0, le=1)
    rank_low: int = column(
        ge=1, description="95% of the rank among the groups, the lowest mean first."
    )
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
        ge=0,
        le=1,
        nullable=True,
        description=(
            "That the true mean of lower is below that of higher; missing: one version only."
        ),
    )


class BabylmSummaries(results.Summaries, name="babylm_summaries"):
    """Means by the BabyLM challenge's rule and by the paper's (metrics babylm and paper), for each
    checkpoint (condition).
    """

    mean: float = column(
        ge=0, le=1, nullable=True, description="Overall: the mean of the domains' means."
    )
    n_ties: int = column(
        ge=0,
        description=(
            "Exact ties: right by the challenge's rules of 2025, drawn by those of 2026, 0.5 by the"
            " paper's."
        ),
    )
    n_near_ties: int = column(ge=0)


class Leaks(Table, name="leaks", version=3, key=["model", "measure"]):
    """What given items have more than parallel forms of their templates, and a file's order more
    than others, for a model.
    """

    model: str
    measure: str = column(
        isin=["logprob", "accuracy", "word_frequency", "order"],
        description=(
            "logprob: nats, of an item's contexts and of its targets after their own;"
            " word_frequency: summed logarithm of how often these texts' words occur in English,"
            " whatever the model; order: nats per shard of a file."
        ),
    )
    estimate: float = column(
        description=(
            "Given minus forms, within templates and after unusually frequent fillers; own order"
            " minus others."
        )
    )
    low: float = column(description="95 %, pairs of concepts (order: shards) being a sample.")
    high: float
    p: float = column(
        ge=0, le=1, description="One-sided: how often so much more would come by chance."
    )
    detectable: float = column(
        ge=0,
        nullable=True,
        description=(
            "The smallest true excess that this test finds (p < 0.05) in 80% of such samples."
        ),
    )
    n_pairs: int = column(gt=0, description="Pairs of concepts; order: shards.")
    n_templates: int = column(gt=0, description="Templates; order: shards.")
