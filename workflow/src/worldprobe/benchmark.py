"""What the shared parts see of a benchmark: one object with all that is its own.

A benchmark is EWoK or WorldSense; a study is one named configuration of them. Adding a benchmark
means one object of the class ``Benchmark`` that an installed package names as entry point
``worldprobe.benchmarks``, or one YAML file. Snakemake reads the declarations of a study's
benchmarks whenever it starts: they may import pandas, but no matplotlib, SciPy or torch.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, update_wrapper
from importlib import import_module
from inspect import signature
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, Protocol, TypeVar

from worldprobe.engines import Offers, Workload

if TYPE_CHECKING:
    import pandas as pd

    from worldprobe.contracts import Table
    from worldprobe.settings import Block

P = ParamSpec("P")
R = TypeVar("R")
#: A validated study: the shared settings, and one block per benchmark under the benchmark's name.
Study = Mapping[str, Any]
#: The validated model registry: id -> entry.
Registry = Mapping[str, Mapping[str, Any]]

#: The forms in which a table or figure is written; the first is the one that Snakemake's report
#: shows.
FORMATS = {"table": ("csv", "tex", "md", "json"), "figure": ("svg", "pdf", "png", "csv")}


#: Whether a study has something: a function of ``study``, and of ``registry`` if it takes it.
Feature = Callable[..., bool]


@dataclass(frozen=True)
class Input:
    """A table of the study that a figure or printed table is built from.

    Attributes:
        contract: its schema.
        path: file below the benchmark's results, or a function of the study that gives the file; by
            default the contract's name.
        columns: the only columns that are read; None: all.
        name: the command's argument; by default the contract's name.
    """

    contract: type[Table]
    path: str | Callable[[Study], str] = ""
    columns: tuple[str, ...] | None = None
    name: str = ""

    def __post_init__(self) -> None:
        """Fill in what the contract's name says."""
        object.__setattr__(self, "name", self.name or self.contract.Config.name)
        object.__setattr__(self, "path", self.path or f"{self.name}.parquet")

    def path_in(self, study: Study, folder: str) -> str:
        """The file in a study.

        Args:
            study: a validated study.
            folder: its benchmark's results, e.g. ``results/default/ewok``.
        """
        return f"{folder}/{self.path}" if isinstance(self.path, str) else self.path(study)


@dataclass(frozen=True)
class Option:
    """An option of a figure's or table's command; its default is that of the function's argument.

    Attributes:
        name: the function's argument; ``eval_type`` becomes ``--eval-type``.
        help: what it chooses.
        choices: its values.
    """

    name: str
    help: str
    choices: tuple[str, ...]


def _draw_nothing(_tidy: Any, _width: str) -> Any:
    raise NotImplementedError("decorate the function that draws it with drawn_by")


