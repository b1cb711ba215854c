"""``judge``, ``agree``, ``correlate`` and ``fit``: from scores to what they show."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App

from worldprobe.cli.analysis import Step
from worldprobe.cli.options import (
    KEYS,
    Judgements,
    Missing,
    Surface,
    between,
)
from worldprobe.errors import UserError
from worldprobe.log import LOGGER
from worldprobe.provenance import language_name, made
from worldprobe.settings.blocks import Block

if TYPE_CHECKING:
    import pandas as pd

    from worldprobe.benchmarks.ewok.analysis.judge import Judged

fit = App(name="fit", help="Logistic regressions on accuracy, with and without R.")

#: Version of each computation.
CORRELATIONS, AGREEMENTS = 3, 2
#: 2 leaves out what has no limit (separation).
FITS = 2


class JudgedStep(Step):
    """One run of a command over judgements."""

    def read(self, columns: Sequence[str]) -> pd.DataFrame:
        """All judgements, which must be of the same items as the other inputs."""
        from worldprobe.benchmarks.ewok.analysis.provenances import kinds_of, read_judgements

        rows = read_judgements(self.answers(), columns, list(self.others.values()))
        self.details |= self.lacking(rows["model"].unique()) | kinds_of(self.judgements)
        return rows


class FitSettings(Block):
    """Settings of a regression."""

    eval_type: str = "logprobs"
    """Way of asking."""

    ties: Literal["wrong", "drop"] = "wrong"
    """Exact ties: counted as wrong (as in the paper) or dropped."""

    target_coding: Literal["deviation", "treatment"] = "deviation"
    """Coding of the target: deviation (as in the paper) or treatment (as in the released analysis).
    """


@fit.command
def mixed_model(
    judgements: Judgements,
    /,
    *,
    surface: Surface,
    how: Annotated[FitSettings, KEYS] = FitSettings(),
    algorithm: Literal["whitened", "plain"] = "whitened",
    random_effects: Literal["intercepts", "maximal"] = "maximal",
    missing: Missing = (),
    out: Path,
) -> None:
    """Fit a mixed-effects model by R's lme4.

    It has random effects of templates, pairs of concepts and models' slopes, or is the paper's
    formula.

    Args:
        algorithm: whitened: fast; plain: glmer as the paper called it, slow
        random_effects: maximal: items, models and their slopes, templates, pairs of concepts and
            versions; intercepts: items and models alone, as in the paper
        out: coefficients table
    """
    from worldprobe.benchmarks.ewok.analysis.regression import fit_mixed_model, start_r
    from worldprobe.benchmarks.ewok.contracts import Coefficients

    start_r()  # a missing R is reported before anything is read
    step = JudgedStep(FITS, judgements, missing, {"surface_features": surface})
    with step.or_nothing((Coefficients, out)):
        table, details = fit_mixed_model(_design(step, surface, how), algorithm, random_effects)
        _write_fit(step, table, details, surface, ["rpy2"], out)


@fit.command
def fixed_effects(
    judgements: Judgements,
    /,
    *,
    surface: Surface,
    how: Annotated[FitSettings, KEYS] = FitSettings(),
    missing: Missing = (),
    out: Path,
) -> None:
    """Cross-check without R: statsmodels, standard errors clustered by item.

    Args:
        out: coefficients table
    """
    from worldprobe.benchmarks.ewok.analysis.regression import fit_fixed_effects
    from worldprobe.benchmarks.ewok.contracts import Coefficients

    step = JudgedStep(FITS, judgements, missing, {"surface_features": surface})
    with step.or_nothing((Coefficients, out)):
        table, details = fit_fixed_effects(_design(step, surface, how))
        _write_fit(step, table, details, surface, ["statsmodels"], out)


def _design(step: JudgedStep, surface: Path, how: FitSettings) -> Any:
    from worldprobe.benchmarks.ewok.analysis.regression import COLUMNS, build_design
    from worldprobe.benchmarks.ewok.contracts import SurfaceFeatures
    from worldprobe.contracts import read_table
    from worldprobe.report.model_names import counted

    rows = step.read(COLUMNS)
    design = build_design(
        rows, read_table(surface, SurfaceFeatures), how.eval_type, how.ties, how.target_coding
    )
    LOGGER.info(
        "%d rows, %s, %d items",
        design.details["n_rows"],
        counted(len(design.models), "model"),
        len(design.items),
    )
    return design


def _write_fit(
    step: JudgedStep,
    table: Any,
    details: dict[str, Any],
    surface: Path,
    packages: list[str],
    out: Path,
) -> None:
    from worldprobe.benchmarks.ewok.analysis.provenances import items_of
    from worldprobe.benchmarks.ewok.contracts import Coefficients
    from worldprobe.contracts import read_provenance

    more = {"surface_features": read_provenance(surface).details}
    step.write(table, Coefficients, out, packages, details | items_of(step.judgements) | more)
    for note in details["notes"]:
        LOGGER.warning("%s", note)


def correlate(
    judgements: Judgements,
    /,
    *,
    surface: Surface,
    points_out: Path | None = None,
    missing: Missing = (),
    out: Path,
) -> None:
    """Pearson's r of models' accuracies with those of baselines, and with surface features.

    Args:
        points_out: feature_means table: the points of the scatter panels
        out: correlations table
    """
    from worldprobe.benchmarks.ewok.analysis.panel import COLUMNS
    from worldprobe.benchmarks.ewok.analysis.summarize import correlate_with_features
    from worldprobe.benchmarks.ewok.contracts import Correlations, FeatureMeans, SurfaceFeatures
    from worldprobe.contracts import read_provenance, read_table

    step = JudgedStep(CORRELATIONS, judgements, missing, {"surface_features": surface})
    outputs = [(Correlations, out)] + ([(FeatureMeans, points_out)] if points_out else [])
    with step.or_nothing(*outputs):
        correlations, points = correlate_with_features(
            step.read(COLUMNS), read_table(surface, SurfaceFeatures)
        )
        details = {"surface_features": read_provenance(surface).details}
        if points_out:
            step.write(points, FeatureMeans, points_out, ["scipy"], details)
        step.write(correlations, Correlations, out, ["scipy"], details)


def agree(
    judgements: Judgements, /, *, people: Path | None = None, missing: Missing = (), out: Path
) -> None:
    """Which context Likert and Choice prefer, or none, for every model asked by both.

    Args:
        people: people's matrix, from `human agreement --matrix-out`
        out: agreements table
    """
    import pandas as pd

    from worldprobe.benchmarks.ewok.analysis.provenances import check_same_items
    from worldprobe.benchmarks.ewok.analysis.summarize import cross_preferences
    from worldprobe.benchmarks.ewok.contracts import Agreements
    from worldprobe.contracts import read_table
    from worldprobe.report.model_names import HUMAN

    step = JudgedStep(AGREEMENTS, judgements, missing)
    with step.or_nothing((Agreements, out)):
        rows = step.read(["item_id", "target", "model", "eval_type", "accuracy", "status"])
        matrices = [cross_preferences(rows)]
        if people:
            step.others[str(people)] = people
            check_same_items([*step.judgements, people])
            matrix = read_table(people, Agreements)
            if set(matrix["model"]) != {HUMAN}:
                problem = "contains the answers of models."
                raise UserError(
                    people,
                    problem,
                    "Give the matrix of people, from `human agreement --matrix-out`.",
                )
            matrices.append(matrix)
        step.write(pd.concat(matrices, ignore_index=True), Agreements, out)


#: Version of ``judge``: 2 takes the tolerance of near ties from the dtype, 3 judges pairings, too.
JUDGEMENTS = 3


def judge(
    items: Path,
    evidence: list[Path],
    /,
    *,
    model: str | None = None,
    compare_targets: Literal["sum", "mean", "pmi"] | None = None,
    near_tie: Annotated[float | None, between(0, 1e6)] = None,
    out: list[Path],
) -> None:
    """Judge every target by scores, answers, similarities or ratings.

    Nothing is written before all are judged.

    A target is right when the context it fits wins; ties count 0.5 and are counted. An item's
    pairing is right when its contexts and targets fit better as they belong together than
    exchanged.

    Args:
        items: items table
        evidence: target_scores, responses, similarities or ratings tables, any number
        model: name of the model in the tables (default: what the evidence names)
        compare_targets: log probabilities: compare both targets under one context, by their sum,
            their mean per token, or the sum minus the target's log probability without context
            (default: one target under both contexts, as in the paper)
        near_tie: differences up to this count as near ties (default: by the evidence; log
            probabilities: 1e-3 nats for float32, 0.025 for float16, 0.2 for bfloat16); of a
            pairing, up to twice this
        out: judgements tables, one for each table of evidence
    """
    from worldprobe.benchmarks.ewok.analysis.judge import judge_evidence, read_evidence
    from worldprobe.benchmarks.ewok.analysis.provenances import check_items
    from worldprobe.benchmarks.ewok.contracts import Items, Judgements
    from worldprobe.contracts import read_provenance, read_table, validate, write_table

    language = language_name(read_provenance(items).details)
    _check_evidence(evidence, out, near_tie, compare_targets)
    item_rows = read_table(items, Items)
    check_items(items, evidence)
    finished = []
    for path, destination in zip(evidence, out, strict=True):
        read = read_evidence(path, model)
        judged = judge_evidence(item_rows, read, near_tie, compare_targets)
        source = read.provenance
        provenance = made(
            JUDGEMENTS,
            {"items": items, read.kind: path},
            ["numpy", "pandas"],
            model=read.model,
            checkpoint=source.checkpoint,
            revision=source.revision,
            dtype=source.dtype,
            engine=source.engine,
            kind=source.kind,
            details=judged.details
            | ({"items_in": language} if language else {})
            | {key: source.details[key] for key in OF_MODEL if key in source.details},
        )
        finished.append((validate(judged.table, Judgements), destination, provenance))
        _report_judged(judged, read.model)
    for table, destination, provenance in finished:
        write_table(table, Judgements, destination, provenance)


#: What a table of evidence says of its model, and judgements say too.
OF_MODEL = (
    *("pseudo_log_likelihood", "quantisation", "precision", "gguf", "adapter"),
    "chat_template_kwargs",
)


def _check_evidence(
    evidence: list[Path], out: list[Path], near_tie: float | None, compare_targets: str | None
) -> None:
    """Refuse options that would do nothing.

    Raises:
        UserError: an option does not apply to a table of evidence, or the numbers of files differ.
    """
    from worldprobe.benchmarks.ewok.analysis.judge import evidence_kind

    kinds = [evidence_kind(path) for path in evidence]
    if len(evidence) != len(out):
        problem = f"names {len(out)} files for {len(evidence)} tables of evidence."
        raise UserError("--out", problem, "Name one file for each table, in the same order.")
    for path, kind in zip(evidence, kinds, strict=True):
        if near_tie is not None and kind == "responses":
            raise UserError(
                "--near-tie",
                f"{path} contains answers, which tie exactly or not at all.",
                "Leave --near-tie out.",
            )
        if compare_targets and kind != "target_scores":
            problem = f"{path} contains {kind}, not log probabilities."
            raise UserError(
                "--compare-targets", problem, "Leave it out, or give target_scores only."
            )


def _report_judged(judged: Judged, model: str) -> None:
    """Log how many targets are right, tied or missing."""
    rows = judged.table
    LOGGER.info(
        "%s, %s: accuracy %.3f, %s over %d targets; %d ties, %d near ties, %d missing",
        model,
        ", ".join(sorted(rows["eval_type"].unique())),
        rows["accuracy"].mean(),
        f"pairing {rows['pairing'].mean():.3f}" if "pairing" in rows else "no pairing",
        len(rows),
        rows["is_tie"].sum(),
        rows["is_near_tie"].sum(),
        (rows["status"] != "ok").sum(),
    )
    for eval_type, details in judged.details.items():
        if isinstance(details, dict) and "position_bias" in details:
            bias = details["position_bias"]
            LOGGER.info(
                "%s, %s: position bias %s (0.5 of the answers name the first context where there is"
                " none)",
                model,
                eval_type,
                bias,
            )
