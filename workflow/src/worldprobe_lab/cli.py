"""``plan`` and ``pool``: how large a study must be, and domains by partial pooling."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from worldprobe.cli.analysis import Step
from worldprobe.cli.options import (
    Cluster,
    EvalType,
    Judgements,
    Missing,
    ReplicateModels,
    between,
    named_groups,
)
from worldprobe.log import LOGGER

#: Version of each computation.
PLANS, POOLED = 2, 2


def plan(
    judgements: Judgements,
    /,
    *,
    difference: Annotated[float, between(0.0001, 1)] = 0.02,
    power: Annotated[float, between(0, 0.9999)] = 0.8,
    eval_type: EvalType = "logprobs",
    cluster: Cluster = "concept_pair",
    n_clusters: Annotated[Sequence[int], between(2)] = (),
    n_versions: Annotated[Sequence[int], between(2, 10_000)] = (),
    replicates: ReplicateModels = (),
    n_replicates: Annotated[Sequence[int], between(1, 1000)] = (1,),
    people: Path | None = None,
    n_raters: Annotated[Sequence[int], between(1, 1000)] = (),
    missing: Missing = (),
    out: Path,
) -> None:
    """How large a study must be to find a difference of two models.

    The size is in pairs of concepts and versions, overall and by domain.

    The variances are those of a pilot: judgements of two models or more on two versions or more.
    With people's ratings of the same items: how many raters, too, to find a difference of people
    and a model.

    Args:
        difference: true difference of the two models' accuracies
        power: share of such studies that should find it; for the printed sentences
        n_clusters: numbers of pairs of concepts (default: half, once, twice and four times the
            pilot's)
        n_versions: numbers of versions (default: 2 to 50)
        n_replicates: numbers of replicates of each model; 1: about these trained models
        people: people's ratings (from `human clean`): find a difference of people and a model
        n_raters: numbers of raters of each sentence, if people are compared (default: the pilot's)
        out: plans table
    """
    from worldprobe.benchmarks.ewok.analysis.panel import COLUMNS
    from worldprobe.benchmarks.ewok.contracts import Ratings
    from worldprobe.contracts import read_table
    from worldprobe.contracts.results import OVERALL
    from worldprobe_lab.contracts import Plans
    from worldprobe_lab.planning import plan_studies, versions_needed

    step = Step(PLANS, judgements, missing, {"people": people} if people else None)
    rows = step.read(COLUMNS)
    rated = read_table(people, Ratings) if people else None
    size = (n_clusters, n_versions, named_groups(replicates), n_replicates)
    plans = plan_studies(rows, difference, eval_type, cluster, *size, rated, n_raters)
    needed = versions_needed(plans, power)
    print(
        f"A difference of {100 * difference:g} points is found in about {power:.0%} of studies"
        " with:"
    )
    most = plans["n_versions"].max()
    for row in needed[needed["grouping"] == OVERALL].to_dict("records"):
        what = "replicate" if replicates else "rater"
        ending = "s" if row["n_replicates"] > 1 else ""
        runs = f"{row['n_replicates']} {what}{ending}, " if replicates or people else ""
        clusters = f"{row['n_clusters']} {cluster.replace('_', ' ')}s"
        certainty = (
            f" (power {row['power']:.2f}, 95% {row['power_low']:.2f} to {row['power_high']:.2f})"
            if row["n_versions"]
            else ""
        )
        print(
            f"  {runs}{clusters}, {row['n_templates']} templates:"
            f" {row['n_versions'] or f'over {most}'} versions{certainty}"
        )
    print(
        "The interval of the power is that of the pilot, which knows the variances from few pairs"
        " of concepts and versions."
    )
    step.write(plans, Plans, out, ["scipy"], {"cluster": cluster, "power": power})


def pool(judgements: Judgements, /, *, missing: Missing = (), orders_out: Path, out: Path) -> None:
    """Accuracy of domains and pairs of concepts by partial pooling.

    Which statements about the order of domains hold is computed as well.

    Args:
        orders_out: orders table: of every two domains the one that is probably harder
        out: pooled_means table
    """
    from worldprobe.benchmarks.ewok.analysis.panel import (
        COLUMNS,
        DEFAULT_CLUSTER,
        WORDS,
        drawn_in_words,
        has_own_fillings,
    )
    from worldprobe_lab.contracts import Orders, PooledMeans
    from worldprobe_lab.planning import pool_means

    step = Step(POOLED, judgements, missing)
    rows = step.read(COLUMNS)
    means, orders = pool_means(rows)
    is_one_version = not has_own_fillings(rows) and rows["version"].nunique() == 1
    if is_one_version:
        LOGGER.warning(
            "one version of fixed fillings: which of two domains is harder is not said, so orders"
            " have no probability"
        )
    drawn = WORDS[DEFAULT_CLUSTER] if is_one_version else drawn_in_words(DEFAULT_CLUSTER, rows)
    details = {"drawn": drawn, "one_version": is_one_version}
    step.write(orders, Orders, orders_out, ["scipy"], details)
    step.write(means, PooledMeans, out, ["scipy"], details)