@dataclass
class Display:
    """A figure or printed table, declared by a decorator on the function that computes it.

    Commands, rules, captions and both reports follow from the declaration. It is called like the
    function.

    Attributes:
        kind: "table" or "figure".
        build: tables in the order of ``inputs`` -> ``Sheet``, or a figure's tidy table. It may also
            take ``roster`` (names of the models), ``provenance`` (of the first table) and, a table,
            ``chance`` (as ``Page`` has it), and its options.
        name: stem of its files, and its command: ``worldprobe figure NAME``.
        title: two or three words for menus.
        section: id of the ``Section`` of the report that shows it.
        caption: what a reader must know to read it; no computed number is typed here.
        inputs: the tables it is built from.
        when: what a study must have for it, each a function of ``study`` and, if it takes it,
            ``registry``.
        options: what its command offers.
        chosen: study -> values of these options where it is printed for the study.
        shows_sizes: it shows how many parameters models have; the folders of trained ones say so.
        draw: figures: tidy table and ``width`` -> matplotlib figure.
    """

    kind: Literal["table", "figure"]
    build: Callable[..., Any]
    name: str
    title: str
    section: str
    caption: str
    inputs: tuple[Input, ...]
    when: tuple[Feature, ...] = ()
    options: tuple[Option, ...] = ()
    chosen: Callable[[Study], Mapping[str, str]] = lambda _study: {}
    shows_sizes: bool = False
    draw: Callable[..., Any] = _draw_nothing

    def __post_init__(self) -> None:
        """Look like the function."""
        update_wrapper(self, self.build)

    def __call__(self, *tables: Any, **options: Any) -> Any:
        """Compute it."""
        return self.build(*tables, **options)

    def drawn_by(self, draw: Callable[..., Any]) -> Callable[..., Any]:
        """Decorator of the function that draws the tidy table."""
        self.draw = draw
        return draw

    def is_wanted(self, study: Study, registry: Registry) -> bool:
        """Whether a study has it."""
        return all(
            feature(**taken_by(feature, study=study, registry=registry)) for feature in self.when
        )

    def inputs_of(self, study: Study, folder: str) -> list[str]:
        """The files of its inputs in a study, whose benchmark's results are in a folder."""
        return [table.path_in(study, folder) for table in self.inputs]

    def paths(self, folder: str) -> list[str]:
        """Its files below the results of its benchmark, the form for Snakemake's report first.

        Args:
            folder: e.g. ``results/default/ewok``.
        """
        return [f"{folder}/{self.kind}s/{self.name}.{suffix}" for suffix in FORMATS[self.kind]]


def taken_by(function: Callable[..., Any], **offered: Any) -> dict[str, Any]:
    """The offered arguments that a function takes.

    >>> taken_by(lambda study: True, study=1, registry=2)
    {'study': 1}
    """
    return {
        name: value for name, value in offered.items() if name in signature(function).parameters
    }


def _declaration(
    kind: Literal["table", "figure"],
    *,
    inputs: Sequence[type[Table] | Input],
    section: str,
    caption: str,
    title: str = "",
    name: str = "",
    when: Feature | tuple[Feature, ...] = (),
    options: Sequence[Option] = (),
    chosen: Callable[[Study], Mapping[str, str]] = lambda _study: {},
    shows_sizes: bool = False,
) -> Callable[[Callable[..., Any]], Display]:
    def declare(build: Callable[..., Any]) -> Display:
        stem = name or build.__name__
        return Display(
            kind=kind,
            build=build,
            name=stem,
            title=title or stem.replace("_", " ").capitalize(),
            section=section,
            caption=caption,
            inputs=tuple(table if isinstance(table, Input) else Input(table) for table in inputs),
            when=when if isinstance(when, tuple) else (when,),
            options=tuple(options),
            chosen=chosen,
            shows_sizes=shows_sizes,
        )

    return declare


#: Decorators: the function's sheet is a printed table; its tidy table is saved next to the figure
#: that ``drawn_by`` draws of it. ``Display`` explains the arguments; name and title follow the
#: function's name where they are not given.
table = partial(_declaration, "table")
figure = partial(_declaration, "figure")


def find_displays(*packages: ModuleType) -> tuple[Display, ...]:
    """The tables and figures that modules, or the modules of packages, declare, in the order of
    their text.
    """
    modules = [
        import_module(name)
        for home in packages
        for name in (
            home.__name__,
            *(
                f"{home.__name__}.{module_info.name}"
                for module_info in iter_modules(getattr(home, "__path__", []))
            ),
        )
    ]
    return tuple(
        display
        for module in modules
        for display in vars(module).values()
        if isinstance(display, Display) and display.build.__module__ == module.__name__
    )


@dataclass(frozen=True)
class Section:
    """A part of the report; tables and figures name the section they belong to.

    Attributes:
        id: anchor within the page.
        title: heading.
        intro: one or two sentences below it.
        is_folded: it is about how the study was made: closed in the page at first.
    """

    id: str
    title: str
    intro: str = ""
    is_folded: bool = False


#: Where tables belong that a benchmark's part of the report begins with.
TOP = Section("top", "Models")
#: Where the tables and figures of a benchmark without a page belong.
NO_SECTION = Section("more", "More")


