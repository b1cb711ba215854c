"""``judge``, ``summarize``, ``fit``, ``correlate``, ``agree``, ``compare``, ``reproduction``:
from scores to what they show.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App

from worldprobe.benchmarks import benchmark_of, facts_of, find_analysis
from worldprobe.cli.options import (
    KEYS,
    Answers,
    Cluster,
    EvalType,
    Judgements,
    MaterialsPlace,
    Metric,
    Missing,
    Password,
    ReplicateModels,
    Sets,
    SkinFolder,
    Surface,
    between,
    missing_models,
    named_groups,
)
from worldprobe.cli.options import password as password_of
from worldprobe.errors import TooLittleError, UserError
from worldprobe.files import write_text
from worldprobe.log import LOGGER
from worldprobe.paths import RESOURCES, materials_place
from worldprobe.provenance import TOO_LITTLE, made, of_rehearsal
from worldprobe.settings.blocks import Block

if TYPE_CHECKING:
    import pandas as pd

    from worldprobe.analysis.reproduction import Checked
    from worldprobe.benchmark import Benchmark, Computed
    from worldprobe.benchmarks.ewok.analysis.judge import Judged
    from worldprobe.contracts import Table
    from worldprobe.provenance import Provenance

fit = App(name="fit", help="Logistic regressions on accuracy, with and without R.")

#: Version of each computation.
CORRELATIONS, AGREEMENTS = 3, 2
#: 2 leaves out what has no limit (separation).
FITS = 2


class Step:
    """One run of a command over tables of judgements.

    Args:
        method: version of the computation.
        judgements: the tables.
        missing: values of ``--missing``.
        others: name -> further input.

    Attributes:
        details: what the output's provenance says besides.
        seed: of what was drawn.
        canary: of texts that the output repeats.
    """

    def __init__(
        self,
        method: int,
        judgements: Sequence[Path],
        missing: Sequence[str] = (),
        others: Mapping[str, Path] | None = None,
    ) -> None:
        self.method, self.judgements, self.missing, self.others = (
            method,
            list(judgements),
            missing,
            dict(others or {}),
        )
        self.details: dict[str, Any] = {}
        self.seed: int | None = None
        self.canary: str | None = None

    def read(self, columns: Sequence[str]) -> pd.DataFrame:
        """All judgements, which must be of the same items as the other inputs."""
        from worldprobe.benchmarks.ewok.analysis.provenances import kinds_of, read_judgements

        rows = read_judgements(self.judgements, columns, list(self.others.values()))
        self.details |= missing_models(self.missing, rows["model"].unique()) | kinds_of(
            self.judgements
        )
        return rows

    def take(self, computed: Computed, benchmark: Benchmark | None) -> None:
        """What the output says of what a benchmark, or an extension, computed."""
        self.others |= computed.inputs
        self.seed = computed.seed
        self.details |= {**computed.details, **missing_models(self.missing, computed.models)}
        if benchmark and benchmark.scores:
            self.details |= facts_of(benchmark)

    def provenance(
        self, packages: Sequence[str], details: Mapping[str, Any] | None = None
    ) -> Provenance:
        """What made the output."""
        inputs = self.others | {str(path): path for path in self.judgements}
        return made(
            self.method,
            inputs,
            ["numpy", "pandas", *packages],
            details={**(details or {}), **self.details},
            seed=self.seed,
            canary=self.canary,
        )

    def write(
        self,
        table: pd.DataFrame,
        contract: type[Table],
        out: Path,
        packages: Sequence[str] = (),
        details: Mapping[str, Any] | None = None,
    ) -> None:
        """Write the output, and say which models it lacks."""
        from worldprobe.contracts import write_table

        write_table(table, contract, out, self.provenance(packages, details))
        for model, reason in self.details.get("missing_models", {}).items():
            LOGGER.warning("%s is missing: %s", model, reason)

    @contextmanager
    def or_nothing(self, *outputs: tuple[type[Table], Path | None]) -> Iterator[None]:
        """Write tables without rows that say why, where answers say nothing about what is computed.

        Args:
            outputs: contracts and files, of which one that is no table is refused as before.
        """
        from worldprobe.contracts import typed

        try:
            yield
        except TooLittleError as error:
            for contract, out in outputs:
                if out is None or out.suffix != ".parquet":
                    raise
                self.write(typed([], contract), contract, out, [], {TOO_LITTLE: error.problem})
            LOGGER.warning("The table has no rows: %s %s", error.problem, error.fix)


class FitSettings(Block):
    """What a regression is about."""

    eval_type: str = "logprobs"
    """Way of asking."""

    ties: Literal["wrong", "drop"] = "wrong"
    """Exact ties: counted as wrong (as in the paper) or dropped."""

    target_coding: Literal["deviation", "treatment"] = "deviation"
    """Coding of the target: deviation (as in the paper) or treatment (as in the released analysis).
    """


def summarize(
    answers: Answers,
    /,
    *,
    cluster: Cluster | None = None,
    average: Literal["items", "domains"] | None = None,
    sets: Sets = (),
    skin_folder: SkinFolder = None,
    missing: Missing = (),
    out: Path,
) -> None:
    """Mean of every metric, overall and by group, with intervals.

    The answers are judgements of EWoK, scores of another benchmark, or responses to WorldSense's
    trials.

    Args:
        average: EWoK: what the overall mean weighs equally: items (default), or domains as in
            BabyLM's leaderboards (without an interval)
        out: summaries table
    """
    from worldprobe.report.model_names import counted

    stated = {"cluster": cluster, "average": average, "sets": sets, "skin_folder": skin_folder}
    analysis, benchmark = find_analysis(answers[0], "summarize")
    options = understood(analysis.compute, stated, answers[0], benchmark)
    computed = analysis.compute(answers, **options)
    step = Step(analysis.method, answers, missing)
    step.take(computed, benchmark)
    step.write(computed.table, analysis.contract, out, ["scipy"])
    for warning in computed.warnings:
        LOGGER.warning("%s", warning)
    n_models = computed.table["model"].nunique()
    LOGGER.info("%d means of %s", len(computed.table), counted(n_models, "model"))


def understood(
    function: Callable[..., Any],
    stated: Mapping[str, Any],
    file: Path,
    benchmark: Benchmark | None,
) -> dict[str, Any]:
    """The options that are given, if what is done with a file takes them all.

    Args:
        function: what is done.
        stated: name -> value; empty where an option is not given.
        file: for messages.
        benchmark: whose it is; None: an extension's.

    Raises:
        UserError: an option does nothing.
    """
    given = {name: value for name, value in stated.items() if value}
    for name in sorted(given.keys() - inspect.signature(function).parameters.keys()):
        whose = f", which is {benchmark.title}'s" if benchmark else ""
        problem = f"does not apply to {file}{whose}."
        raise UserError(f"--{name.replace('_', '-')}", problem, "Leave the option out.")
    return given


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
    step = Step(FITS, judgements, missing, {"surface_features": surface})
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

    step = Step(FITS, judgements, missing, {"surface_features": surface})
    with step.or_nothing((Coefficients, out)):
        table, details = fit_fixed_effects(_design(step, surface, how))
        _write_fit(step, table, details, surface, ["statsmodels"], out)


def _design(step: Step, surface: Path, how: FitSettings) -> Any:
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
    step: Step, table: Any, details: dict[str, Any], surface: Path, packages: list[str], out: Path
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

    step = Step(CORRELATIONS, judgements, missing, {"surface_features": surface})
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

    step = Step(AGREEMENTS, judgements, missing)
    rows = step.read(["item_id", "target", "model", "eval_type", "accuracy", "status"])
    with step.or_nothing((Agreements, out)):
        matrices = [cross_preferences(rows)]
        if people:
            step.others[str(people)] = people
            check_same_items([*judgements, people])
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
    from worldprobe.contracts import read_table, validate, write_table

    _check_evidence(evidence, out, near_tie, compare_targets)
    item_rows = read_table(items, Items)
    check_items(items, evidence)
    finished = []
    for path, place in zip(evidence, out, strict=True):
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
            | {key: source.details[key] for key in OF_MODEL if key in source.details},
        )
        finished.append((validate(judged.table, Judgements), place, provenance))
        _report_judged(judged, read.model)
    for table, place, provenance in finished:
        write_table(table, Judgements, place, provenance)


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


def compare(
    answers: Answers,
    /,
    *,
    eval_type: EvalType | None = None,
    cluster: Cluster | None = None,
    metric: Metric | None = None,
    replicates: ReplicateModels = (),
    sets: Sets = (),
    skin_folder: SkinFolder = None,
    missing: Missing = (),
    out: Path | None = None,
) -> None:
    """Compare every pair of models, overall and by group; EWoK's also with baselines.

    Prints what each pair's numbers support. Without --metric, judgements of EWoK are compared by
    accuracy and, where the way of asking has it, by pairing.

    Given checkpoint_scores tables (from `series score`), it compares every pair of training runs
    at each checkpoint and averaged over checkpoints, with one Holm correction over all these
    comparisons.

    Args:
        out: comparisons table; JSON where the name ends in .json
    """
    stated = {
        "eval_type": eval_type,
        "cluster": cluster,
        "metric": metric,
        "replicates": named_groups(replicates),
        "sets": sets,
        "skin_folder": skin_folder,
    }
    analysis, benchmark = find_analysis(answers[0], "compare")
    options = understood(analysis.compute, stated, answers[0], benchmark)
    step = Step(analysis.method, answers, missing)
    with step.or_nothing((analysis.contract, out)):
        computed = analysis.compute(answers, **options)
        step.take(computed, benchmark)
        write_comparisons(
            step, computed.table, analysis.contract, out, {}, computed.template, computed.shown
        )
        for note in computed.notes:
            print(note)


def write_comparisons(
    step: Step,
    comparisons: pd.DataFrame,
    contract: type[Table],
    out: Path | None,
    details: dict[str, Any],
    template: str = "",
    shown: Mapping[str, Any] | None = None,
) -> None:
    """Print the overall comparisons by a template, and write the table, as Parquet or JSON.

    Args:
        template: package and file; "": that of any benchmark.
        shown: what the template prints; None: the rows of the overall comparisons.
    """
    from worldprobe.contracts import validate
    from worldprobe.report.findings import warn_of_few
    from worldprobe.report.origins import REHEARSAL
    from worldprobe.report.page import render_template

    if of_rehearsal([*step.judgements, *step.others.values()]):
        if out is not None and out.suffix == ".json":
            problem = "would have a rehearsal's numbers, and nothing that says so."
            raise UserError(f"--out {out}", problem, "Write a table (.parquet), which says so.")
        print(REHEARSAL)
    overall = comparisons[comparisons["grouping"] == "overall"]
    template = template or "worldprobe.report/assets/comparisons.txt.jinja"
    package, _, file = template.partition("/")
    text = render_template(package, file, **(shown or {"rows": overall.to_dict("records")}))
    print(text, end="")
    for note in warn_of_few(overall):
        print(note)
    for model, kind in step.details.get("kinds", {}).items():
        print(
            f"{model}: {kind}; its scores are another measure than those of causal language models."
        )
    if out is not None and out.suffix == ".json":
        write_text(out, validate(comparisons, contract).to_json(orient="records", indent=1) + "\n")
    elif out is not None:
        step.write(comparisons, contract, out, ["scipy"], details)


reproduction = App(name="reproduction", help="Published numbers next to ours.")

#: Version of ``reproduction check``.
REPRODUCTION = 2
PUBLISHED = RESOURCES / "published"


@reproduction.command
def check(
    summaries: Path,
    /,
    *,
    coefficients: Path | None = None,
    items: Path | None = None,
    materials: MaterialsPlace | None = None,
    password: Password = None,
    published: Path = PUBLISHED,
    out: Path,
) -> None:
    """Compare whatever was run with the published tables and text.

    A summary line is printed, and what was not run says so.

    Args:
        summaries: summaries table
        coefficients: coefficients table of the mixed model
        items: items table, to check whether the items are the official ones
        materials: whose fillers are counted: as for `templates compile`
        published: folder of the published numbers
        out: reproduction table
    """
    from worldprobe.contracts import write_table

    benchmark = benchmark_of(summaries)
    if benchmark.reproduce is None:
        raise UserError(
            summaries,
            f"there are no published numbers of {benchmark.title}.",
            "Give another benchmark's.",
        )
    stated: dict[str, Any] = {"coefficients": coefficients, "items": items}
    stated |= {"materials": materials_place(materials)} if materials else {}
    stated |= {"password": password_of(password)} if materials else {}
    given = understood(benchmark.reproduce, stated, summaries, benchmark)
    checked: Checked = benchmark.reproduce(summaries, published, **given)
    provenance = made(
        REPRODUCTION, dict(checked.inputs), ["numpy", "pandas"], details=checked.details
    )
    write_table(checked.table, checked.contract, out, provenance)
    print(checked.details["summary"])
