"""EWoK (arXiv 2405.09605): from materials to the report.

Its commands are declared here, where nothing is imported that takes time.
"""

from worldprobe.extensions import Extension

_OWN = "worldprobe.benchmarks.ewok.cli"

EXTENSION = Extension(
    title="EWoK",
    evaluates={"ewok": "worldprobe.benchmarks.ewok.options:Options"},
    chooses="worldprobe.benchmarks.ewok.options:OF_DISPLAYS",
    commands={
        "templates": (f"{_OWN}.templates:templates", "compile materials into templates"),
        "items": (f"{_OWN}.items:app", "fill templates into items, export items, or import them"),
        "score": (
            f"{_OWN}.score:app",
            "score a model on EWoK's items, by log probabilities or prompts",
        ),
        "judge": (
            f"{_OWN}.analysis:judge",
            "turn scores, answers or ratings into accuracy",
        ),
        "baselines": (f"{_OWN}.baselines:app", "compute word2vec, WordNet and other baselines"),
        "references": (
            f"{_OWN}.references:app",
            "compare with known models and baselines on our own items",
        ),
        "import": (
            f"{_OWN}.importing:app",
            "read released results, lm-eval's samples or ratings",
        ),
        "agree": (
            f"{_OWN}.analysis:agree",
            "compare a model's Choice answers with its Likert ratings",
        ),
        "correlate": (
            f"{_OWN}.analysis:correlate",
            "correlate accuracy with baselines and word counts",
        ),
        "fit": (f"{_OWN}.analysis:fit", "fit logistic regressions of accuracy"),
    },
)
