"""Where things are: the repository's own folders, and every name under ``results/``.

Rules, status, notebooks and report all take their names from here, so that a study is one folder and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: The repository's root.
REPOSITORY = Path(__file__).resolve().parents[3]
RESOURCES = REPOSITORY / "resources"
SCHEMAS = REPOSITORY / "workflow" / "schemas"

RESULTS = "results"


@dataclass(frozen=True)
class StudyPaths:
    """The files of one study that belong to no benchmark, and what all studies share.

    Attributes:
        study: its name.
        results: the folder of all studies' results.

    >>> StudyPaths("paper").report, StudyPaths("paper").answers
    ('results/paper/report.html', 'results/.answers')
    """

    study: str
    results: str = RESULTS

    @classmethod
    def of(cls, study: Mapping[str, Any]) -> StudyPaths:
        """The files of a validated study, whose ``results`` says where they are if that is not ``results``.

        >>> StudyPaths.of({"study": "paper", "results": "probe/results"}).root
        'probe/results/paper'
        """
        return cls(study["study"], study.get("results", RESULTS))

    @property
    def answers(self) -> str:
        """Answers per question, of all studies."""
        return f"{self.results}/.answers"

    @property
    def models(self) -> str:
        """Notes of fetched models, of all studies."""
        return f"{self.results}/models"

    def controls(self, key: str) -> ControlPaths:
        """What control models are made from and what is made of it, of all studies.

        Args:
            key: digest of the materials and of the settings of corpus, split and tokenizer.
        """
        return ControlPaths(f"{self.results}/controls/{key}")

    @property
    def root(self) -> str:
        """Everything of the study."""
        return f"{self.results}/{self.study}"

    @property
    def logs(self) -> str:
        """A log per job."""
        return f"{self.root}/logs"

    @property
    def benchmarks(self) -> str:
        """Time and memory per job."""
        return f"{self.root}/benchmarks"

    @property
    def report(self) -> str:
        """The page with everything on it."""
        return f"{self.root}/report.html"

    def log(self, rule: str, model: str) -> str:
        """The log of one model's job."""
        return f"{self.logs}/{rule}/{model}.log"

    def notebook(self, name: str) -> str:
        """A notebook that was run for the report."""
        return f"{self.root}/notebooks/{name}.html"

    def benchmark(self, name: str) -> BenchmarkPaths:
        """The files of one benchmark."""
        return BenchmarkPaths(f"{self.root}/{name}")


@dataclass(frozen=True)
class BenchmarkPaths:
    """The files of one benchmark in one study.

    Attributes:
        root: their folder, e.g. ``results/default/ewok``.

    >>> paths = StudyPaths("default").benchmark("ewok")
    >>> paths.evidence("main", "logprobs", "gpt2_xl")
    'results/default/ewok/scores/main/logprobs/gpt2_xl.parquet'
    >>> paths.items("nonce", 3), paths.figure("scaling", "svg")
    ('results/default/ewok/items/nonce/version_3.parquet', 'results/default/ewok/figures/scaling.svg')
    """

    root: str

    def table(self, name: str) -> str:
        """A table of the whole study, e.g. ``summaries`` or ``regression/mixed_model``."""
        return f"{self.root}/{name}.parquet"

    def items(self, condition: str, version: int | None = None) -> str:
        """The items of a condition: all versions together, or one alone."""
        return self.table(f"items/{condition}" if version is None else f"items/{condition}/version_{version}")

    def evidence(self, condition: str, eval_type: str, model: str) -> str:
        """What a model is judged by: its scores or its responses."""
        kind = "scores" if eval_type == "logprobs" else "responses"
        return self.table(f"{kind}/{condition}/{eval_type}/{model}")

    def judgements(self, condition: str, eval_type: str, model: str) -> str:
        """Right or wrong, for one model and way of asking."""
        return self.table(f"judgements/{condition}/{eval_type}/{model}")

    def printed(self, name: str, suffix: str) -> str:
        """A printed table."""
        return f"{self.root}/tables/{name}.{suffix}"

    def figure(self, name: str, suffix: str) -> str:
        """A figure."""
        return f"{self.root}/figures/{name}.{suffix}"


@dataclass(frozen=True)
class ControlPaths:
    """The control models' corpus, tokenizer and vectors, and the models trained on them, by what makes them.

    Attributes:
        root: their folder; its name is a digest of what makes them.
    """

    root: str

    def model(self, training: str, model: str) -> str:
        """A trained model.

        Args:
            training: digest of how it is trained.
            model: its id, which is the folder's name.
        """
        return f"{self.root}/models/{training}/{model}"