def count_rows(table: Path) -> int | None:
    """Rows of a table, for estimates; None where it is not there yet, or cannot be read, of which
    the job that reads it says more.
    """
    if table.suffix != ".parquet" or not table.is_file():
        return None
    import pyarrow
    from pyarrow import parquet

    try:
        n_rows: int = parquet.read_metadata(table).num_rows
    except (pyarrow.ArrowException, OSError):
        return None
    return n_rows


@dataclass(frozen=True)
class PageFiles:
    """The files of one benchmark's part of a study's report, besides its tables and figures.

    Attributes:
        summary: file of the page's summary table.
        eval_type: way of asking that the headline is about; "auto": the first one in the summary.
        made_from: tables whose making the methods paragraph describes.
        item_text: a table of items that may be quoted; "": none.
        notebooks: notebooks that were run, as HTML fragments.
        comparisons: table of pairs of models, for the first sentences; "": none.
    """

    summary: str
    eval_type: str = "auto"
    made_from: tuple[str, ...] = ()
    item_text: str = ""
    notebooks: tuple[str, ...] = ()
    comparisons: str = ""


@dataclass(frozen=True)
class Page:
    """A benchmark's part of the report.

    Attributes:
        sections: in the order of the page.
        summary: the table whose numbers the headline is about; ``report build`` takes it and so
            knows the benchmark.
        compose: makes the benchmark's part: ``report.page.Material`` -> ``report.page.Part``.
        files: study, models with answers -> ``PageFiles``, or None where no model is evaluated.
        tables: tables of the summary table alone that the part prints itself where they are not
            given, as in ``worldprobe evaluate``.
        chance: what guessing reaches; None where that differs from item to item.
    """

    sections: tuple[Section, ...]
    summary: Input
    compose: Callable[[Any], Any]
    files: Callable[[Study, Sequence[str]], PageFiles | None]
    tables: tuple[Display, ...] = ()
    chance: float | None = 0.5


#: File of the pairs of models and baselines that an evaluation compares, if it does.
COMPARISONS = "comparisons.parquet"


class EvaluationStep(Protocol):
    """Calls a command's function, showing it first as the command that it is."""

    def __call__(
        self, words: str, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """Call it.

        Args:
            words: of the command, e.g. ``items build``.
            function: the command's.
            *args: as the function takes them.
            **kwargs: as the function takes them.
        """


@dataclass(frozen=True)
class Evaluated:
    """The model that ``worldprobe evaluate`` evaluates.

    Attributes:
        model: how it is loaded and asked, and its store of answers: the block that commands take
            (``cli.engines.Model``).
        folder: where this benchmark's tables go.
        options: the benchmark's options: a block of ``Evaluation.options``.
        step: calls the function of a command, and shows it.
        limit: size of a sample of the items; None: all are asked.
        offers: what the model can be asked: some servers give no log probabilities of texts.
    """

    model: Any
    folder: Path
    options: Any
    step: EvaluationStep
    limit: int | None = None
    offers: Offers = field(default_factory=Offers)

    @property
    def name(self) -> str:
        """The model's name in tables."""
        return str(self.model.name)

    @property
    def card(self) -> dict[str, Any]:
        """How it is loaded, as a card says it."""
        return dict(self.model)


def _as_given(options: Any, _limit: int | None) -> Any:
    return options


def _nobody_knows(_model: Evaluated) -> Workload | None:
    """No estimate."""
    return None


@dataclass(frozen=True)
class Evaluation:
    """How ``worldprobe evaluate`` evaluates a model in one benchmark.

    Attributes:
        run: evaluates it -> what ``result.json`` states of it (``report.results.Result``).
        refuse: raises a ``UserError`` for a model that cannot be evaluated.
        options: class of the benchmark's options, each a key of this block; None: it has none. On
            the command line they are ``--BENCHMARK.KEY``, or ``--KEY`` if the class is decorated
            with cyclopts' ``Parameter(name="*")``.
        settle: options as they are given, limit -> the options with what follows from these.
        workload: what the model will be asked; None where nobody can say before the items are made.
    """

    run: Callable[[Evaluated], dict[str, Any]]
    refuse: Callable[[Evaluated], None]
    options: type[Block] | None = None
    settle: Callable[[Any, int | None], Any] = _as_given
    workload: Callable[[Evaluated], Workload | None] = _nobody_knows


@dataclass(frozen=True)
class Computed:
    """Means or comparisons that a benchmark computes from its answers.

    Attributes:
        table: rows of the contract of its ``Analysis``.
        models: whose answers were read.
        details: what the provenance of the table says of it.
        inputs: name -> file that was read besides the answers.
        seed: of what was drawn; None: nothing was.
        warnings: what is said of the numbers while they are made.
        notes: what is printed below comparisons.
        template: package and file of the text that prints comparisons; "": that of any benchmark.
        shown: values of the template; None: the overall comparisons, as ``rows``.
    """

    table: pd.DataFrame
    models: Collection[str] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, Path] = field(default_factory=dict)
    seed: int | None = None
    warnings: Sequence[str] = ()
    notes: Sequence[str] = ()
    template: str = ""
    shown: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Analysis:
    """How a benchmark's answers become means, or comparisons: what the shared command
    (``worldprobe summarize``, ``worldprobe compare``) and rule do with them.

    Attributes:
        compute: files of answers, and the options of the command that it names -> ``Computed``; it
            imports SciPy inside.
        contract: of the table.
        method: version of the computation.
        answers: study, models with answers -> the files that the rule computes it from.
        others: study -> the other files that are read.
        options: study -> options of the command.
    """

    compute: Callable[..., Computed]
    contract: type[Table]
    method: int
    answers: Callable[[Study, Sequence[str]], list[str]] = lambda _study, _models: []
    others: Callable[[Study], list[str]] = lambda _study: []
    options: Callable[[Study], Mapping[str, Any]] = lambda _study: {}


