"""What a study of WorldSense has, by its settings: which tables and figures it needs. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Collection

from worldprobe.benchmark import Study
from worldprobe.benchmarks.worldsense.finetuning.trainings import made_models, trainings
from worldprobe.benchmarks.worldsense.outputs import asked_models, asked_sets
from worldprobe.benchmarks.worldsense.skins.vocabulary import NORMAL


def has_several_promptings(study: Study) -> bool:
    """Whether the same trials are asked in several ways."""
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


def has_trainings(study: Study) -> bool:
    """Whether the study fine-tunes a model."""
    return bool(trainings(study))


def has_normal_problems(study: Study) -> bool:
    """Whether there is a problem that needs a world in mind."""
    return _has_any(study, NORMAL)


def has_places(study: Study) -> bool:
    """Whether questions are about two places in a line."""
    return _has_any(study, ("Infer.normal", "Consist.normal"))


def has_controls(study: Study) -> bool:
    """Whether problems come with controls, so that the two can be compared."""
    wanted = study["worldsense"]["problems"]
    return not wanted or any(".normal" in name or ".trivial" in name for name in wanted)


def _has_any(study: Study, problems: Collection[str]) -> bool:
    """Whether a study has one of some problems; one that names none has all."""
    wanted = set(study["worldsense"]["problems"])
    return not wanted or bool(wanted & set(problems))
