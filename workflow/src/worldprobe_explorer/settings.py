"""The settings of the page of items, and what it is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from worldprobe.benchmarks import all_models, of_study
from worldprobe.paths import StudyPaths
from worldprobe.settings.blocks import Block

PAGE = "items.html"


def _items(study: Mapping[str, Any]) -> list[str]:
    from worldprobe.benchmarks.ewok.outputs import item_tables

    return item_tables(study)


def _trials(study: Mapping[str, Any]) -> list[str]:
    from worldprobe.benchmarks.worldsense import outputs

    return [outputs.trial_table(study, name) for name in outputs.asked_sets(study)]


#: Benchmark -> the tables of its items in a study.
ITEMS = {"ewok": _items, "worldsense": _trials}


class Explorer(Block):
    """The page of items (docs/extras/items.md)."""

    protected_text: bool = False
    """Whether the page shows the text of protected items, such as EWoK's own; it must then lie
    outside version control.
    """


def shown(study: Mapping[str, Any]) -> list[Any]:
    """The benchmarks whose items the page shows: of EWoK and WorldSense, those that models answer
    here.
    """
    return [
        one
        for one in of_study(study)
        if one.name in ITEMS
        and not (one.name == "worldsense" and study["worldsense"]["released"])
        and any(one.answers(study, model) for model in all_models(study))
    ]


def outputs(study: Mapping[str, Any]) -> list[str]:
    """The page, where a benchmark has something to show on it."""
    return [f"{StudyPaths.of(study).root}/{PAGE}"] if shown(study) else []


def tables(study: Mapping[str, Any], models: Sequence[str]) -> list[str]:
    """The tables that the page is made of: items, what models answered, and people's ratings.

    Args:
        study: a validated study.
        models: ids of those that have answers.
    """
    from worldprobe.benchmarks.ewok import outputs as ewok
    from worldprobe.benchmarks.ewok.study import has_people_rated

    found: list[str] = []
    for one in shown(study):
        found += ITEMS[one.name](study)
        found += [path for model in models for path in one.answers(study, model)]
        if one.name == "ewok" and has_people_rated(study):
            found.append(ewok.human_ratings(study))
    return found


def page_words(folders: Sequence[Path]) -> list[Any]:
    """The command that makes the page of an evaluation.

    Args:
        folders: of its benchmarks.
    """
    names = {"ewok": ["items", "target_scores"], "worldsense": ["trials", "responses"]}
    files = [
        path
        for folder in folders
        for name in names.get(folder.name, ())
        for path in sorted(folder.glob(f"{name}*.parquet"))
    ]
    return ["explore", *files] if files else []