@dataclass(frozen=True)
class Asking:
    """The questions of a benchmark, and how responses become scores; see ``asked``.

    Attributes:
        items: block of settings -> one row per item: ``unit`` (its id), ``cluster`` (items that are
            not independent share one), the columns that the benchmark adds to ``Scores``, and
            whatever requests are made of.
        requests: item -> what a model is asked about it (``Loglikelihood``, ``Generate`` or
            ``Choose``).
        score: item, responses in the order of the requests -> from 0 to 1, or None where they come
            to nothing.
        logprobs: the columns that ``Scores`` gain for log probabilities (nats), where every item
            has as many requests for one.
        stated: what a result says of how was asked and scored, by what it is about.
        method: version of requests and scores; a higher one asks again.
        eval_type: how the model is asked, as tables name it.
        files: block of settings -> the files that items are read from: a changed one asks again
            what changed.
    """

    items: Callable[[Mapping[str, Any]], Any]
    requests: Callable[[Any], Sequence[Any]]
    score: Callable[[Any, Sequence[Any]], float | None]
    logprobs: Sequence[str] = ()
    stated: Mapping[str, str] = field(default_factory=dict)
    method: int = 1
    eval_type: str = "logprobs"
    files: Callable[[Mapping[str, Any]], Sequence[str]] = lambda _settings: []


def nothing(_study: Study, *_others: Any) -> list[Any]:
    """No files, no models."""
    return []


def _unknown(_study: Study, _card: Mapping[str, Any]) -> Workload | None:
    """No estimate."""
    return None


def _no_downloads(_study: Study) -> dict[str, str]:
    """Everything is here."""
    return {}


def _unchanged(block: Mapping[str, Any], _names: Collection[str]) -> dict[str, Any]:
    """The same settings."""
    return dict(block)


def way_in_words(way: str) -> str:
    """A way of asking, of which tables have the name, as people read it.

    >>> way_in_words("logprobs")
    'LogProbs'
    """
    return {"logprobs": "LogProbs"}.get(way, way.replace("_", " "))


