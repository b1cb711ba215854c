"""``evaluate`` and ``results``: one model's score in each benchmark, and its result."""

from __future__ import annotations

import dataclasses
import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec, TypeVar, get_type_hints

from cyclopts import App, Parameter

from worldprobe import __version__
from worldprobe.benchmark import COMPARISONS, Evaluated
from worldprobe.benchmarks import OWN, benchmark_of, benchmarks, listed
from worldprobe.cli import parsing
from worldprobe.cli.engines import (
    MODEL_KEYS,
    Model,
    Setup,
    kept_loaded,
    look_up,
    refuse_stand_in,
    set_up,
)
from worldprobe.cli.options import Registry, between, deferred
from worldprobe.cli.parsing import option_of
from worldprobe.cli.report import Contents, build
from worldprobe.errors import UserError, raise_all
from worldprobe.extensions import are_own, load, options_of_evaluation, pages
from worldprobe.files import write_text
from worldprobe.log import LOGGER
from worldprobe.models.checkpoint import folder_of
from worldprobe.paths import REGISTRY, StudyPaths, shipped_file
from worldprobe.settings.blocks import option_words

if TYPE_CHECKING:
    from worldprobe.benchmark import Benchmark, Evaluated, Evaluation
    from worldprobe.engines import Workload
    from worldprobe.settings.blocks import Block

P = ParamSpec("P")
R = TypeVar("R")
#: What a model is asked where no benchmark is named.
DEFAULT = OWN[0]
NAMED = (
    f"comma-separated: {', '.join(OWN)}, other installed benchmarks, or YAML files of minimal pairs"
)
#: Where studies keep what models answer; each set-up of a model has a store of its own there, and
#: each question an id.
ANSWERS = Path(StudyPaths("default").answers)
#: What a result's numbers are of; those of one result agree in it.
FACTS = ("checkpoint_digest", "revision", "dtype", "engine", "kind")


@cache
def options_class() -> type[Block]:
    """The options of all installed benchmarks: a block with a block for each benchmark that has
    some.
    """
    from pydantic import create_model

    from worldprobe.settings.blocks import MADE, Block

    classes = options_of_evaluation()
    for name, benchmark in {} if are_own() else benchmarks().items():
        if benchmark.evaluation and (kind := benchmark.evaluation.options):
            classes[name] = benchmark.title, kind
    fields: dict[str, Any] = {
        name: (Annotated[kind, Parameter(group=title)], kind())
        for name, (title, kind) in classes.items()
    }
    made = type("Made", (Block,), {"model_config": {**Block.model_config, **MADE}})
    return create_model("BenchmarkOptions", __base__=made, **fields)


@deferred(options=options_class)
def evaluate(
    models: Sequence[str] = (),
    /,
    *,
    benchmark: Annotated[str, Parameter(help=NAMED)] = DEFAULT,
    limit: Annotated[int, between(1)] | None = None,
    work: Path | None = None,
    replace: bool = False,
    dry_run: bool = False,
    out: Path | None = None,
    registry: Registry = REGISTRY,
    options: Any = None,
    setup: Annotated[Setup, MODEL_KEYS] = Setup(),
) -> None:
    """Evaluate one or more models on one or more benchmarks; write a result and report of each.

    For each benchmark it makes the items, asks the model and summarises the answers, and prints
    each step as a command. A second call continues where the first one stopped, and adds its
    benchmarks to the result. A model on a server is given by --endpoint URL --model NAME.

    Args:
        models: folder, fetched hub id, GGUF file, package URL, folder of an adapter, or id in the
            registry; several are evaluated one after the other
        limit: ask only about a sample: N templates, trials or items, in proportion from pairs of
            concepts, problems or clusters; fewer than these are a smoke test, and no estimate
        dry_run: say how many questions there are, how long they take and what they cost; ask none
        replace: overwrite a result made with other options, items, weights or releases of packages
        work: folder of tables and answers (default: tables in results/evaluate/MODEL, answers in
            results/.answers, which studies share)
        out: JSON result (default: result.json in that folder); report.html is written beside it
    """
    one = {"--work": work, "--out": out, "--model": setup.model, "--endpoint": setup.endpoint}
    if len(models) > 1 and (given := [option for option, value in one.items() if value]):
        problem = f"is of one model, and {len(models)} are named."
        raise UserError(given[0], problem, "Leave it out, or give one model.")
    is_one, errors = len(models) < 2, []

    def attempt(model: str | None, function: Callable[..., R], *args: Any) -> R | None:
        try:
            return function(*args)
        except UserError as error:
            errors.append(error)
            if not is_one:  # at once: others may take hours
                LOGGER.warning("%s is not evaluated: %s %s", model, error.where, error.problem)
            return None

    say = print if dry_run else LOGGER.info
    prepared: dict[str | None, PreparedEvaluation] = {}
    for model in models or (None,):
        how = (benchmark, limit, work, out, replace or dry_run, registry, options, setup)
        if plan := attempt(model, prepare, model, *how):
            prepared[model] = plan
            named = [] if is_one else [f"{model}:"]
            for line in [*named, *plan.expected, *(plan.skipped if dry_run else ())]:
                say(line)
    for model, plan in {} if dry_run else prepared.items():
        if not is_one:
            LOGGER.info("%s:", model)
        attempt(model, evaluate_prepared, plan, replace, registry)
        if not is_one:
            print()
    raise_all(errors)


