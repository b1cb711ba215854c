"""Where things are: the repository's own folders, in a clone or in an installed package, and every
name under ``results/``.

Rules, status, notebooks and report all take their names from here, so that a study is one folder
and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from worldprobe.errors import UserError

PACKAGE = Path(str(files("worldprobe"))).resolve()
#: The repository's root, or, in an installed package, the folder with the files that it takes
#: along.
REPOSITORY = PACKAGE / "repository" if (PACKAGE / "repository").is_dir() else PACKAGE.parents[2]
RESOURCES = REPOSITORY / "resources"
#: The conda environments of rules.
ENVS = REPOSITORY / "envs"

#: The editions of our own materials for EWoK, by the names that settings, commands and results give
#: them.
EDITIONS = {
    "builtin@1": RESOURCES / "materials" / "ewok-builtin",
    "builtin@2": RESOURCES / "materials" / "ewok-builtin-2",
    "builtin@3": RESOURCES / "materials" / "ewok-builtin-3",
    "builtin@4": RESOURCES / "materials" / "ewok-builtin-4",
    "builtin-es": RESOURCES / "materials" / "ewok-builtin-es",
    "builtin-zh": RESOURCES / "materials" / "ewok-builtin-zh",
}
#: The edition that ``builtin`` means.
BUILTIN = "builtin@4"

RESULTS = "results"
#: The folder of files from elsewhere (``resources/sources.yaml``).
DOWNLOADS = "resources/downloads"
#: The model registry, where no other is named: here, or else the one of the package.
REGISTRY = Path("config/models.yaml")
#: What is downloaded: here, or else of the package.
LISTING = Path("resources/sources.yaml")
#: Marks a text that is a path, or a name in its place.
PATH_OR_NAME = "path or name"
Place = Annotated[str, PATH_OR_NAME]


def shipped_file(path: Path) -> Path:
    """A file, or, where there is none of that name, the one of that name that the package brings.

    >>> shipped_file(Path("config/models.yaml")).is_file(), shipped_file(Path("no/such.yaml"))
    (True, PosixPath('no/such.yaml'))
    """
    packaged = REPOSITORY / path
    return packaged if not path.exists() and packaged.is_file() else path


def from_here(path: Path | str) -> str:
    """A file, or one of the repository as seen from the working directory, if that is in it.

    >>> from_here("/mine/models.yaml"), Path(from_here(REGISTRY)).is_file()
    ('/mine/models.yaml', True)
    """
    whole = REPOSITORY / path
    is_here = whole.is_relative_to(REPOSITORY) and Path.cwd() == REPOSITORY
    return str(whole.relative_to(REPOSITORY) if is_here else whole)


def edition(text: str) -> str:
    """The full name of an edition of our own materials; any other place of materials as it is.

    >>> edition("builtin"), edition("builtin@1"), edition("mine.zip")
    ('builtin@4', 'builtin@1', 'mine.zip')

    Raises:
        UserError: there is no such edition.
    """
    if text.startswith(("builtin@", "builtin-")) and text not in EDITIONS:
        raise UserError(
            text,
            "there is no such edition of the built-in materials.",
            f"Choose from {', '.join(EDITIONS)}.",
        )
    return BUILTIN if text == "builtin" else text


def materials_place(text: str) -> str:
    """The folder or archive of the materials that a word names.

    >>> materials_place("mine.zip"), materials_place("builtin").endswith("ewok-builtin-4")
    ('mine.zip', True)

    Raises:
        UserError: there is no such edition of our own.
    """
    name = edition(text)
    return str(EDITIONS[name]) if name in EDITIONS else text


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
        """The files of a validated study, whose ``results`` says where they are if that is not
        ``results``.

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

    @property
    def drafts(self) -> list[str]:
        """The draft of a results section: Markdown, LaTeX, BibTeX."""
        return [f"{self.root}/results_section.{form}" for form in ("md", "tex", "bib")]

    @property
    def record(self) -> str:
        """The record of the study, to draw it again elsewhere."""
        return f"{self.root}/study.json"

    def log(self, rule: str, model: str) -> str:
        """The log of one model's job."""
        return f"{self.logs}/{rule}/{model}.log"

    def notebook(self, name: str) -> str:
        """A notebook that was run for the report."""
        return f"{self.root}/notebooks/{name}.html"

    def benchmark(self, name: str) -> str:
        """The folder of one benchmark.

        >>> StudyPaths("default").benchmark("ewok")
        'results/default/ewok'
        """
        return f"{self.root}/{name}"


@dataclass(frozen=True)
class ControlPaths:
    """The control models' corpus, tokenizer and vectors, and the models trained on them, by what
    makes them.

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