@dataclass(frozen=True)
class Benchmark:
    """One benchmark.

    Attributes:
        name: its entry point, its block in the configuration, its folder of results and its
            commands, e.g. ``ewok``.
        title: as it is written, e.g. EWoK.
        settings: the class of its block.
        outputs: study, registry -> every file that it is for, besides tables, figures and the
            report.
        answers: study, model -> the files that evaluating the model leaves.
        rule: the rule that evaluates a model.
        workload: study, card of a model -> what the model is asked; None where nobody can say.
        analysed: command, ``summarize`` or ``compare`` -> what it and the rule of this name
            (``workflow/rules/scores.smk``) do with the benchmark's answers.
        answer_tables: the tables that these commands take for its answers, besides ``scores``.
        answer_files: endings of other files that they take for them.
        downloads: study -> what it needs from elsewhere besides models: a file of
            ``resources/sources.yaml``, or the name of a baseline -> the file that its fetch makes.
        without_downloads: block of settings, names of downloads that cannot be had -> the block
            without them; None where nothing of the benchmark is left.
        extra_models: study -> the models that it evaluates besides the study's own.
        complete: study, registry -> the registry with what depends on the study.
        displays: its tables and figures, those of one section in the order of the report.
        page: its part of the report, if it has one.
        scores: its form of ``contracts.results.Scores``, if ``answers`` are tables of scores.
        references: file of answers, name of a reference that the package brings, file -> writes its
            answers to the same items there; raises a ``UserError`` where it has none.
        reproduce: files of a study -> its published numbers next to ours
            (``analysis.reproduction.Checked``): the summaries, the folder of published numbers, and
            options of ``reproduction check`` that it understands.
        evaluation: how single models are evaluated, if they can be.
        asking: what is asked, if the shared rule and command ask it (``worldprobe ask``): the
            benchmark has no rules of its own.
        rehearse: makes its block of settings small, for a rehearsal.
        rules: file of its own rules, if it has any.
        source: its YAML file, if it has one.
        definition: what this file says, which its tables repeat, so that they can be read without
            it.
        way_in_words: a way of asking -> as people read it.
        units: what its means are over, in the plural.
    """

    name: str
    title: str
    settings: type[Block]
    outputs: Callable[[Study, Registry], list[str]] = nothing
    answers: Callable[[Study, str], list[str]] = nothing
    rule: str = ""
    workload: Callable[[Study, Mapping[str, Any]], Workload | None] = _unknown
    analysed: Mapping[str, Analysis] = field(default_factory=dict)
    answer_tables: tuple[type[Table], ...] = ()
    answer_files: tuple[str, ...] = ()
    downloads: Callable[[Study], dict[str, str]] = _no_downloads
    without_downloads: Callable[[Mapping[str, Any], Collection[str]], dict[str, Any] | None] = (
        _unchanged
    )
    extra_models: Callable[[Study], list[str]] = nothing
    complete: Callable[[Study, dict[str, dict[str, Any]]], dict[str, dict[str, Any]]] | None = None
    displays: tuple[Display, ...] = ()
    page: Page | None = None
    scores: type[Table] | None = None
    references: Callable[[Path, str, Path], None] | None = None
    reproduce: Callable[..., Any] | None = None
    evaluation: Evaluation | None = None
    asking: Asking | None = None
    rehearse: Callable[[dict[str, Any]], None] | None = None
    rules: str = ""
    source: str = ""
    definition: Mapping[str, Any] | None = None
    way_in_words: Callable[[str], str] = way_in_words
    units: str = "items"

    def wanted(self, study: Study, registry: Registry, kind: str | None = None) -> list[Display]:
        """The figures and tables (or one kind of them) that a study of this benchmark has."""
        return [
            display
            for display in self.displays
            if kind in (None, display.kind) and display.is_wanted(study, registry)
        ]

    def section(self, display: Display) -> Section:
        """The section that a table or figure names."""
        if self.page is None:
            return NO_SECTION
        sections = (TOP, *self.page.sections)
        return next(section for section in sections if section.id == display.section)
