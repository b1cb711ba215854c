"""The settings of the page of items, and what it is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from worldprobe.benchmark import Benchmark
from worldprobe.benchmarks import all_models, of_study
from worldprobe.benchmarks.ewok import outputs as ewok
from worldprobe.benchmarks.ewok import study as ewok_study
from worldprobe.benchmarks.worldsense import outputs as worldsense
from worldprobe.paths import StudyPaths
from worldprobe.settings.blocks import Block

PAGE = "items.html"


class Explorer(Block):
    """The page of items (docs/extras/items.md)."""

    with_protected_text: bool = False
    """Whether the page shows the text of protected items, such as EWoK's own; git must then ignore
    the page, if it lies in a repository.
    """


def outputs(study: Mapping[str, Any]) -> list[str]:
    """The page, where models answer in this study."""
    return [f"{StudyPaths.of(study).root}/{PAGE}"] if tables(study, all_models(study)) else []


def tables(study: Mapping[str, Any], models: Sequence[str]) -> list[str]:
    """The tables that the page is made of: items, answers, judgements of baselines and people's
    ratings; none of a benchmark that nobody answers here.

    Args:
        study: a validated study.
        models: ids of those that have answers.
    """
    paths: list[str] = []
    for benchmark in of_study(study):
        paths += _TABLES.get(benchmark.name, _of_pairs)(study, benchmark, models)
    return paths


def _of_ewok(study: Mapping[str, Any], benchmark: Benchmark, models: Sequence[str]) -> list[str]:
    items = ewok.item_tables(study)
    if ewok_study.is_released(study):
        return [*items, *ewok.judgements(study)]
    answers = [path for model in models for path in benchmark.answers(study, model)]
    if not answers:
        return []
    people = [ewok.human_ratings(study)] if ewok_study.has_people_rated(study) else []
    return [*items, *answers, *ewok.baseline_judgements(study), *people]


def _of_worldsense(
    study: Mapping[str, Any], benchmark: Benchmark, models: Sequence[str]
) -> list[str]:
    asked = worldsense.answered(study, models)
    answers = [path for model in asked for path in benchmark.answers(study, model)]
    names = worldsense.asked_sets(study) if answers else []
    return [*(worldsense.trial_table(study, name) for name in names), *answers]


def _of_pairs(study: Mapping[str, Any], benchmark: Benchmark, models: Sequence[str]) -> list[str]:
    answers = [path for model in models for path in benchmark.answers(study, model)]
    return [benchmark.source, *answers] if benchmark.source and answers else answers


_TABLES = {"ewok": _of_ewok, "worldsense": _of_worldsense}


def page(
    folders: Sequence[Path], sources: Sequence[str]
) -> tuple[str, Callable[..., None], list[Path]] | None:
    """The command that makes the page of an evaluation: its words, its function, the files. None
    where there is nothing to show.

    Args:
        folders: of its benchmarks.
        sources: YAML files of minimal pairs.
    """
    names = {"ewok": ["items", "target_scores"], "worldsense": ["trials", "responses"]}
    files = [
        path
        for folder in folders
        for name in names.get(folder.name, ["scores"])
        for path in sorted(folder.glob(f"{name}*.parquet"))
    ]
    from worldprobe_explorer.cli import explore

    return ("explore", explore, [*map(Path, sources), *files]) if files else None
