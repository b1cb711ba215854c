"""``plan``, ``pool``, ``families``, ``compare-conditions``: how large a study must be, domains by
partial pooling, levels of families, and conditions of a study.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from worldprobe.benchmarks.ewok.cli.analysis import JudgedStep
from worldprobe.cli.analysis import write_comparisons
from worldprobe.cli.options import (
    Cluster,
    EvalType,
    Groups,
    Judgements,
    Metric,
    Missing,
    ReplicateModels,
    between,
    missing_models,
    named_groups,
)
from worldprobe.errors import TooLittleError, UserError
from worldprobe.log import LOGGER
from worldprobe.missing import present
from worldprobe.provenance import TOO_LITTLE

#: Version of each computation.
PLANS, POOLED = 3, 2


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
    metric: Metric = "accuracy",
    missing: Missing = (),
    out: Path,
) -> None:
    """How large a study must be to find a difference of two models.

    The size is in pairs of concepts and versions, overall and by domain.

    The variances are those of a pilot: judgements of two models or more on two versions or more.
    With people's ratings of the same items: how many raters, too, to find a difference of people
    and a model.

    Args:
        difference: true difference of the two models' accuracies (or pairings)
        power: share of such studies that should find it; for the printed sentences
        n_clusters: numbers of pairs of concepts (default: half, once, twice and four times the
            pilot's)
        n_versions: numbers of versions (default: 2 to 50)
        n_replicates: numbers of replicates of each model; 1: about these trained models
        people: people's ratings (from `human clean`): find a difference of people and a model
        n_raters: numbers of raters of each sentence, if people are compared (default: the pilot's)
        out: plans table
    """
    from worldprobe.benchmarks.ewok.analysis.panel import (
        COLUMNS,
        TWO_VERSIONS,
        count_clusters,
        has_own_fillings,
    )
    from worldprobe.benchmarks.ewok.contracts import Ratings
    from worldprobe.contracts import read_table
    from worldprobe.contracts.results import OVERALL
    from worldprobe_lab.contracts import Plans
    from worldprobe_lab.planning import plan_studies, versions_needed

    step = JudgedStep(PLANS, judgements, missing, {"people": people} if people else None)
    size = (n_clusters, n_versions, named_groups(replicates), n_replicates)
    with step.or_nothing((Plans, out)):
        rows = step.read(COLUMNS)
        rated = read_table(people, Ratings) if people else None
        plans = plan_studies(rows, difference, eval_type, cluster, *size, rated, n_raters, metric)
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
            clusters = count_clusters(row["n_clusters"], cluster)
            certainty = (
                f" (power {row['power']:.2f}, 95% {row['power_low']:.2f} to"
                f" {row['power_high']:.2f})"
                if row["n_versions"]
                else ""
            )
            print(
                f"  {runs}{clusters}, {row['n_templates']} templates:"
                f" {row['n_versions'] or f'over {most}'} versions{certainty}"
            )
        print(
            "The interval of the power is that of the pilot, which knows the variances from few"
            " pairs of concepts and versions."
        )
        details = {"cluster": cluster, "power": power, "metric": metric}
        if has_own_fillings(rows):
            details |= {"own_fillings": True}
            if 2 in plans["n_versions"].to_numpy():
                print(TWO_VERSIONS)
        step.write(plans, Plans, out, ["scipy"], details)


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
        drawn_in_words,
        has_own_fillings,
    )
    from worldprobe_lab.contracts import Orders, PooledMeans
    from worldprobe_lab.planning import pool_means

    step = JudgedStep(POOLED, judgements, missing)
    with step.or_nothing((Orders, orders_out), (PooledMeans, out)):
        rows = step.read(COLUMNS)
        means, orders = pool_means(rows)
        is_one_version = not has_own_fillings(rows) and rows["version"].nunique() == 1
        if is_one_version:
            LOGGER.warning(
                "one version of fixed fillings: which of two domains is harder is not said, so"
                " orders have no probability"
            )
        drawn = drawn_in_words(DEFAULT_CLUSTER, rows)
        details = {"drawn": drawn, "one_version": is_one_version}
        alone = {} if len(orders) else {TOO_LITTLE: "One domain has no order."}
        step.write(orders, Orders, orders_out, ["scipy"], details | alone)
        step.write(means, PooledMeans, out, ["scipy"], details)


#: Version of ``families``.
FAMILIES = 1


def families(items: Path, judgements: Judgements, /, *, missing: Missing = (), out: Path) -> None:
    """Accuracy at each level of each family, and its slope over levels within bases.

    Intervals are over bases.

    Args:
        items: items table, built with --families
        out: family_levels table
    """
    from worldprobe.benchmarks.ewok.analysis.panel import COLUMNS
    from worldprobe.benchmarks.ewok.analysis.provenances import check_items
    from worldprobe.benchmarks.ewok.contracts import Items
    from worldprobe.contracts import read_table
    from worldprobe_lab.contracts import FamilyLevels
    from worldprobe_lab.levels import measure_families

    step = JudgedStep(FAMILIES, judgements, missing, {"items": items})
    with step.or_nothing((FamilyLevels, out)):
        rows = step.read(COLUMNS)
        check_items(items, step.judgements)
        step.write(measure_families(rows, read_table(items, Items)), FamilyLevels, out, ["scipy"])


def compare_conditions(
    *,
    judgements: Annotated[
        Groups,
        Parameter(
            help="name of a condition and its tables; once per condition, the reference first"
        ),
    ],
    condition_title: Sequence[tuple[str, str]] = (),
    cluster: Cluster = "concept_pair",
    missing: Missing = (),
    out: Path | None = None,
) -> None:
    """Compare the first condition with each other one, paired by template.

    It is done for every model and eval type that both have.

    Prints for each what its numbers support.

    Args:
        condition_title: name of a condition and what tables and figures call it (default: its
            name); once per condition
        out: condition_comparisons table; JSON where the name ends in .json
    """
    from worldprobe.benchmarks.ewok.analysis.panel import COLUMNS, has_own_fillings
    from worldprobe.benchmarks.ewok.analysis.provenances import kinds_of, read_judgements
    from worldprobe.benchmarks.ewok.benchmark import BENCHMARK
    from worldprobe.benchmarks.ewok.results import COMPARISONS
    from worldprobe_lab.condition_comparisons import PRINTED, compare_conditions
    from worldprobe_lab.contracts import ConditionComparisons

    paths: dict[str, list[Path]] = {}
    without: list[str] = []
    for name, *files in judgements:
        if name in paths or not files or not name.strip():
            problem = (
                f"{name} is given twice."
                if name in paths
                else f'"{name}" has no name or no judgements table.'
            )
            raise UserError(
                "--judgements",
                problem,
                "Give each condition once, as NAME JUDGEMENTS [JUDGEMENTS ...].",
            )
        paths[name], lacking = present(map(Path, files))
        without += [f"{model.name}={model.reason}" for model in lacking]
    titles = dict(condition_title)
    for name in titles.keys() - paths.keys():
        raise UserError(
            "--condition-title",
            f'there is no condition "{name}".',
            f"Choose one of: {', '.join(paths)}.",
        )
    step = JudgedStep(
        COMPARISONS,
        [],
        missing,
        {f"{name}: {path}": path for name, files in paths.items() for path in files},
    )
    step.lacks_answers = bool(without)
    gone = [name for name, files in paths.items() if not files]
    rows = {name: read_judgements(files, COLUMNS) for name, files in paths.items() if files}
    models = {model for table in rows.values() for model in table["model"].unique()}
    step.details |= missing_models(missing, models, without) | kinds_of(list(step.others.values()))
    own_fillings = [name for name, judged in rows.items() if has_own_fillings(judged)]
    details: dict[str, Any] = {
        "cluster": cluster,
        "reference": next(iter(paths)),
        "conditions": list(paths),
    }
    details |= {"titles": titles} if titles else {}
    details |= {"own_fillings": own_fillings} if own_fillings else {}
    if gone:
        details |= {"conditions": list(rows), "gone": gone}
        LOGGER.warning("no model has answers in %s", ", ".join(gone))
    with step.or_nothing((ConditionComparisons, out)):
        if gone and (details["reference"] in gone or len(rows) < 2):
            problem = f"no model has answers in {', '.join(gone)}."
            raise TooLittleError("--judgements", problem, "Repair that, and run again.")
        comparisons = compare_conditions(rows, cluster)
        write_comparisons(
            step,
            comparisons,
            ConditionComparisons,
            out,
            details | {"drawn": str(comparisons["interval_over"][0])},
            PRINTED,
            benchmark=BENCHMARK,
        )
