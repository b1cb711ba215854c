"""The benchmarks: those that installed packages name as entry points, and YAML files of minimal
pairs.

Each folder here is all that is one benchmark's, and its ``benchmark.py`` what the shared parts see
of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from worldprobe import extensions
from worldprobe.benchmark import Analysis, Benchmark, PageFiles, Registry, Study, find_displays
from worldprobe.errors import UserError, did_you_mean
from worldprobe.paths import REPOSITORY, StudyPaths

if TYPE_CHECKING:
    from worldprobe.settings import (
        Block,
    )  # pydantic takes a third of a second that `--help` does not need

#: The group of entry points: name -> ``module:BENCHMARK``.
GROUP = "worldprobe.benchmarks"
#: Our own, in the order of reports; others follow by name. A study that names no benchmark has
#: these.
OWN = ("ewok", "worldsense")
#: Folders of a study's results that no benchmark may be called like, besides the keys of its
#: settings.
_FOLDERS = {"fetched", "logs", "notebooks"}


@cache
def installed() -> dict[str, EntryPoint]:
    """The entry points of all installed benchmarks, in the order of reports.

    Ours are there without being looked up: an environment that was installed before may not know
    them.

    Raises:
        UserError: two have one name.
    """
    points = {
        name: EntryPoint(name, f"{__name__}.{name}.benchmark:BENCHMARK", GROUP) for name in OWN
    }
    for point in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        earlier = points.setdefault(point.name, point)
        if earlier.value != point.value:
            problem = f"is the name of two installed benchmarks, {earlier.value} and {point.value}."
            raise UserError(
                f"benchmark {point.name}",
                problem,
                "Uninstall the package of one of them, or rename it.",
            )
    return points


@cache
def _with_extensions(point: EntryPoint) -> Benchmark:
    """An installed benchmark, with what extensions add to it."""
    benchmark = extensions.load_point(point, Benchmark)
    displays = [*benchmark.displays]
    for added in extensions.displays_of(benchmark.name):
        displays += added if isinstance(added, tuple) else find_displays(added)
    page = benchmark.page
    if page:
        sections = [*page.sections]
        for before, section in extensions.sections_of(benchmark.name):
            sections.insert([other.id for other in sections].index(before) + 1, section)
        page = replace(page, sections=tuple(sections))
    return replace(benchmark, displays=tuple(displays), page=page)


def find(entry: str) -> Benchmark:
    """A benchmark by its name or its YAML file.

    Args:
        entry: the name, or the path of the file in the working directory or else in the repository;
            or of what such a file says (.json), as an archive of a study has it.

    Raises:
        UserError: there is none, it cannot be used, or its name is taken.
    """
    if entry.endswith((".yaml", ".yml")):
        from worldprobe.minimal_pairs import read_benchmark

        path = next(
            (path for path in (entry, str(REPOSITORY / entry)) if Path(path).is_file()), None
        )
        if path is None:
            raise UserError(
                f"benchmark {entry}", "is not there.", "Correct the path of its YAML file."
            )
        benchmark = read_benchmark(path)
        taken = {*installed()}
    elif entry.endswith(".json"):
        document = json.loads(Path(entry).read_text(encoding="utf-8"))
        benchmark, taken = _define(Path(entry).stem, document, entry), {*installed()}
    elif entry in installed():
        benchmark = _with_extensions(installed()[entry])
        taken = {*installed()} - {entry}
    else:
        fix = (
            f"Choose from {', '.join(installed())}, or give the path of a YAML file of minimal"
            " pairs."
        )
        raise UserError(
            f"benchmark {entry}",
            f"is not an installed benchmark{did_you_mean(entry, list(installed()))}",
            fix,
        )
    _check_name(benchmark.name, entry, taken)
    return benchmark


def _check_name(name: str, entry: str, taken: Collection[str]) -> None:
    from worldprobe.settings.study import SharedSettings, extended

    if not re.fullmatch("[a-z][a-z0-9_]{0,59}", name):
        fix = "Rename it: at most 60 lower-case letters, digits and underscores, a letter first."
        raise UserError(f"benchmark {entry}", f"{name} cannot be the name of a benchmark.", fix)
    if name in {*taken, *extended(SharedSettings, "").model_fields, *_FOLDERS}:
        what = "an installed benchmark" if name in taken else "something else in a study"
        raise UserError(
            f"benchmark {entry}",
            f"{name} is the name of {what}.",
            "Rename the benchmark or its file.",
        )


def listed(entries: Iterable[str]) -> list[Benchmark]:
    """The benchmarks that a study or a command names, in the order of reports.

    Raises:
        UserError: one cannot be used, or two have one name, or different tables or figures of one
            name.
    """
    named: dict[str, tuple[str, Benchmark]] = {}
    owners: dict[tuple[str, str], tuple[str, Any]] = {}
    for entry in entries:
        benchmark = find(entry)
        if benchmark.name in named:
            problem = f"and {named[benchmark.name][0]} are both called {benchmark.name}."
            raise UserError(
                f"benchmark {entry}", problem, "Rename one of the files, or leave one out."
            )
        named[benchmark.name] = entry, benchmark
        for display in benchmark.displays:
            owner, other = owners.setdefault((display.kind, display.name), (entry, display))
            if other is not display:  # the command line could not tell them apart
                problem = f"and {owner} both have a {display.kind} {display.name}."
                raise UserError(f"benchmark {entry}", problem, "Rename one of them.")
    order = {name: number for number, name in enumerate(OWN)}
    return [
        named[name][1] for name in sorted(named, key=lambda name: (order.get(name, len(OWN)), name))
    ]


def benchmarks() -> dict[str, Benchmark]:
    """Every installed benchmark by name, without those that cannot be loaded.

    Raises:
        UserError: two cannot be told apart.
    """
    usable = extensions.load_usable(installed(), Benchmark)
    return {benchmark.name: benchmark for benchmark in listed(usable)}


def settings_classes(entries: Iterable[str] = OWN) -> dict[str, type[Block]]:
    """The classes of blocks that a configuration may have: of our own benchmarks, and of others
    that it names.

    Raises:
        UserError: a named benchmark cannot be used.
    """
    from worldprobe.settings.study import extended

    named = [benchmark for benchmark in listed(entries) if not benchmark.definition]
    return {
        benchmark.name: extended(benchmark.settings, benchmark.name)
        for benchmark in [*listed(OWN), *named]
    }


def of_study(study: Study) -> list[Benchmark]:
    """The benchmarks that a study names."""
    return listed(study["benchmarks"])


def outputs(study: Study, registry: Registry) -> list[str]:
    """Every file that a study is for, without the report."""
    paths = [path for benchmark in of_study(study) for path in benchmark.outputs(study, registry)]
    return [
        *paths,
        *extensions.outputs(study),
        *display_files(study, registry, "table"),
        *display_files(study, registry, "figure"),
    ]


def page_files(study: Study, models: Sequence[str]) -> list[PageFiles]:
    """Input files of each part of the study's report. A benchmark without a page, or about which no
    model is asked, has no part.

    Args:
        study: a validated study.
        models: ids of those that have answers.
    """
    pages = [benchmark.page.files(study, models) for benchmark in of_study(study) if benchmark.page]
    return [files for files in pages if files is not None]


def display_files(study: Study, registry: Registry, kind: str, suffix: str = "") -> list[str]:
    """The files of all tables or figures of a study.

    Args:
        study: a validated study.
        registry: model id -> card.
        kind: "table" or "figure".
        suffix: one form alone, e.g. ``svg`` (all).
    """
    paths = []
    for benchmark in of_study(study):
        root = StudyPaths.of(study).benchmark(benchmark.name)
        paths += [
            path
            for display in benchmark.wanted(study, registry, kind)
            for path in display.paths(root)
        ]
    return [path for path in paths if path.endswith(suffix)]


def answers(study: Study, model: str) -> list[str]:
    """The files that evaluating a model leaves, benchmark by benchmark."""
    return [path for paths in answers_by_rule(study, model).values() for path in paths]


def answers_by_rule(study: Study, model: str) -> dict[str, list[str]]:
    """The files that evaluating a model leaves, by the rule that makes them; without the rules
    that do not evaluate it.
    """
    left = {benchmark.rule: benchmark.answers(study, model) for benchmark in of_study(study)}
    return {rule: paths for rule, paths in left.items() if paths}


def all_models(study: Study) -> list[str]:
    """The study's models, and those that a benchmark evaluates besides."""
    more = [model for benchmark in of_study(study) for model in benchmark.extra_models(study)]
    return list(dict.fromkeys([*study["models"], *more]))


