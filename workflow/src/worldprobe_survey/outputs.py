"""The files that a study makes of people."""

from __future__ import annotations

from worldprobe.benchmark import Registry, Study
from worldprobe.benchmarks.ewok.outputs import paths, reference
from worldprobe.benchmarks.ewok.study import has_people_rated, has_responses
from worldprobe.benchmarks.ewok.vocabulary import is_graded
from worldprobe_survey.accuracy_displays import human_accuracy, human_agreement
from worldprobe_survey.displays import human_cleaning, human_people
from worldprobe_survey.study_settings import SIMULATED


def is_simulated(study: Study) -> bool:
    """Whether the people are simulated."""
    return bool(study["ewok"]["human"]["responses"] == SIMULATED)


def human_export(study: Study) -> str | list[str]:
    """The folder of people's answers: a survey's, or that of simulated people; nothing where there
    are none.
    """
    if is_simulated(study):
        return f"{paths(study).root}/human/export"
    return study["ewok"]["human"]["responses"] or []


def human_key(study: Study) -> str:
    """The answer key of the lists that people saw."""
    return str(study["ewok"]["human"]["key"] or paths(study).table("human/list_key"))


def human_files(study: Study, registry: Registry) -> list[str]:
    """All that a study makes of people, which needs no model: at least the lists."""
    layout = paths(study)
    files = [layout.table("human/lists")]
    if has_people_rated(study):
        files.append(layout.judgements(reference(study), "human_likert", "human"))
    if has_responses(study):
        files.append(layout.table("human/statistics"))
        shown = (human_accuracy, human_cleaning, human_people, human_agreement)
        files += [
            path
            for display in shown
            if display.is_wanted(study, registry)
            for path in display.paths(paths(study).root)
        ]
    return files


def own_answers(study: Study) -> list[str]:
    """People's answers, as files of the user's."""
    if is_simulated(study):
        return []
    human = study["ewok"]["human"]
    return [path for path in (human["responses"], human["key"]) if path]


def graded_evidence(study: Study) -> list[str]:
    """Models' answers in degrees (log probabilities, ratings) about the items of the reference
    condition.
    """
    names = [name for name in study["ewok"]["eval_types"] if is_graded(name)]
    return [
        paths(study).evidence(reference(study), name, model)
        for name in names
        for model in study["models"]
    ]
