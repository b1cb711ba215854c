"""``summarize``, ``compare``, ``reproduction``: from answers to what they show."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from cyclopts import App

from worldprobe.benchmark import way_in_words
from worldprobe.benchmarks import benchmark_of, facts_of, find_analysis
from worldprobe.cli import options
from worldprobe.cli.options import (
    Answers,
    Cluster,
    EvalType,
    MaterialsPlace,
    Metric,
    Missing,
    Password,
    ReplicateModels,
    Sets,
    SkinFolder,
    answered,
    missing_models,
    named_groups,
)
from worldprobe.cli.references import has_references, is_name, with_references
from worldprobe.errors import TooLittleError, UserError
from worldprobe.files import write_text
from worldprobe.log import LOGGER
from worldprobe.missing import read_missing
from worldprobe.paths import RESOURCES, materials_place
from worldprobe.provenance import TOO_LITTLE, made, of_rehearsal

if TYPE_CHECKING:
    import pandas as pd

    from worldprobe.analysis.reproduction import Checked
    from worldprobe.benchmark import Analysis, Benchmark, Computed
    from worldprobe.contracts import Table
    from worldprobe.provenance import Provenance


class Step:
    """One run of a command over tables of judgements.

    Args:
        method: version of the computation.
        judgements: the tables.
        missing: values of ``--missing``.
        others: name -> further input.

    Attributes:
        judgements: those of the tables that are there, once ``answers`` has looked.
        lacks_answers: whether one of them is a file that says why answers are missing.
        details: what the output's provenance says besides.
        seed: of what was drawn.
        canary: of texts that the output repeats.
        names: file -> what the output calls it, where that is not its path.
    """

    def __init__(
        self,
        method: int,
        judgements: Sequence[Path],
        missing: Sequence[str] = (),
        others: Mapping[str, Path] | None = None,
    ) -> None:
        self.method, self.others = method, dict(others or {})
        self.given, self.judgements, self.missing = list(judgements), list(judgements), missing
        self.without: list[str] = []
        self.lacks_answers = any(map(read_missing, self.given))
        self.details: dict[str, Any] = {}
        self.seed: int | None = None
        self.canary: str | None = None
        self.names: Mapping[Path, str] = {}

    def answers(self) -> list[Path]:
        """The tables that are there; the output names the models of the others as missing.

        Raises:
            TooLittleError: none is there.
        """
        self.judgements, self.without = answered(self.given)
        return self.judgements

    def is_of(self, analysis: Analysis, benchmark: Benchmark | None) -> None:
        """What the output says of the benchmark, also where it has no rows."""
        self.method = analysis.method
        self.details |= facts_of(benchmark) if benchmark and benchmark.scores else {}

    def take(self, computed: Computed) -> None:
        """What the output says of what a benchmark, or an extension, computed."""
        self.others |= computed.inputs
        self.seed = computed.seed
        self.details |= {**computed.details, **self.lacking(computed.models)}

    def lacking(self, present: Iterable[str]) -> dict[str, dict[str, str]]:
        """What the output says of models that are missing, wholly or in part.

        Args:
            present: models that the tables do have.
        """
        return missing_models(self.missing, present, self.without)

    def provenance(
        self, packages: Sequence[str], details: Mapping[str, Any] | None = None
    ) -> Provenance:
        """Provenance of the output."""
        inputs = self.others | {self.names.get(path, str(path)): path for path in self.judgements}
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
        for model, reason in self.details.get("partly_missing", {}).items():
            LOGGER.warning("%s is missing in part: %s", model, reason)

    @contextmanager
    def or_nothing(self, *outputs: tuple[type[Table], Path | None]) -> Iterator[None]:
        """Write tables without rows that say why, where answers say nothing about what is computed,
        or where some are missing without which nothing can be.

        Args:
            outputs: contracts and files, of which one that is no table is refused as before.
        """
        from worldprobe.contracts import typed

        try:
            yield
        except UserError as error:
            if not (self.lacks_answers or isinstance(error, TooLittleError)):
                raise
            for contract, out in outputs:
                if out is None or out.suffix != ".parquet":
                    raise
                self.write(typed([], contract), contract, out, [], {TOO_LITTLE: error.problem})
            LOGGER.warning("The table has no rows: %s %s", error.problem, error.fix)


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
    step = Step(0, answers, missing)
    answers = step.answers()
    analysis, benchmark = find_analysis(answers[0], "summarize")
    chosen = understood(analysis.compute, stated, answers[0], benchmark)
    computed = analysis.compute(answers, **chosen)
    step.is_of(analysis, benchmark)
    step.take(computed)
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

    Folders of results, such as results/evaluate/MODEL, stand for the answers in them, of one
    benchmark after the other where all have several.

    Given checkpoint_scores tables (from `series score`), it compares every pair of training runs
    at each checkpoint and averaged over checkpoints, with one Holm correction over all these
    comparisons.

    A reference's name, such as smollm2_135m, stands for its answers to the first one's items
    (`references`).

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
    names = [path for path in answers if is_name(path)]
    paths = [path for path in answers if path not in names]
    parts = answers_of_folders(paths) if any(path.is_dir() for path in paths) else {}
    if names:  # of benchmarks that have references
        parts = {name: part for name, part in parts.items() if has_references(part[0][0])} or parts
    if len(parts) > 1 and out is not None:
        problem = f"is one file for {' and '.join(parts)}."
        raise UserError(f"--out {out}", problem, f"Give the folders {answers[0]}/BENCHMARK.")
    for name, (files, of_sets) in (parts or {"": (paths, [])}).items():
        print(f"{name}:" * (len(parts) > 1), end="\n" * (len(parts) > 1))
        with with_references(files, names) as named:
            _compare(
                named, stated | ({} if sets or not of_sets else {"sets": of_sets}), missing, out
            )


#: Tables of answers in a folder of ``evaluate``, the first that is there; and of sets of trials.
ANSWERS_IN, SETS_IN = ("judgements", "scores", "responses"), "trials"


def answers_of_folders(folders: Sequence[Path]) -> dict[str, tuple[list[Path], list[Path]]]:
    """The answers of several models by benchmark, with the sets of trials that they are about.

    Args:
        folders: of results, or of one benchmark in them.

    Raises:
        UserError: one is no folder of results, or there is no benchmark that all have.
    """
    found: list[dict[str, Path]] = []
    for folder in folders:
        places = [folder, *sorted(path for path in folder.glob("*") if path.is_dir())]
        tables = {
            place.name: table
            for place in places
            for name in reversed(ANSWERS_IN)
            if (table := place / f"{name}.parquet").is_file()
        }
        if not tables:
            problem = "has no answers of a benchmark."
            raise UserError(folder, problem, "Give folders that `worldprobe evaluate` wrote.")
        found.append(tables)
    shared = [name for name in found[0] if all(name in tables for tables in found)]
    if not shared:
        problem = f"has none of the benchmarks of {folders[0]} ({', '.join(found[0])})."
        raise UserError(folders[-1], problem, "Evaluate both in the same benchmark.")
    parts = {}
    for name in shared:
        files = [tables[name] for tables in found]
        trials = files[0].with_name(f"{SETS_IN}.parquet")
        parts[name] = files, [trials] if trials.is_file() else []
    return parts


def _compare(
    files: Mapping[Path, str], stated: Mapping[str, Any], missing: Sequence[str], out: Path | None
) -> None:
    """Compare every pair of models of some files of answers, by what the output calls them."""
    step = Step(0, list(files), missing)
    step.names = files
    answers = step.answers()
    analysis, benchmark = find_analysis(answers[0], "compare")
    chosen = understood(analysis.compute, stated, answers[0], benchmark)
    step.is_of(analysis, benchmark)
    with step.or_nothing((analysis.contract, out)):
        computed = analysis.compute(answers, **chosen)
        step.take(computed)
        write_comparisons(
            step,
            computed.table,
            analysis.contract,
            out,
            {},
            computed.template,
            computed.shown,
            benchmark,
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
    benchmark: Benchmark | None = None,
) -> None:
    """Print the overall comparisons by a template, and write the table, as Parquet or JSON.

    Args:
        template: package and file; "": that of any benchmark.
        shown: what the template prints; None: the rows of the overall comparisons.
        benchmark: whose they are, which has words for its ways of asking.
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
    say = benchmark.way_in_words if benchmark else way_in_words
    rows = overall.assign(way=overall["eval_type"].map(say)).to_dict("records")
    units = benchmark.units if benchmark else "items"
    template = template or "worldprobe.report/assets/comparisons.txt.jinja"
    package, _, file = template.partition("/")
    text = render_template(package, file, **(shown or {"rows": rows, "units": units}))
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
    stated |= {"password": options.read_password(password)} if materials else {}
    given = understood(benchmark.reproduce, stated, summaries, benchmark)
    checked: Checked = benchmark.reproduce(summaries, published, **given)
    provenance = made(
        REPRODUCTION, dict(checked.inputs), ["numpy", "pandas"], details=checked.details
    )
    write_table(checked.table, checked.contract, out, provenance)
    print(checked.details["summary"])
