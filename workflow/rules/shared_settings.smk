# What the rules of every benchmark look up: which benchmarks have scores.

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
