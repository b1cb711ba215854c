# What the rules of every benchmark look up: what control models and word vectors learn from, and which benchmarks have scores.

from worldprobe.files import files_below
from worldprobe.paths import REPOSITORY
from worldprobe.models.controls import MATERIALS, corpus


@cache
def builtin_files():
    """The files of the materials that the control models learn from."""
    return [in_repository(path.relative_to(REPOSITORY)) for path in files_below(MATERIALS)]


def builtin_source(wildcards):
    """The folder of the materials that the control models learn from."""
    return in_repository(MATERIALS.relative_to(REPOSITORY))


#: The benchmarks whose answers are tables of scores.
SCORED = {benchmark.name: benchmark for benchmark in benchmarks.of_study(study) if benchmark.scores}


def code_of_scores(command):
    """A function that digests the code of a command over a benchmark's scores."""

    def look_up(wildcards):
        return digest_code(command, SCORED[wildcards.benchmark].scores.__module__)

    return look_up


def score_tables(wildcards):
    """The scores of every model that has any."""
    return [
        path
        for model in ALL_WITH_ANSWERS
        for path in SCORED[wildcards.benchmark].answers(study, model)
    ]
