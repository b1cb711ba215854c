"""Files of a study of WorldSense, and the displays that it needs, by its settings. Imports nothing
heavy.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from worldprobe.benchmark import PageFiles, Registry, Study
from worldprobe.benchmarks.worldsense.skins import vocabulary
from worldprobe.extensions import made_models
from worldprobe.paths import StudyPaths
from worldprobe.sources import shipped_files


def root(study: Study) -> str:
    """The folder of everything."""
    return StudyPaths.of(study).benchmark("worldsense")


def trial_table(study: Study, name: str) -> str:
    """A set of trials: the study's own, the released one, or a sample of it."""
    released = study["worldsense"]["released"]
    if released is not None:
        whole = released_trials(released, name)
        is_sampled = study["worldsense"]["limit"]
        return f"{root(study)}/trials/{name}.jsonl.bz2" if is_sampled else whole
    return f"{root(study)}/trials/{name}.parquet"


def released_trials(folder: str, name: str) -> str:
    """A released set, in the layout of the authors' repository.

    >>> released_trials("data", "test"), released_trials("data", "ood-size")
    ('data/test_set/trials.jsonl.bz2', 'data/other_tests/ood-size/trials.jsonl.bz2')
    """
    return f"{folder}/{'test_set' if name == 'test' else f'other_tests/{name}'}/trials.jsonl.bz2"


def downloads(study: Study) -> dict[str, str]:
    """The released trials that are asked and that ``resources/sources.yaml`` lists."""
    folder = study["worldsense"]["released"]
    if folder is None:
        return {}
    listed = shipped_files()
    files = [released_trials(folder, name) for name in study["worldsense"]["sets"]]
    return {file: file for file in files if file in listed}


def without_downloads(block: Mapping[str, Any], names: Collection[str]) -> dict[str, Any] | None:
    """The settings without released sets that cannot be had; without the main one, nothing is
    left.
    """
    if block["released"] is None:
        return dict(block)
    sets = [name for name in block["sets"] if released_trials(block["released"], name) not in names]
    return dict(block) | {"sets": sets} if {*main_set(block["sets"])} & {*sets} else None


def examples_table(study: Study, name: str) -> str:
    """Solved trials like those of a set, from which examples are drawn: the released set itself."""
    if study["worldsense"]["released"] is not None:
        return released_trials(study["worldsense"]["released"], name)
    return f"{root(study)}/examples/{name}.parquet"


#: Trials of each set in a rehearsal.
REHEARSED = 60
#: Tuples of a cell from which the examples of each of them can be drawn.
ENOUGH_EXAMPLES = 6


def rehearse(block: dict[str, Any]) -> None:
    """Make a study's block that of a rehearsal, in place: a sample of each set."""
    block["limit"] = min(block["limit"] or REHEARSED, REHEARSED)
    block["per_cell"], block["asking"]["examples_per_cell"] = 1, ENOUGH_EXAMPLES


def asked_sets(study: Study) -> list[str]:
    """The sets that models are asked about: all but those for training."""
    return [name for name in study["worldsense"]["sets"] if not name.startswith("train-")]


def prompting_places(study: Study, name: str) -> list[str]:
    """The prompt sets by which a set is asked, as the settings name them."""
    block = study["worldsense"]
    is_other = name not in main_set(asked_sets(study)) and block["other_promptings"] is not None
    return list(block["other_promptings" if is_other else "promptings"])


def promptings(study: Study, name: str) -> list[str]:
    """Names of the prompt sets by which a set is asked."""
    return [
        Path(prompting).stem if prompting.endswith((".yaml", ".yml")) else prompting
        for prompting in prompting_places(study, name)
    ]


def asked_models(study: Study) -> list[str]:
    """The models that are asked, those that the study fine-tunes after the others, and the
    rules.
    """
    block = study["worldsense"]
    models = list(study["models"]) if block["models"] is None else list(block["models"])
    if block["models"] is None:
        models += [model for model in made_models(study) if model not in models]
    return models + [model for model in block["controls"] if model not in models]


def extra_models(study: Study) -> list[str]:
    """The models that are asked though they are not among the study's: those of
    `worldsense.models`, and fine-tuned ones.
    """
    block = study["worldsense"]
    named = (
        (made_models(study) if block["models"] is None else block["models"])
        if asked_sets(study) and study["worldsense"]["promptings"]
        else []
    )
    return [model for model in named if model not in study["models"]]


