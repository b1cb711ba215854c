"""``summarize``, ``fit``, ``correlate`` and ``agree``: judgements to means, regressions, correlations and confusion matrices."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from cyclopts import App

from worldprobe.cli.options import Cluster, EvalType, Judgements, Missing, Surface
from worldprobe.cli.step import Step
from worldprobe.log import LOGGER

fit = App(name="fit", help="Logistic regressions on accuracy, with and without R.")

#: Version of each computation. Summaries: 3 has intervals that hold with few versions and clusters.
SUMMARIES, CORRELATIONS, AGREEMENTS = 3, 2, 2
#: 2 leaves out what has no limit (separation).
FITS = 2

Ties = Literal["wrong", "drop"]
TargetCoding = Literal["deviation", "treatment"]


def summarize(
    judgements: Judgements,
    /,
    *,
    cluster: Cluster = "concept_pair",
    average: Literal["items", "domains"] = "items",
    missing: Missing = (),
    out: Path,
) -> None:
    """Mean accuracy (and strict, both_right, context_sensitivity) overall and by group.

    Args:
        average: what weighs equally in overall means; domains: as in BabyLM's leaderboards, with no interval
        out: summaries table
    """
    from worldprobe.benchmarks import scored_in
    from worldprobe.benchmarks.ewok.analysis.panel import COLUMNS, drawn_in_words
    from worldprobe.benchmarks.ewok.analysis.provenances import has_own_fillings, items_of
    from worldprobe.benchmarks.ewok.analysis.summarize import intervals_by_template, summarize
    from worldprobe.benchmarks.ewok.contracts import Summaries

    step = Step(SUMMARIES, judgements, missing)
    if scored := scored_in(judgements[0]):
        from worldprobe.analysis.summaries import summarize_scores
        from worldprobe.contracts import results

        table, units = step.read_scores(scored)
        step.write(summarize_scores(table, units), results.Summaries, out, ["scipy"])
        return
    rows = step.read(COLUMNS)
    is_own = has_own_fillings(judgements)
    summaries = summarize(rows, cluster, average, is_own)
    details: dict[str, Any] = {"cluster": cluster, "drawn": drawn_in_words(cluster, is_own), "n_rows": len(rows)}
    details |= items_of(judgements)
    if average == "items":
        details["overall_intervals_by_template"] = intervals_by_template(rows, is_own)
    else:
        details["average"] = average
    step.write(summaries, Summaries, out, ["scipy"], details)
    LOGGER.info("%d means of %d judgements of %d models", len(summaries), len(rows), summaries["model"].nunique())


@fit.command
def mixed_model(
    judgements: Judgements,
    /,
    *,
    surface: Surface,
    eval_type: EvalType = "logprobs",
    ties: Ties = "wrong",
    target_coding: TargetCoding = "deviation",
    algorithm: Literal["whitened", "plain"] = "whitened",
    missing: Missing = (),
    out: Path,
) -> None:
    """Fit random intercepts of model and item, by R's lme4 (the paper).

    Args:
        ties: exact ties: counted as wrong (as in the paper) or dropped
        target_coding: coding of the target: deviation (as in the paper) or treatment (as in the released analysis)
        algorithm: whitened: fast; plain: glmer as the paper called it, slow
        out: coefficients table
    """
    from worldprobe.benchmarks.ewok.analysis.regression import fit_mixed_model, start_r

    start_r()  # a missing R is reported before anything is read
    step = Step(FITS, judgements, missing, {"surface_features": surface})
    table, details = fit_mixed_model(_design(step, surface, eval_type, ties, target_coding), algorithm)
    _write_fit(step, table, details, surface, ["rpy2"], out)


@fit.command
def fixed_effects(
    judgements: Judgements,
    /,
    *,
    surface: Surface,
    eval_type: EvalType = "logprobs",
    ties: Ties = "wrong",
    target_coding: TargetCoding = "deviation",
    missing: Missing = (),
    out: Path,
) -> None:
    """Cross-check without R: statsmodels, standard errors clustered by item.

    Args:
        ties: exact ties: counted as wrong (as in the paper) or dropped
        target_coding: coding of the target: deviation (as in the paper) or treatment (as in the released analysis)
        out: coefficients table
    """
    from worldprobe.benchmarks.ewok.analysis.regression import fit_fixed_effects

    step = Step(FITS, judgements, missing, {"surface_features": surface})
    table, details = fit_fixed_effects(_design(step, surface, eval_type, ties, target_coding))
    _write_fit(step, table, details, surface, ["statsmodels"], out)


def _design(step: Step, surface: Path, eval_type: str, ties: str, target_coding: str) -> Any:
    from worldprobe.benchmarks.ewok.analysis.regression import COLUMNS, build_design
    from worldprobe.benchmarks.ewok.contracts import SurfaceFeatures
    from worldprobe.contracts import read_table

    rows = step.read(COLUMNS)
    design = build_design(rows, read_table(surface, SurfaceFeatures), eval_type, ties, target_coding)
    LOGGER.info("%d rows, %d models, %d items", design.details["n_rows"], len(design.models), len(design.items))
    return design


def _write_fit(step: Step, table: Any, details: dict[str, Any], surface: Path, packages: list[str], out: Path) -> None:
    from worldprobe.benchmarks.ewok.analysis.provenances import items_of
    from worldprobe.benchmarks.ewok.contracts import Coefficients
    from worldprobe.contracts import read_provenance

    more = {"surface_features": read_provenance(surface).details}
    step.write(table, Coefficients, out, packages, details | items_of(step.judgements) | more)
    for note in details["notes"]:
        LOGGER.warning("%s", note)


def correlate(
    judgements: Judgements, /, *, surface: Surface, points_out: Path | None = None, missing: Missing = (), out: Path
) -> None:
    """Pearson's r of every model's accuracy with the word2vec baseline's accuracy and the surface features.

    Args:
        points_out: feature_means table: the points of the scatter panels
        out: correlations table
    """
    from worldprobe.benchmarks.ewok.analysis.correlations import correlate
    from worldprobe.benchmarks.ewok.analysis.panel import COLUMNS
    from worldprobe.benchmarks.ewok.contracts import Correlations, FeatureMeans, SurfaceFeatures
    from worldprobe.contracts import read_provenance, read_table

    step = Step(CORRELATIONS, judgements, missing, {"surface_features": surface})
    correlations, points = correlate(step.read(COLUMNS), read_table(surface, SurfaceFeatures))
    if "word2vec" not in set(correlations["feature"]):
        LOGGER.warning("there are no judgements of word2vec, so r(accuracy, word2vec) is left out")
    details = {"surface_features": read_provenance(surface).details}
    if points_out:
        step.write(points, FeatureMeans, points_out, ["scipy"], details)
    step.write(correlations, Correlations, out, ["scipy"], details)


def agree(judgements: Judgements, /, *, people: Path | None = None, missing: Missing = (), out: Path) -> None:
    """For every model asked by Likert and Choice in one set-up: which context each way prefers, or none.

    Args:
        people: people's matrix, from `human agreement --matrix-out`
        out: agreements table
    """
    import pandas as pd

    from worldprobe.benchmarks.ewok.analysis.correlations import agree
    from worldprobe.benchmarks.ewok.analysis.provenances import check_same_items
    from worldprobe.benchmarks.ewok.contracts import Agreements
    from worldprobe.contracts import read_table
    from worldprobe.errors import UserError
    from worldprobe.report.model_names import HUMAN

    step = Step(AGREEMENTS, judgements, missing)
    matrices = [agree(step.read(["item_id", "target", "model", "eval_type", "accuracy", "status"]))]
    if people:
        step.others[str(people)] = people
        check_same_items([*judgements, people])
        matrix = read_table(people, Agreements)
        if set(matrix["model"]) != {HUMAN}:
            problem = "contains the answers of models."
            raise UserError(people, problem, "Give the matrix of people, from `human agreement --matrix-out`.")
        matrices.append(matrix)
    step.write(pd.concat(matrices, ignore_index=True), Agreements, out)