def without(study: Study, missing: Collection[str]) -> Study:
    """The study as if some models had never been in it, nor in a benchmark's own list of models.

    Args:
        study: a validated study.
        missing: their ids.
    """
    kept: dict[str, Any] = {"models": [model for model in study["models"] if model not in missing]}
    for benchmark in of_study(study):
        block = study.get(benchmark.name) or {}
        if isinstance(block.get("models"), list):
            kept[benchmark.name] = block | {
                "models": [model for model in block["models"] if model not in missing]
            }
    return {**study, **kept}


def downloads(study: Study) -> dict[str, str]:
    """Downloads of a study besides models: file or name of a baseline -> the file that its fetch
    makes.
    """
    needed = [benchmark.downloads(study) for benchmark in of_study(study)]
    return {name: path for files in needed for name, path in files.items()}


def without_downloads(study: Study, names: Collection[str]) -> Study:
    """The study without some of its ``downloads``, and without a benchmark of which nothing is
    left, unless it is the last one.

    Args:
        study: a validated study.
        names: those that cannot be had.
    """
    blocks = {
        benchmark.name: benchmark.without_downloads(study[benchmark.name], names)
        for benchmark in of_study(study)
        if names and study.get(benchmark.name) is not None
    }
    gone = {name for name, block in blocks.items() if block is None}
    kept = [entry for entry in study["benchmarks"] if find(entry).name not in gone] or study[
        "benchmarks"
    ]
    changed = {name: block for name, block in blocks.items() if block is not None}
    left_out = {name: None for name in gone if name not in kept}
    return {**study, **changed, **left_out, "benchmarks": kept}