@dataclasses.dataclass(frozen=True)
class PreparedEvaluation:
    """One model, before it is asked.

    Attributes:
        evaluated: the model, and the folder of its tables.
        chosen: the benchmarks that are named.
        evaluations: those of them that can evaluate it.
        settled: options of each of these.
        expected: what will be asked, how long it takes and what it costs, line by line.
        skipped: what is said of the other benchmarks.
        out: the result.
        earlier: the result that is there already.
        result: the new one, before it has numbers.
    """

    evaluated: Evaluated
    chosen: Sequence[Benchmark]
    evaluations: Mapping[str, Evaluation]
    settled: Mapping[str, Any]
    expected: list[str]
    skipped: Sequence[str]
    out: Path
    earlier: dict[str, Any]
    result: dict[str, Any]


def prepare(
    model: str | None,
    benchmark: str,
    limit: int | None,
    work: Path | None,
    out: Path | None,
    replace: bool,
    registry: Path,
    options: Any,
    setup: Setup,
) -> PreparedEvaluation:
    """What can be known of one model's evaluation before a question is asked; see ``evaluate``.

    Raises:
        UserError: it cannot be evaluated so.
    """
    from worldprobe.report.results import SCHEMA_VERSION

    chosen = named_benchmarks(benchmark)
    refuse_what_does_nothing(options, [benchmark.name for benchmark in chosen])
    loaded = set_up(model, registry, setup)
    refuse_stand_in(loaded)
    answers = work / ".answers" if work else ANSWERS
    work = work or Path("results/evaluate") / loaded.name
    refuse_another_models_folder(work / "result.json", loaded.checkpoint)
    loaded = loaded.model_copy(update={"answers": answers})
    evaluated = Evaluated(loaded, work, None, step, limit, loaded.offers())
    evaluations, skipped = able(evaluated, chosen)
    settled = {
        each: evaluation.settle(getattr(options, each, None), limit)
        for each, evaluation in evaluations.items()
    }
    loads = {
        benchmark.title: evaluations[benchmark.name].workload(
            dataclasses.replace(evaluated, options=settled[benchmark.name])
        )
        for benchmark in chosen
        if benchmark.name in evaluations
    }
    out = out or work / "result.json"
    result: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "worldprobe_version": __version__,
        "options": {each: stated_options(block, limit) for each, block in settled.items()},
    }
    earlier = read_earlier(out, replace)
    refuse_to_lose(out, asked_otherwise(earlier, result), replace)
    expected = expect(loads, loaded, look_up(model, registry) if model else {})
    return PreparedEvaluation(
        evaluated, chosen, evaluations, settled, expected, skipped, out, earlier, result
    )


