"""What the shared parts see of a benchmark: one object with all that is its own.

A benchmark is EWoK or WorldSense; a study is one named configuration of them. Adding a benchmark means one folder in
``benchmarks/``, one class of settings and one line in ``benchmarks/__init__.py``. This module imports
nothing heavy: Snakemake reads the plans whenever it starts, so code is named here and loaded when it is called.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

#: A validated study: the shared settings, and one block per benchmark under the benchmark's name.
Study = Mapping[str, Any]
#: The validated model registry: id -> entry.
Registry = Mapping[str, Mapping[str, Any]]

#: The forms in which a table or figure is written; the first is the one that Snakemake's report shows.
FORMATS = {"table": ("csv", "tex", "md", "json"), "figure": ("svg", "pdf", "png", "csv")}


def load(reference: str) -> Any:
    """What a reference ``package.module:name`` names, imported now.

    >>> load("worldprobe.benchmark:FORMATS")["figure"]
    ('svg', 'pdf', 'png', 'csv')
    """
    module, _, name = reference.partition(":")
    return getattr(importlib.import_module(module), name)


@dataclass(frozen=True)
class Input:
    """A table of the study that a figure or printed table is built from.

    Attributes:
        name: the command's argument.
        contract: reference to its schema, ``package.module:Class``.
        path: file below the benchmark's results, e.g. ``regression/mixed_model.parquet``; or a function: study -> file.
        columns: the only columns that are read; None: all.
    """

    name: str
    contract: str
    path: str | Callable[[Study], str]
    columns: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Option:
    """An option of a figure's or table's command, passed on as a keyword.

    Attributes:
        name: the keyword; ``eval_type`` becomes ``--eval-type``.
        help: what it chooses.
        choices: its values, the default first.
    """

    name: str
    help: str
    choices: tuple[str, ...]


def is_always_wanted(_study: Study, _registry: Registry) -> bool:
    """The answer of a figure or table that every study has."""
    return True


@dataclass(frozen=True)
class Plan:
    """A figure or printed table, declared once: commands, reports, captions and targets all iterate over the plans.

    Attributes:
        kind: "table" or "figure".
        name: stem of its files, and its command: ``worldprobe figure NAME``.
        title: two or three words for menus.
        section: id of the ``Section`` of the report that shows it.
        caption: what a reader must know to read it; no computed number is typed here.
        inputs: the tables it is built from, in the order in which ``build`` takes them.
        build: reference to a function: tables, then what ``extras`` names, and options -> ``Sheet``, or a figure's tidy table.
        draw: figures: reference to a function: tidy table and ``width`` -> matplotlib figure.
        wanted: whether a study has it.
        options: what its command offers.
        fixed: keyword arguments of ``build`` that never change.
        asks_trained: it shows how many parameters trained models have, which their folders state.
        extras: what ``build`` takes after its tables: "roster" (names of the models), "provenance" (of the first table).
    """

    kind: Literal["table", "figure"]
    name: str
    title: str
    section: str
    caption: str
    inputs: tuple[Input, ...]
    build: str
    draw: str = ""
    wanted: Callable[[Study, Registry], bool] = is_always_wanted
    options: tuple[Option, ...] = ()
    fixed: Mapping[str, str] = field(default_factory=dict)
    asks_trained: bool = False
    extras: tuple[str, ...] = ("roster",)

    def inputs_of(self, study: Study, folder: str) -> list[str]:
        """The files of its inputs in a study.

        Args:
            study: a validated study.
            folder: its benchmark's results, e.g. ``results/default/ewok``.
        """
        return [f"{folder}/{one.path}" if isinstance(one.path, str) else one.path(study) for one in self.inputs]

    def paths(self, folder: str) -> list[str]:
        """Its files below the results of its benchmark, the form for Snakemake's report first.

        Args:
            folder: e.g. ``results/default/ewok``.
        """
        return [f"{folder}/{self.kind}s/{self.name}.{suffix}" for suffix in FORMATS[self.kind]]


@dataclass(frozen=True)
class Section:
    """A part of the report; the plans name the section they belong to.

    Attributes:
        id: anchor within the page.
        title: heading.
        intro: one or two sentences below it.
    """

    id: str
    title: str
    intro: str = ""


#: Where the plans of a benchmark without a page belong.
NO_SECTION = Section("more", "More")


@dataclass(frozen=True)
class PageFiles:
    """What one benchmark's part of a study's report is built from, besides the tables and figures of its plans.

    Attributes:
        summary: file of the page's summary table.
        eval_type: way of asking that the headline is about; "auto": the first one in the summary.
        made_from: tables whose making the methods paragraph describes.
        item_text: a table of items that may be quoted; "": none.
        notebooks: notebooks that were run, as HTML fragments.
    """

    summary: str
    eval_type: str = "auto"
    made_from: tuple[str, ...] = ()
    item_text: str = ""
    notebooks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Page:
    """What a benchmark adds to the report.

    Attributes:
        sections: in the order of the page.
        summary: the table whose numbers the headline is about; ``report build`` takes it and so knows the benchmark.
        compose: reference to a function that makes the benchmark's part: ``present.page.Material`` -> ``present.page.Part``.
            Its folder also has the part's templates.
        files: reference to a function: study, models with answers -> ``PageFiles``, or None where nobody is asked.
    """

    sections: tuple[Section, ...]
    summary: Input
    compose: str
    files: str


@dataclass(frozen=True)
class Benchmark:
    """One benchmark.

    Attributes:
        name: its block in the configuration, its folder of results and its commands, e.g. ``ewok``.
        title: as it is written, e.g. EWoK.
        settings: reference to the class of its block, a ``settings.Block``.
        targets: reference to a function: study, registry -> every file that it is for, besides tables, figures and the report.
        evidence: reference to a function: study, model -> the files that asking the model leaves.
        asking: the rule that asks a model.
        asked: reference to a function: study -> the models that it asks besides the study's own, rules apart.
        complete: reference to a function: study, registry -> the registry with what depends on the study.
        adds: reference to a function: study, registry -> cards of models that a study makes, which it may name like any other.
        plans: its tables and figures, in the order of the report.
        page: its part of the report, if it has one.
    """

    name: str
    title: str
    settings: str
    targets: str
    evidence: str = ""
    asking: str = ""
    asked: str = ""
    complete: str = ""
    adds: str = ""
    plans: tuple[Plan, ...] = ()
    page: Page | None = None

    def wanted(self, study: Study, registry: Registry, kind: str | None = None) -> list[Plan]:
        """The figures and tables (or one kind of them) that a study of this benchmark has."""
        return [plan for plan in self.plans if kind in (None, plan.kind) and plan.wanted(study, registry)]

    def section(self, plan: Plan) -> Section:
        """The section that a plan names."""
        return next(section for section in self.page.sections if section.id == plan.section) if self.page else NO_SECTION