def complete_registry(
    study: Study, registry: dict[str, dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    """The registry with what depends on the study: the folders of the models that it trains,
    and what benchmarks add.
    """
    from worldprobe.models.controls import with_checkpoints

    registry = with_checkpoints(study, registry)
    for benchmark in of_study(study):
        if benchmark.complete:
            registry = benchmark.complete(study, registry)
    return registry


def benchmark_of(summaries: Path | str) -> Benchmark:
    """The benchmark whose summary table a file is.

    Raises:
        UserError: not a table of ours, or not a benchmark's summaries.
    """
    from worldprobe.contracts import read_provenance, table_name

    kind = table_name(summaries)
    if benchmark := _defined_in(summaries):
        return benchmark
    with_page = {name: candidate for name, candidate in benchmarks().items() if candidate.page}
    by_table = {
        candidate.page.summary.contract.Config.name: candidate
        for candidate in with_page.values()
        if candidate.page and not candidate.scores
    }
    stated = (
        str(read_provenance(summaries).details.get("benchmark")) if kind else ""
    )  # summaries of scores have one contract
    if stated not in with_page and kind not in by_table:
        raise UserError(
            summaries,
            f"contains {kind or 'no table'}, not {' or '.join(by_table)}.",
            "Give the summary table of a benchmark.",
        )
    return with_page.get(stated) or by_table[kind]


def owner_of(path: Path | str) -> Benchmark | None:
    """The benchmark that a file says to be of; None: it is no table, or says nothing of it."""
    from worldprobe.contracts import read_provenance

    try:
        stated = read_provenance(path).details.get("benchmark")
    except UserError:
        return None
    return _defined_in(path) or benchmarks().get(str(stated))


def facts_of(benchmark: Benchmark) -> dict[str, Any]:
    """Provenance details of a benchmark's scores and means, by which ``benchmark_of`` and
    ``scored_in`` find it.
    """
    return {"benchmark": benchmark.name} | (
        {"definition": benchmark.definition} if benchmark.definition else {}
    )


def scored_in(path: Path | str) -> Benchmark | None:
    """The benchmark whose scores a file contains; None: it is another table, as EWoK's
    judgements.
    """
    from worldprobe.contracts import table_name

    by_table = {
        benchmark.scores.Config.name: benchmark
        for benchmark in benchmarks().values()
        if benchmark.scores
    }
    return _defined_in(path) or by_table.get(table_name(path))


def find_analysis(path: Path | str, command: str) -> tuple[Analysis, Benchmark | None]:
    """The function of a command for a file of answers, and the benchmark that they are of. None
    where an extension does it.

    Args:
        path: the file.
        command: ``summarize`` or ``compare``.

    Raises:
        UserError: it contains no answers.
    """
    from worldprobe.contracts import table_name

    candidates = benchmarks().values()
    named = [benchmark for benchmark in candidates if str(path).endswith(benchmark.answer_files)]
    if owner := (named[0] if named else scored_in(path)):
        return owner.analysed[command], owner
    kind = table_name(path)
    if command == "compare" and (added := extensions.comparing(kind)):
        return added, None
    by_table = {
        table.Config.name: benchmark
        for benchmark in candidates
        for table in benchmark.answer_tables
    }
    if kind not in by_table:
        problem = f"contains {kind or 'no table'}, not scores, {' or '.join(by_table)}."
        raise UserError(path, problem, "Give what models answered, as a benchmark's tables.")
    return by_table[kind].analysed[command], by_table[kind]


def _defined_in(table: Path | str) -> Benchmark | None:
    """The benchmark without code whose scores or means a file contains: the file says all of it
    that readers need.
    """
    from worldprobe.contracts import read_provenance, table_name

    details = read_provenance(table).details if table_name(table) else {}
    if "definition" not in details:
        return None
    return _define(details["benchmark"], details["definition"], str(table))


def _define(name: str, definition: Mapping[str, Any], where: str) -> Benchmark:
    """The benchmark without code of a name, as its YAML file once said it."""
    from worldprobe.minimal_pairs import MinimalPairs, make_benchmark
    from worldprobe.settings import Source, parse

    return make_benchmark(name, parse(MinimalPairs, definition, [Source(where, definition)]))