def responses(study: Study, name: str, prompting: str, model: str) -> str:
    """A model's responses to a set under one prompting."""
    return f"{root(study)}/responses/{name}/{prompting}/{model}.parquet"


def answers(study: Study, model: str) -> list[str]:
    """Tables of a model's answers; none of one that WorldSense does not ask."""
    return left_by(study, model) if model in asked_models(study) else []


def left_by(study: Study, model: str) -> list[str]:
    """A model's responses, in the order in which it is asked: set by set, all promptings of each;
    ``model`` may be a wildcard.
    """
    return [
        responses(study, name, prompting, model)
        for name in asked_sets(study)
        for prompting in promptings(study, name)
    ]


def outputs(study: Study, registry: Registry) -> list[str]:
    """Every file that a study asks for, besides its tables and figures and the report."""
    sets = [trial_table(study, name) for name in study["worldsense"]["sets"]]
    return sets + response_tables(study, asked_models(study)) + statistics(study)


def answered(study: Study, models: Sequence[str]) -> list[str]:
    """The models that are asked and have answers, and the rules, which always have.

    Args:
        study: a validated study.
        models: ids of the models that have answers.
    """
    names = {*models, *study["worldsense"]["controls"]}
    return [model for model in asked_models(study) if model in names]


def response_tables(study: Study, models: Sequence[str]) -> list[str]:
    """The responses of those of some models that are asked, and of the rules."""
    return [path for model in answered(study, models) for path in left_by(study, model)]


def is_asked(study: Study) -> bool:
    """Whether any model answers any trial."""
    return bool(asked_sets(study) and study["worldsense"]["promptings"] and asked_models(study))


def quotes_trials(study: Study) -> bool:
    """Whether trials are asked that may be shown: those of the release may not."""
    return is_asked(study) and study["worldsense"]["released"] is None


def summaries(study: Study) -> str:
    """Means of all answers."""
    return f"{root(study)}/summaries.parquet"


def statistics(study: Study) -> list[str]:
    """Tables computed from the answers."""
    if not is_asked(study):
        return []
    pairs = [f"{root(study)}/comparisons.parquet"] if len(asked_models(study)) > 1 else []
    return [summaries(study), *pairs, f"{root(study)}/reproduction.parquet"]


def page_files(study: Study, models: Sequence[str]) -> PageFiles | None:
    """Input files of WorldSense's part of the report; None where no model answers any trial."""
    if not is_asked(study) or not answered(study, models):
        return None
    sets = asked_sets(study)
    main = min(sets, key=lambda name: (name != "test", sets.index(name)))
    quoted = (
        "" if study["worldsense"]["released"] else trial_table(study, main)
    )  # released trials are never quoted
    return PageFiles(
        summary=summaries(study),
        made_from=tuple(response_tables(study, models)),
        item_text=quoted,
        comparisons=f"{root(study)}/comparisons.parquet" if has_pairs(study) else "",
    )


def has_several_promptings(study: Study) -> bool:
    """Whether trials, or a sample of them, are asked in several ways."""
    return len(study["worldsense"]["promptings"]) > 1


def has_several_sets(study: Study) -> bool:
    """Whether models answer several sets of trials."""
    return len(asked_sets(study)) > 1


def has_pairs(study: Study) -> bool:
    """Whether there are models to compare."""
    return len(asked_models(study)) > 1


def has_tuned_models(study: Study) -> bool:
    """Whether models that the study fine-tunes answer trials."""
    asked = set(asked_models(study))
    return any("+" in model and model in asked for model in made_models(study))


def has_controls(study: Study) -> bool:
    """Whether problems of the main set come with controls, so that the two can be compared."""
    return has_any(study, main_set(asked_sets(study)), (*vocabulary.NORMAL, *vocabulary.TRIVIAL))


def main_set(sets: Sequence[str]) -> list[str]:
    """Of the sets that are asked that which most tables show; none of none."""
    return sorted(sets, key=vocabulary.SETS.index)[:1]


def has_any(study: Study, sets: Sequence[str], problems: Collection[str]) -> bool:
    """Whether a study asks one of some problems in some sets; one that names none asks all of a
    set.
    """
    wanted = study["worldsense"]["problems"]
    return any(
        problem in problems and (not wanted or problem in wanted)
        for name in sets
        for problem in vocabulary.problems_of_set(name)
    )