def evaluate_prepared(prepared: PreparedEvaluation, replace: bool, registry: Path) -> None:
    """Evaluate one model; see ``evaluate``.

    Raises:
        UserError: its numbers would replace others.
    """
    from worldprobe.report.results import check_result, describe, merge_results

    evaluated, evaluations, out = prepared.evaluated, prepared.evaluations, prepared.out
    work, earlier, result = evaluated.folder, prepared.earlier, prepared.result
    with kept_loaded():
        for each, evaluation in evaluations.items():
            part = evaluation.run(
                dataclasses.replace(evaluated, folder=work / each, options=prepared.settled[each])
            )
            result = merge_results(result, part)
    refuse_to_lose(out, asked_otherwise(earlier, result), replace)
    if differing := made_otherwise(earlier, result):
        refuse_to_lose(out, differing, replace)
        if lost := sorted(earlier.get("options", {}).keys() - evaluations):
            problem = f"has numbers of {' and '.join(lost)} with other {', '.join(differing)}."
            named = ",".join(sorted({*lost, *evaluations}))
            raise UserError(
                out, problem, f"Name all with --benchmark {named}, or another folder with --work."
            )
        earlier = {}
    result = merge_results(earlier, result)
    check_result(result, str(out))
    write_text(out, json.dumps(result, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    sources = [benchmark.source for benchmark in prepared.chosen if benchmark.source]
    page = write_page(result, work, out.with_name("report.html"), registry, sources)
    findings = {
        benchmark.name: findings_of(benchmark, work / benchmark.name, registry)
        for benchmark in prepared.chosen
        if benchmark.name in evaluations
    }
    is_coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    described = [describe(result, name, findings[name], is_coloured) for name in evaluations]
    print("\n\n".join([*described, *prepared.skipped]))
    print(f"JSON result: {out}\nReport: {page}")


def expect(
    loads: Mapping[str, Workload | None], model: Model, card: Mapping[str, Any]
) -> list[str]:
    """What will be asked, how long it takes and what it costs, line by line.

    Args:
        loads: title of a benchmark -> what it asks.
        model: which is asked.
        card: its card in the registry; empty: it has none.
    """
    from worldprobe.operations.costs import expect_evaluation
    from worldprobe.operations.resources import visible_gpus

    stated = {key: card[key] for key in ("parameters", "prices") if card.get(key)}
    cores = model.threads or len(os.sched_getaffinity(0))
    on_gpu = model.gpus != 0 and bool(visible_gpus())
    return expect_evaluation(loads, dict(model) | stated, on_gpu, cores)


def write_page(
    result: Mapping[str, Any], folder: Path, page: Path, registry: Path, sources: Sequence[str]
) -> Path:
    """The page about a result: a part for each benchmark whose tables are in the folder.

    Args:
        result: as ``result.json`` has it.
        folder: of the benchmarks' folders.
        page: the page.
        registry: for names.
        sources: YAML files of the benchmarks.
    """
    parts = [folder / name for name in result["benchmarks"]]
    summaries = [part / "summaries.parquet" for part in parts]
    tables = [
        path for part in parts for path in sorted(part.glob("*.parquet")) if path not in summaries
    ]
    samples = [
        stated["asked"]["sample"]
        for name, stated in result["benchmarks"].items()
        if is_sample(result, name)
    ]
    title = f"{result['model']}{', on a sample: ' if samples else ''}{' and '.join(samples)}"
    shown = [path for path in summaries if path.exists() and benchmark_of(path).page]
    contents = Contents(
        registry=registry,
        made_from=list(map(str, tables)),
        comparisons=[str(path.with_name(COMPARISONS)) for path in shown if _is_compared(path)],
    )
    linked = []
    for name, find in pages().items():
        if command := load(find)(parts, sources):
            words, function, files = command
            how = {"registry": registry, "title": title, "out": page.with_name(name)}
            step(words, function, files, **how)
            linked.append(name)
    step(
        "report build",
        build,
        list(map(str, shown)),
        contents=contents,
        title=title,
        beside=linked,
        out=page,
    )
    return page


def _is_compared(summary: Path) -> bool:
    return summary.with_name(COMPARISONS).exists()


def findings_of(benchmark: Benchmark, folder: Path, registry: Path) -> Sequence[str]:
    """The first sentences of a benchmark's part of the page.

    Args:
        benchmark: whose tables are there.
        folder: the tables.
        registry: for names.
    """
    from worldprobe.report.model_names import read_roster
    from worldprobe.report.origins import read_origins
    from worldprobe.report.page import Material

    summary = folder / "summaries.parquet"
    if benchmark.page is None or not summary.exists():
        return ()
    compared = summary.with_name(COMPARISONS) if _is_compared(summary) else None
    roster = read_roster(shipped_file(registry))
    sentences: Sequence[str] = benchmark.page.compose(
        Material(
            summary, roster, read_origins(sorted(folder.glob("*.parquet"))), comparisons=compared
        )
    ).findings
    return sentences


def is_sample(result: Mapping[str, Any], benchmark: str) -> bool:
    """Whether a result's numbers of a benchmark are of a sample; a limit above all is none."""
    return "sample" in result["benchmarks"][benchmark]["asked"]


def able(
    evaluated: Evaluated, named: Sequence[Benchmark]
) -> tuple[dict[str, Evaluation], list[str]]:
    """The benchmarks that can evaluate a model, and what is said of the others, if there are any.

    Raises:
        UserError: none of them can.
    """
    evaluations, refused = {}, {}
    for benchmark in named:
        if (evaluation := benchmark.evaluation) is None:
            continue
        try:
            evaluation.refuse(evaluated)
            evaluations[benchmark.name] = evaluation
        except UserError as error:
            refused[benchmark.title] = error
    if not evaluations and refused:
        raise next(iter(refused.values()))
    skipped = [
        f"{title} was skipped: {error.where} {error.problem}" for title, error in refused.items()
    ]
    for line in skipped:
        LOGGER.warning("%s", line)
    return evaluations, skipped


def stated_options(options: Block | None, limit: int | None) -> dict[str, Any]:
    """What a result says of how a benchmark was asked; never a password. Limit 0: all items."""
    stated = options.model_dump(exclude={"password"}, exclude_none=True) if options else {}
    plain = {
        key: value if isinstance(value, bool | int | str) else str(value)
        for key, value in stated.items()
    }
    return {**plain, "limit": limit or 0}


def read_earlier(path: Path, replace: bool) -> dict[str, Any]:
    """The result that is there already; empty where there is none.

    Raises:
        UserError: it cannot be read, and must not be replaced.
    """
    from worldprobe.report.results import read_result

    try:
        return read_result(path) if path.exists() else {}
    except UserError as error:
        if replace:
            return {}
        raise UserError(
            error.where,
            error.problem,
            "Add --replace to write it anew, or name another folder with --work.",
        ) from error


def made_otherwise(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> list[str]:
    """What an earlier result was made with, where later numbers differ in it, so that one result
    cannot state both.

    Other software matters only where benchmarks of the earlier result are not among the later ones.
    """
    if not earlier:
        return []
    differing = [
        f"{fact} {earlier.get(fact)}" for fact in FACTS if earlier.get(fact) != later.get(fact)
    ]
    if earlier.get("options", {}).keys() - later["options"].keys():
        before, now = (
            {"worldprobe": result["worldprobe_version"], **result["packages"]}
            for result in (earlier, later)
        )
        differing += [
            f"{name} {version}"
            for name, version in before.items()
            if now.get(name, version) != version
        ]
    return differing


def asked_otherwise(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> list[str]:
    """Options and items of an earlier result that later numbers of a benchmark would replace by
    others; all items may replace a sample, and a larger sample a smaller one.
    """
    differing = []
    for name, options in later["options"].items():
        before = {"limit": 0} | earlier.get("options", {}).get(name, options)
        if before["limit"] and not options["limit"]:
            continue
        is_grown = 0 < before["limit"] < options["limit"]
        differing += [
            f"{name} --{option.replace('_', '-')} {before[option]}"
            for option, value in options.items()
            if before.get(option, value) != value and not (is_grown and option == "limit")
        ]
        was, now = (result.get("benchmarks", {}).get(name, {}) for result in (earlier, later))
        if was and now and not is_grown and was["items_digest"] != now["items_digest"]:
            differing.append(f"{name} on other items")
    return differing


def refuse_to_lose(path: Path, numbers: Sequence[str], replace: bool) -> None:
    """Numbers made otherwise are replaced on request only.

    Raises:
        UserError: they would be lost.
    """
    if numbers and not replace:
        raise UserError(
            path,
            f"has numbers that would be replaced: {', '.join(numbers)}.",
            "Add --replace (no answer is asked again), or name another folder with --work.",
        )


def named_benchmarks(text: str) -> list[Benchmark]:
    """The benchmarks that a list names, in the order of reports.

    Raises:
        UserError: one is none, or there is none.
    """
    entries = dict.fromkeys(entry.strip() for entry in text.split(",") if entry.strip())
    if not entries:
        problem = f'"{text}" names no benchmark.'
        raise UserError(
            "--benchmark", problem, f"Give one or more of {', '.join(OWN)}, or a YAML file."
        )
    return listed(entries)


def refuse_what_does_nothing(options: Block, names: Sequence[str]) -> None:
    """Options of a benchmark that the model is not asked about.

    Raises:
        UserError: one is given.
    """
    for benchmark, block in options:
        given = block.model_dump(exclude_defaults=True)
        if benchmark not in names and given:
            key = next(iter(given))
            is_plain = getattr(type(block), "__cyclopts__", None)
            option = option_of([key] if is_plain else [benchmark, key])
            problem = f"does nothing without the benchmark {benchmark}."
            raise UserError(option, problem, f"Add --benchmark {benchmark}, or leave it out.")


def refuse_another_models_folder(result: Path, checkpoint: str) -> None:
    """Two folders may end in the same name; the second must not replace the first one's result.

    Raises:
        UserError: the file is the result of another checkpoint.
    """
    try:
        earlier = str(json.loads(result.read_bytes())["checkpoint"])
    except (OSError, ValueError, KeyError, TypeError):
        return
    folders = [
        folder.resolve() if (folder := folder_of(name)) else name for name in (earlier, checkpoint)
    ]
    if folders[0] != folders[1]:
        raise UserError(
            result,
            f"is the result of another model, {earlier}.",
            "Give this one a name with --model"
            f" {Path(checkpoint).parent.name or 'other'}_{result.parent.name}, or another folder"
            " with --work.",
        )


def step(words: str, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call the function of one of our commands, showing it first as that command.

    Args:
        words: of the command.
        function: the command's.
        *args: as the function takes them.
        **kwargs: as the function takes them.

    Raises:
        UserError: the command's own, or blocks of settings that contradict themselves.
    """
    shown = [
        *_flat(list(args)),
        *_as_options(get_type_hints(function, include_extras=True), kwargs),
    ]
    LOGGER.info("worldprobe %s", shlex.join([*words.split(), *map(str, shown)]))
    parsing.check_settings(kwargs.values())
    return function(*args, **kwargs)


def _flat(value: Any) -> list[Any]:
    return [text for part in value for text in _flat(part)] if isinstance(value, list) else [value]


def _as_options(hints: Mapping[str, Any], arguments: Mapping[str, Any]) -> Iterator[str]:
    """Arguments of a command's function, as they would be typed.

    Args:
        hints: argument -> its type, which may say that its option has another name.
        arguments: argument -> its value.
    """
    for name, value in arguments.items():
        if isinstance(value, Model):
            yield from value.words()
        elif hasattr(value, "model_dump"):
            yield from option_words(value.model_dump(exclude_defaults=True))
        elif dataclasses.is_dataclass(value):
            yield from _as_options({}, vars(value))
        elif value:
            notes = getattr(hints.get(name), "__metadata__", ())
            renamed = [note.name[0] for note in notes if getattr(note, "name", None)]
            option = renamed[0] if renamed else name
            is_nested = isinstance(value, list) and isinstance(value[0], list)
            texts = value if is_nested or not isinstance(value, list) else list(map(str, value))
            yield from option_words({option.removeprefix("--"): texts})


results = App(name="results", help="Check and export results of `evaluate`.")


@results.command(name="check")
def check_results(files: list[Path], /) -> None:
    """Check whether results follow the schema, and print what is in them.

    The schema is workflow/schemas/result.schema.yaml.

    Args:
        files: result.json of `worldprobe evaluate`, any number
    """
    from worldprobe.report.results import list_scores, read_result

    for path in files:
        result = read_result(path)
        overall: dict[str, list[str]] = {}
        for score in list_scores(result):
            if score.group == "overall" and (mean := score.estimate["mean"]) is not None:
                metric = score.metric.replace("_", " ")
                overall.setdefault(score.stated["title"], []).append(f"{metric} {mean:.3f}")
        numbers = "; ".join(f"{title}: {', '.join(own)}" for title, own in overall.items())
        print(f"{path}: {result['model']}: {numbers or 'no number'}")
