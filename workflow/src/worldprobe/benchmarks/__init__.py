"""The benchmarks: each folder is all that is one benchmark's, and its ``benchmark.py`` what the
shared parts see of it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from worldprobe import extensions
from worldprobe.benchmark import (
    Benchmark,
    PageFiles,
    Registry,
    Study,
    curve_files,
    find_displays,
)
from worldprobe.errors import UserError
from worldprobe.paths import StudyPaths

if TYPE_CHECKING:
    from worldprobe.report.results import Score
    from worldprobe.settings import (
        Block,
    )  # pydantic takes a third of a second that `--help` does not need

#: In the order of reports.
NAMES = tuple(sorted(one.name for one in iter_modules(__path__)))


def benchmarks() -> dict[str, Benchmark]:
    """Every benchmark by name.

    Raises:
        ValueError: two have a table or figure of one name, which the command line could not tell
            apart.
    """
    found = {name: _with_extensions(_benchmark(name)) for name in NAMES}
    owners: dict[tuple[str, str], str] = {}
    for name, display in (
        (name, display) for name, benchmark in found.items() for display in benchmark.displays
    ):
        if owners.setdefault((display.kind, display.name), name) != name:
            raise ValueError(
                f"{owners[display.kind, display.name]} and {name} both have a {display.kind}"
                f" {display.name}"
            )
    return found


def _benchmark(name: str) -> Benchmark:
    benchmark: Benchmark = import_module(f"{__name__}.{name}.benchmark").BENCHMARK
    return benchmark


def _with_extensions(benchmark: Benchmark) -> Benchmark:
    added = find_displays(*extensions.displays_of(benchmark.name))
    return replace(benchmark, displays=(*benchmark.displays, *added)) if added else benchmark


def settings_classes() -> dict[str, type[Block]]:
    """The class of each benchmark's block of a configuration."""
    from worldprobe.settings.study import extended

    return {name: extended(benchmark.settings, name) for name, benchmark in benchmarks().items()}


def list_scores(result: Mapping[str, Any]) -> list[Score]:
    """All numbers of a result of ``worldprobe evaluate``, of every benchmark."""
    return [
        score
        for one in benchmarks().values()
        if one.evaluation
        for score in one.evaluation.scores(dict(result))
    ]


def of_study(study: Study) -> list[Benchmark]:
    """The benchmarks that a study has a block of."""
    return [benchmark for name, benchmark in benchmarks().items() if study.get(name) is not None]


def with_series(study: Study) -> list[Benchmark]:
    """The benchmarks in which the study's series of checkpoints are scored."""
    return (
        [benchmark for benchmark in of_study(study) if benchmark.learning]
        if study.get("series")
        else []
    )


def outputs(study: Study, registry: Registry) -> list[str]:
    """Every file that a study is for, without the report."""
    own = [path for benchmark in of_study(study) for path in benchmark.outputs(study, registry)]
    own += [
        path
        for benchmark in with_series(study)
        for path in curve_files(StudyPaths.of(study).benchmark(benchmark.name))
    ]
    return [
        *own,
        *display_files(study, registry, "table"),
        *display_files(study, registry, "figure"),
    ]


def page_files(study: Study, models: Sequence[str]) -> list[PageFiles]:
    """What each part of the study's report is built from; a benchmark without a page, or about
    which no model is asked, has no part.

    Args:
        study: a validated study.
        models: ids of those that have answers.
    """
    found = [benchmark.page.files(study, models) for benchmark in of_study(study) if benchmark.page]
    return [files for files in found if files is not None]


def display_files(study: Study, registry: Registry, kind: str, suffix: str = "") -> list[str]:
    """The files of all tables or figures of a study.

    Args:
        study: a validated study.
        registry: model id -> card.
        kind: "table" or "figure".
        suffix: one form alone, e.g. ``svg`` (all).
    """
    found = []
    for benchmark in of_study(study):
        root = StudyPaths.of(study).benchmark(benchmark.name)
        found += [
            path for one in benchmark.wanted(study, registry, kind) for path in one.paths(root)
        ]
    return [path for path in found if path.endswith(suffix)]


def answers(study: Study, model: str) -> list[str]:
    """The files that evaluating a model leaves, benchmark by benchmark."""
    return [path for paths in answers_by_rule(study, model).values() for path in paths]


def answers_by_rule(study: Study, model: str) -> dict[str, list[str]]:
    """The files that evaluating a model leaves, by the rule that makes them; without the rules that
    do not evaluate it.
    """
    left = {benchmark.rule: benchmark.answers(study, model) for benchmark in of_study(study)}
    return {rule: paths for rule, paths in left.items() if paths}


def add_models(study: Study, registry: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The registry with the models that a study makes from others, e.g. by fine-tuning."""
    return registry | extensions.add_models(study, registry)


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
    kept = {"models": [model for model in study["models"] if model not in missing]}
    for benchmark in of_study(study):
        block = study[benchmark.name]
        if isinstance(block.get("models"), list):
            kept[benchmark.name] = block | {
                "models": [model for model in block["models"] if model not in missing]
            }
    return {**study, **kept}


def outdated(study: Study, missing: Collection[str], registry: Registry) -> list[str]:
    """What the study would make if no model were missing and cannot make without them: if it is
    there, it is of an earlier run.

    What models answered is never outdated.

    Args:
        study: a validated study.
        missing: ids of models without answers.
        registry: model id -> card.
    """
    found = (path for model in all_models(study) for path in answers(study, model))
    kept = {*outputs(without(study, missing), registry), *found}
    return [path for path in outputs(study, registry) if path not in kept]


def complete_registry(
    study: Study, registry: dict[str, dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    """The registry with what depends on the study: the folders of the models that it trains, and
    what benchmarks add.
    """
    from worldprobe.models.controls import with_checkpoints
    from worldprobe.models.series import (
        add_trainings,
        check_trainings,
    )  # its tables need pandas, which `--help` does not

    registry = with_checkpoints(study, add_trainings(study, registry))
    check_trainings(study, registry)
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
    with_page = {name: one for name, one in benchmarks().items() if one.page}
    known = {
        one.page.summary.contract.Config.name: one
        for one in with_page.values()
        if one.page and not one.scores
    }
    stated = (
        str(read_provenance(summaries).details.get("benchmark")) if kind else ""
    )  # summaries of scores have one contract
    if stated not in with_page and kind not in known:
        raise UserError(
            summaries,
            f"contains {kind or 'no table'}, not {' or '.join(known)}.",
            "Give the summary table of a benchmark.",
        )
    return with_page.get(stated) or known[kind]


def scored_in(path: Path | str) -> Benchmark | None:
    """The benchmark whose scores a file contains; None: it is another table, as EWoK's
    judgements.
    """
    from worldprobe.contracts import table_name

    return {one.scores.Config.name: one for one in benchmarks().values() if one.scores}.get(
        table_name(path)
    )
