# What the rules of every benchmark look up: how control models are trained, and which benchmarks have scores.

from worldprobe.files import files_below
from worldprobe.models.series import places_of, trainings
from worldprobe.paths import REPOSITORY
from worldprobe.models.controls import MATERIALS, corpus


@cache
def builtin_files():
    """The files of the materials that the control models learn from."""
    return [in_repository(path.relative_to(REPOSITORY)) for path in files_below(MATERIALS)]


def builtin_source(wildcards):
    """The folder of the materials that the control models learn from."""
    return in_repository(MATERIALS.relative_to(REPOSITORY))


def training(key):
    """A function that looks up how a control model is trained."""

    @asked_often
    def look_up(wildcards):
        return registry[wildcards.model]["control"][key]

    return look_up


@asked_often
def training_seed(wildcards):
    """The seed of a control model: its own, or that of the study."""
    return registry[wildcards.model]["control"].get("seed", study["controls"]["seed"])


@asked_often
def saved_checkpoints(wildcards):
    """After which steps a control model is also saved, as options."""
    if not registry[wildcards.model].get("series_of"):
        return ""
    places = places_of(registry[wildcards.model])
    return flags(
        flag("--save-at", [str(place.number) for place in places]),
        flag("--folders", registry[wildcards.model]["series"]["folders"]),
    )


#: The benchmarks whose answers are tables of scores.
SCORED = {benchmark.name: benchmark for benchmark in benchmarks.of_study(study) if benchmark.scores}


def code_of_scores(command):
    """A function that digests the code of a command over a benchmark's scores."""

    def look_up(wildcards):
        return methods.code(command, SCORED[wildcards.benchmark].scores.__module__)

    return look_up


def score_tables(wildcards):
    """The scores of every model that has any."""
    return [
        path
        for model in ALL_WITH_ANSWERS
        for path in SCORED[wildcards.benchmark].answers(study, model)
    ]
