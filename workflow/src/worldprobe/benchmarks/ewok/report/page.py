"""The page itself: parts in, one HTML file out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, StrictUndefined

from worldprobe import __version__
from worldprobe.benchmarks.ewok.report.captions import CAPTIONS, SECTIONS, Section
from worldprobe.benchmarks.ewok.report.drilldown import colour_rules, domains
from worldprobe.benchmarks.ewok.report.examples import Example
from worldprobe.benchmarks.ewok.report.headline import headline
from worldprobe.benchmarks.ewok.report.methods import Made, describe
from worldprobe.errors import UserError
from worldprobe.files import write_text
from worldprobe.present.pictures import inline_svg
from worldprobe.present.printed import PrintedTable
from worldprobe.present.roster import Roster
from worldprobe.present.runtimes import GpuTime, RunTime, in_words


@dataclass
class Parts:
    """Everything a report may show; what is empty leaves its section out.

    Attributes:
        summaries: the Summaries table.
        roster: names of the models.
        tables: printed tables.
        figures: SVG files.
        made: tables whose provenance the methods paragraph tells.
        run_times: of the rules.
        gpu_times: of the models, in the order in which they are shown.
        rulegraph: SVG of the workflow, or None.
        examples: items that may be shown, or none.
        notebooks: HTML fragments by title.
        eval_type: paradigm of the headline.
    """

    summaries: pd.DataFrame
    roster: Roster
    tables: Sequence[PrintedTable] = ()
    figures: Sequence[Path] = ()
    made: Sequence[Made] = ()
    run_times: Sequence[RunTime] = ()
    gpu_times: Sequence[GpuTime] = ()
    rulegraph: str | None = None
    examples: Sequence[Example] = ()
    notebooks: dict[str, str] = field(default_factory=dict)
    eval_type: str = "logprobs"


def build(parts: Parts) -> str:
    """The page's HTML; it names no resource outside itself."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["duration"] = in_words
    template = environment.from_string(_asset("page.html.jinja"))
    tables = {table.name: table for table in parts.tables}
    figures = {path.stem: inline_svg(path, CAPTIONS.get(path.stem, path.stem)) for path in map(Path, parts.figures)}
    models, by_domain = domains(parts.summaries, parts.roster, parts.eval_type)
    sections = _sections(
        tables, figures, has_concepts=any(domain.concepts for domain in by_domain), has_examples=bool(parts.examples)
    )
    context: dict[str, Any] = {
        "version": __version__,
        "style": _asset("page.css") + colour_rules(),
        "script": _asset("page.js"),
        "headline": headline(parts.summaries, parts.roster, parts.eval_type),
        "sections": sections,
        "figures": figures,
        "tables": tables,
        "captions": CAPTIONS,
        "models": models,
        "domains": by_domain,
        "methods": describe(parts.summaries, parts.made, parts.roster),
        "run_times": parts.run_times,
        "gpu_times": [(parts.roster[time.model].name, time) for time in parts.gpu_times],
        "gpu_hours": sum(time.hours * time.gpus for time in parts.gpu_times),
        "rulegraph": parts.rulegraph,
        "examples": parts.examples,
        "notebooks": parts.notebooks,
    }
    return template.render(context)


def write(parts: Parts, path: Path | str) -> None:
    """Build the page and write it whole."""
    write_text(path, build(parts))


def read_fragment(path: Path | str) -> str:
    """An executed notebook as an HTML fragment (``nbconvert --template basic``), refused if it would fetch anything.

    Raises:
        UserError: no such file, or it loads resources.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise UserError(path, "there is no such file.", "Run the notebook first, or leave it out.") from error
    if "<script" in text or any(f'{attribute}="http' in text for attribute in ("src", "data")) or "<link" in text:
        raise UserError(
            path, "would load resources or run scripts.", "Convert it with `jupyter nbconvert --to html --template basic`."
        )
    return text


def _sections(tables: dict[str, PrintedTable], figures: dict[str, str], has_concepts: bool, has_examples: bool) -> list[Section]:
    """The sections that have something to show, each reduced to what is there; strangers go to the last one."""
    shown = []
    for section in SECTIONS:
        has_more = (section.id == "concepts" and has_concepts) or (section.id == "materials" and has_examples)
        these_figures = tuple(name for name in section.figures if name in figures)
        these_tables = tuple(name for name in section.tables if name in tables)
        if these_figures or these_tables or has_more:
            shown.append(Section(section.id, section.title, section.intro, these_figures, these_tables))
    placed_figures = {name for section in SECTIONS for name in section.figures}
    placed_tables = {name for section in SECTIONS for name in section.tables}
    other_figures = tuple(name for name in figures if name not in placed_figures)
    other_tables = tuple(name for name in tables if name not in placed_tables)
    if other_figures or other_tables:
        shown.append(Section("more", "More", "", other_figures, other_tables))
    return shown


def _asset(name: str) -> str:
    return resources.files("worldprobe.present").joinpath("assets", name).read_text(encoding="utf-8")
