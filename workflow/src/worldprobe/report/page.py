"""The report: one HTML page for a study, with a part for each of its benchmarks. It opens offline
and fetches nothing.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from worldprobe import __version__
from worldprobe.benchmark import (
    NO_SECTION,
    TOP,
    Benchmark,
    Display,
    Section,
    taken_by,
    way_in_words,
)
from worldprobe.contracts import read_provenance, read_table
from worldprobe.contracts.results import OVERALL
from worldprobe.errors import TooLittleError, UserError
from worldprobe.files import digest_file, read_text, write_text
from worldprobe.missing import read_missing
from worldprobe.provenance import TOO_LITTLE, Provenance, of_rehearsal
from worldprobe.report.model_names import Roster
from worldprobe.report.origins import NOTES, Methods, TableOrigin, flags_sheet, notes, read_origins
from worldprobe.report.runtimes import Cost, RunTime, duration_in_words
from worldprobe.report.sheet import (
    ABSENT,
    PrintedTable,
    Sheet,
    decimals,
    show_p,
    span,
    text_column,
    whole_number,
)
from worldprobe.report.style import (
    AROUND_CHANCE,
    blend_colours,
    draw_sentence,
    is_dark,
    write_forms,
)

#: Cells with accuracies are coloured in so many steps, one CSS class each.
STEPS = 20
#: Rows of a table that is open at first; longer ones are folded, and those below a figure.
LONGEST_TABLE = 15
#: Headline of a page about several benchmarks.
QUESTION = "What do language models know about the world?"


@dataclass(frozen=True)
class Material:
    """The material of a benchmark's part of the report.

    Attributes:
        summary: file of its summary table (``ReportPage.summary``).
        roster: names of the models.
        origins: tables whose making the methods paragraph describes.
        item_text: table of items that may be quoted, or None.
        eval_type: way of asking that the headline is about; None: the first one that the summary
            has.
        comparisons: table of its pairs of models, or None.
    """

    summary: Path
    roster: Roster
    origins: Sequence[TableOrigin] = ()
    item_text: Path | None = None
    eval_type: str | None = None
    comparisons: Path | None = None

    def all_origins(self) -> list[TableOrigin]:
        """The summary table and those whose making the methods paragraph describes, each once."""
        summary = self.summary.resolve()
        others = [origin for origin in self.origins if origin.path.resolve() != summary]
        return [*read_origins([self.summary]), *others]


def notices(provenance: Provenance, roster: Roster) -> dict[str, str]:
    """What a summary's provenance says that a reader must know first: title -> text."""
    return {title: text for title, say in NOTES.items() if (text := say(provenance, roster))}


@dataclass(frozen=True)
class Part:
    """A benchmark's part of the report, as it composes it; its tables and figures follow in their
    sections.

    Attributes:
        question: what the benchmark asks; the page's heading where it is the only one.
        lead: the finding.
        findings: its sentences, without markup.
        further: sentences that a draft of a results section has besides these.
        facts: what was counted -> number.
        methods: how it was done.
        cite: what to cite for the measure.
        notices: title -> text of boxes above the sections.
        caveats: what else a reader must know.
        overview: column -> model's name -> accuracy: the whole first, then its parts.
        apart: names in the overview that are no published language models, and stand below them.
        extras: section id -> markup that follows its tables.
        has_item_text: whether ``extras`` quote items.
        is_estimate: whether means estimate those of all items; a smoke test's do not.
        title: what its scores are called, where it is not the benchmark's name.
        references: known models and baselines on the same items.
    """

    question: str
    lead: Markup
    facts: Mapping[str, int]
    methods: Methods
    cite: str
    findings: Sequence[str] = ()
    further: Sequence[str] = ()
    notices: Mapping[str, str] = field(default_factory=dict)
    caveats: Markup | str = ""
    overview: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    apart: frozenset[str] = frozenset()
    extras: Mapping[str, Markup] = field(default_factory=dict)
    has_item_text: bool = False
    is_estimate: bool = True
    title: str = ""
    references: Sheet | None = None


@dataclass(frozen=True)
class ShownSection:
    """A section with what it has to show."""

    id: str
    title: str
    intro: str
    figures: Sequence[Picture]
    tables: Sequence[PrintedTable]
    extra: Markup
    is_folded: bool = False


@dataclass(frozen=True)
class ShownPart:
    """A part with its benchmark's name, what its scores are called, the tables that it begins with,
    the sections that have something to show, what guessing reaches, and what its method is called.
    """

    name: str
    title: str
    part: Part
    sections: Sequence[ShownSection]
    tables: Sequence[PrintedTable] = ()
    chance: float | None = 0.5
    method: str = ""


@dataclass
class ReportPage:
    """Everything a report shows; what is empty leaves its section out.

    Attributes:
        parts: of the benchmarks.
        study: name of the study.
        title: heading; None: the question of the only benchmark, or a general one.
        run_times: of the rules.
        answer_times: of the models, in the order in which they are shown.
        rulegraph: picture of the workflow.
        notebooks: HTML fragments by title.
        beside: files of pages beside it, to which cells of items.html lead.
    """

    parts: Sequence[ShownPart]
    study: str = ""
    title: str | None = None
    run_times: Sequence[RunTime] = ()
    answer_times: Sequence[Cost] = ()
    rulegraph: Picture | None = None
    notebooks: Mapping[str, str] = field(default_factory=dict)
    beside: Sequence[str] = ()


def build_part(
    benchmark: Benchmark,
    material: Material,
    tables: Sequence[PrintedTable] = (),
    figures: Sequence[Path] = (),
) -> ShownPart:
    """A benchmark's part with its tables and figures in their sections; unknown ones are listed
    last, tables without rows not at all.

    Args:
        benchmark: one that has a page.
        material: what its part is built from.
        tables: printed tables.
        figures: SVG files.
    """
    if (page := benchmark.page) is None:
        raise ValueError(f"{benchmark.name} has no page")
    part: Part = page.compose(material)
    given = {table.name for table in tables}
    tables = [
        *tables,
        *(
            printed_sheet(
                display,
                [material.summary],
                material.roster,
                **taken_by(
                    display.build,
                    eval_type=material.eval_type,
                    chance=page.chance,
                    is_estimate=part.is_estimate,
                ),
            ).printed_as(display.name)
            for display in page.tables
            if display.name not in given
        ),
    ]
    declared = {(display.kind, display.name): display for display in benchmark.displays}
    order = list(declared)
    captions = {
        display.name: display.caption for display in benchmark.displays if display.kind == "figure"
    }
    titles = {display.name: display.title for display in benchmark.displays}
    pictures = [
        read_picture(
            path, captions.get(path.stem, path.stem.replace("_", " ")), titles.get(path.stem, "")
        )
        for path in figures
    ]

    def inside(section: Section, kind: str, displays: Sequence[Any]) -> list[Any]:
        keys = {(kind, display.name): display for display in displays}
        known = [key for key in order if key in keys and declared[key].section == section.id]
        unknown = [key for key in keys if key not in declared and section is NO_SECTION]
        return [keys[key] for key in [*known, *unknown]]

    tables = [table for table in tables if table.rows]
    first = inside(TOP, "table", tables)
    if part.references:
        first.append(part.references.printed_as(""))
    if flagged := flags_sheet(read_provenance(material.summary), material.roster):
        first.append(flagged.printed_as(""))
    shown = []
    for section in [*page.sections, NO_SECTION]:
        content = (
            inside(section, "figure", pictures),
            inside(section, "table", tables),
            part.extras.get(section.id, Markup("")),
        )
        if any(content):
            shown.append(
                ShownSection(section.id, section.title, section.intro, *content, section.is_folded)
            )
    title = part.title or benchmark.title
    return ShownPart(benchmark.name, title, part, shown, first, page.chance, benchmark.title)


@dataclass(frozen=True)
class AccuracyCell:
    """An accuracy as shown: its text, its colour step (-1: there is none), its value for sorting
    and what hovering says.
    """

    text: str
    step: int = -1
    value: float = 0.0
    hint: str = ""


def cell_of(
    value: float | None, hint: str = "", places: int = 2, chance: float | None = 0.5
) -> AccuracyCell:
    """A cell, white at chance, without a colour where chance differs from item to item.

    >>> cell_of(0.5)
    AccuracyCell(text='0.50', step=10, value=0.5, hint='')
    >>> cell_of(None)
    AccuracyCell(text='–', step=-1, value=0.0, hint='')
    >>> [cell_of(value, chance=0.25).step for value in (0, 0.25, 1)]
    [0, 10, 20]
    """
    if value is None or math.isnan(value):
        return AccuracyCell(ABSENT, hint=hint)
    text = f"{value:.{places}f}"
    if chance is None:
        return AccuracyCell(text, value=value, hint=hint)
    share = value / chance / 2 if value <= chance else 1 - (1 - value) / (1 - chance) / 2
    return AccuracyCell(text, round(share * STEPS), value, hint)


@dataclass(frozen=True)
class Overview:
    """Which model knows what: models by benchmarks and their parts.

    Attributes:
        spans: benchmark and its number of columns.
        columns: headings.
        groups: language models, then what they are compared with: name -> cells, from the highest
            mean to the lowest.
        chances: benchmark -> what guessing reaches; None where that differs from item to item.
    """

    spans: Sequence[tuple[str, int]]
    columns: Sequence[str]
    groups: Sequence[Mapping[str, Sequence[AccuracyCell]]]
    chances: Mapping[str, float | None]


def overview_of(parts: Sequence[ShownPart]) -> Overview:
    """The parts' overviews side by side, the wholes of all first; a model that a benchmark did not
    ask has empty cells there.
    """
    wholes = [
        (shown.title if len(parts) > 1 else OVERALL, cells)
        for shown in parts
        for cells in list(shown.part.overview.values())[:1]
    ]
    details = [pair for shown in parts for pair in list(shown.part.overview.items())[1:]]
    chances = [shown.chance for shown in parts for _ in list(shown.part.overview)[:1]]
    chances += [shown.chance for shown in parts for _ in list(shown.part.overview)[1:]]
    apart = frozenset().union(*(shown.part.apart for shown in parts))

    def mean(model: str) -> float:
        means = [cells[model] for _, cells in wholes if model in cells]
        return sum(means) / len(means) if means else -1.0

    models = sorted(
        {model for _, cells in wholes + details for model in cells},
        key=lambda model: (-mean(model), model),
    )
    columns = list(zip(wholes + details, chances, strict=True))
    rows = {
        model: [cell_of(cells.get(model), chance=chance) for (_, cells), chance in columns]
        for model in models
    }
    groups = [
        {model: rows[model] for model in models if (model in apart) == is_apart}
        for is_apart in (False, True)
    ]
    spans = [
        ("overall", len(wholes)),
        *((shown.title, len(shown.part.overview) - 1) for shown in parts if shown.part.overview),
    ]
    return Overview(
        spans,
        [heading for heading, _ in wholes + details],
        [group for group in groups if group],
        {shown.title: shown.chance for shown in parts if shown.part.overview},
    )


def step_colours() -> Markup:
    """The CSS of the cells' colour steps, white at chance."""
    colours = [blend_colours(AROUND_CHANCE, step / STEPS) for step in range(STEPS + 1)]
    rules = (
        f".k{step}{{background:{colour};color:{'#fff' if is_dark(colour) else '#1d1d1d'}}}"
        for step, colour in enumerate(colours)
    )
    return Markup("".join(rules))


def render_report(page: ReportPage) -> str:
    """The page's HTML; it names no resource outside itself, and its policy forbids whatever is not
    its own.
    """
    script = asset("sort.js") + asset("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    only = page.parts[0].part if len(page.parts) == 1 else None
    return (
        environment()
        .from_string(asset("page.html.jinja"))
        .render(
            version=__version__,
            style=Markup(asset("page.css")) + step_colours(),
            script=script,
            policy=(
                "default-src 'none'; img-src data:; style-src 'unsafe-inline'; form-action 'none';"
                f" base-uri 'none'; script-src 'sha256-{digest}'"
            ),
            title=page.title or (only.question if only else QUESTION),
            page=page,
            only=only,
            overview=overview_of(page.parts),
            longest=LONGEST_TABLE,
            has_item_text=any(
                shown.part.has_item_text
                or any(table.quotes for section in shown.sections for table in section.tables)
                for shown in page.parts
            ),
            job_seconds=sum(time.seconds for time in page.run_times),
            counts_tokens=any(
                time.prompt_tokens or time.completion_tokens for time in page.answer_times
            ),
            dollars=(
                sum(costs)
                if (
                    costs := [
                        time.dollars for time in page.answer_times if time.dollars is not None
                    ]
                )
                else None
            ),
            gpu_hours=sum(time.gpu_seconds for time in page.answer_times) / 3600,
        )
    )


def write_page(page: ReportPage, path: Path | str) -> None:
    """Build the page and write it whole."""
    write_text(path, render_report(page))


def render_template(package: str, name: str, **values: object) -> Markup:
    """A template that lies in a package's folder; in markup, values are escaped.

    Args:
        package: e.g. ``worldprobe.benchmarks.ewok``.
        name: file name of the template; plain text if it ends in .txt.jinja.
        values: what it shows.
    """
    template = environment(is_markup=not name.endswith(".txt.jinja")).from_string(
        resources.files(package).joinpath(name).read_text(encoding="utf-8")
    )
    return Markup(template.render(**values))


def environment(is_markup: bool = True) -> Environment:
    """Jinja, which in markup escapes everything that is not said to be markup."""
    made = Environment(
        autoescape=is_markup,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(asset),
    )
    made.filters |= {
        "duration": duration_in_words,
        "share": decimals(3),
        "signed": decimals(1),
        "number": whole_number,
        "p": show_p,
        "way": way_in_words,
        "interval": lambda row: span(row["ci_low"], row["ci_high"]),
    }
    return made


def asset(name: str) -> str:
    """A file of the folder ``assets``."""
    return resources.files("worldprobe.report").joinpath("assets", name).read_text(encoding="utf-8")


#: Width of a figure across a page's two columns, in points; narrower ones keep their proportion.
FULL_WIDTH = 504.0


@dataclass(frozen=True)
class Picture:
    """A figure of the page.

    Attributes:
        name: stem of its file.
        caption: what a reader must know, also what a screen reader says.
        address: the picture itself, as a ``data:`` address.
        width: percent of the page's width.
        why_not: why there is nothing to show, which then stands in its place.
        title: in two or three words.
    """

    name: str
    caption: str
    address: str
    width: int
    why_not: str = ""
    title: str = ""


def read_picture(path: Path | str, caption: str, title: str = "") -> Picture:
    """Read an SVG file.

    Raises:
        UserError: the file cannot be read.
    """
    path = Path(path)
    text = read_text(path, "Draw the figure first, or leave it out.")
    points = re.search(r'<svg[^>]*\swidth="([\d.]+)(?:pt|px)?"', text)
    width = float(points.group(1)) if points else FULL_WIDTH
    address = "data:image/svg+xml;base64," + base64.b64encode(text.encode("utf-8")).decode("ascii")
    percent = 100 if width >= 0.9 * FULL_WIDTH else 62
    return Picture(path.stem, caption, address, percent, _why_not(path), title or path.stem)


def _why_not(svg: Path) -> str:
    """Why a figure has nothing to show, as the file of its numbers has it; nothing if it has."""
    numbers = svg.with_suffix(".csv")
    if not numbers.is_file():
        return ""
    lines = list(csv.reader(numbers.read_text(encoding="utf-8").splitlines()))
    return lines[1][0] if len(lines) == 2 and lines[0][0] == "why" else ""


Paths = Sequence[Path | str]


def print_table(
    display: Display, tables: Paths, roster: Roster, out: Paths, **options: Any
) -> None:
    """Print a table.

    Args:
        display: a table.
        tables: files of its inputs, in their order.
        roster: names and order of the models.
        out: paths that end in .csv, .tex, .md or .json.
        options: its own, and ``chance`` if it takes that; those left out have their defaults.

    Raises:
        UserError: an input that cannot be read or does not have what the table needs, or a suffix
            that is not known.
    """
    printed_sheet(display, tables, roster, **options).write(out)


def printed_sheet(display: Display, tables: Paths, roster: Roster, **options: Any) -> Sheet:
    """A table with what its inputs say of themselves; one without rows says why there is nothing to
    show.

    Args:
        display: as for ``print_table``.
        tables: as there.
        roster: as there.
        options: as there.

    Raises:
        UserError: as there.
    """
    try:
        sheet: Sheet = _build(display, tables, roster, options)
    except TooLittleError as error:
        sheet = Sheet(f"{display.title}.", pd.DataFrame(columns=["why"]), (WHY,), (error.problem,))
    made = Provenance() if read_missing(tables[0]) else read_provenance(tables[0])
    made = replace(made, details={**made.details, **of_rehearsal(tables)})
    sheet = replace(sheet, notes=(*sheet.notes, *notes(made, roster)))
    if made.details.get("rehearsal"):
        sheet = replace(sheet, frame=sheet.frame.assign(**MARK))
    return sheet


def draw_figure(
    display: Display,
    tables: Paths,
    roster: Roster,
    out: Paths,
    width: str = "double",
    **options: str,
) -> None:
    """Draw a figure; where there is nothing to draw, one that says why.

    Args:
        display: a figure.
        tables: files of its inputs, in their order.
        roster: names, order and colours of the models.
        out: paths that end in .pdf, .svg, .png or .csv.
        width: column width, "single" or "double".
        options: its own; those left out have their defaults.

    Raises:
        UserError: an input that cannot be read or does not have what the figure needs, or a suffix
            that is not known.
    """
    mark = MARK if of_rehearsal(tables) else {}
    draw = display.draw
    try:
        frame = _build(display, tables, roster, options)
    except TooLittleError as error:
        frame, draw = pd.DataFrame({"why": [error.problem]}), draw_sentence
    write_forms(frame, draw, out, mark=mark, width=width)


def _check_origins(display: Display, tables: Paths) -> None:
    """Refuse tables of which one was built from another file than the one that is given next to
    it.
    """
    for path in tables if len(tables) > 1 else ():
        stated = read_provenance(path).inputs
        for source, table in zip(tables, display.inputs, strict=True):
            if stated.get(table.name) not in (None, digest_file(source)):
                raise UserError(
                    path,
                    f"was built from other {table.name} than {source}.",
                    f"Give the {table.name} that it was built from.",
                )


def _build(display: Display, tables: Paths, roster: Roster, options: Mapping[str, Any]) -> Any:
    for path in tables:
        if lacking := read_missing(path):
            problem = f"{lacking.name} is missing: {lacking.reason}."
            raise TooLittleError(path, problem, "Repair that, and run again.")
    frames = [
        read_table(path, table.contract, table.columns)
        for path, table in zip(tables, display.inputs, strict=True)
    ]
    _check_origins(display, tables)
    if frames[0].empty and (why := read_provenance(tables[0]).details.get(TOO_LITTLE)):
        raise TooLittleError(tables[0], why, "See the log of the command that wrote it.")
    extras = taken_by(display.build, roster=roster, provenance=read_provenance(tables[0]))
    return display(*frames, **extras, **options)


#: The column of a table that has no rows.
WHY = text_column("Nothing to show", "why")
#: What stands across a figure of a rehearsal, and in a column of each CSV file.
MARK = {"rehearsal": "no result"}
NOTEBOOK_FIX = "Give an .ipynb file, e.g. from notebooks/."
#: Seconds that a cell may take; the notebooks read finished tables, so they are quick.
LONGEST_CELL = 300


def run_notebook(path: Path | str, settings: Mapping[str, str]) -> str:
    """Run a notebook in its own folder and return it as HTML without head, scripts or anything to
    fetch.

    What its cells log, with times of day, is left out: the same notebook gives the same bytes.

    Args:
        path: an .ipynb file; it is read, never written.
        settings: environment variables that the notebook reads, e.g. ``WORLDPROBE_STUDY``.

    Raises:
        UserError: the file cannot be read or is not a notebook, there is no kernel to run it, or a
            cell failed.
    """
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError
    from nbconvert import HTMLExporter

    path = Path(path).resolve()
    try:
        notebook = nbformat.reads(read_text(path, NOTEBOOK_FIX), as_version=4)
    except nbformat.reader.NotJSONError as error:
        raise UserError(path, "is not a notebook.", NOTEBOOK_FIX) from error
    resources = {"metadata": {"path": str(path.parent)}}
    client = NotebookClient(
        notebook, timeout=LONGEST_CELL, kernel_name="python3", resources=resources
    )
    try:
        # matplotlib is not imported with a backend that it does not know, and a kernel keeps that
        # of the environment
        client.execute(
            env={
                **os.environ,
                "MPLBACKEND": "module://matplotlib_inline.backend_inline",
                **settings,
            }
        )
    except CellExecutionError as error:
        problem = f"a cell failed: {error.ename}: {error.evalue}."
        raise UserError(
            path,
            problem,
            "Open it in Jupyter and run it cell by cell; check that the study has finished.",
        ) from error
    for cell in notebook.cells:
        if "outputs" in cell:
            cell["outputs"] = [
                output for output in cell["outputs"] if output.get("name") != "stderr"
            ]
    html, _resources = HTMLExporter(
        template_name="basic",
        exclude_input_prompt=True,
        exclude_output_prompt=True,
        exclude_anchor_links=True,
    ).from_notebook_node(notebook)
    return number_table_ids(str(html))


def number_table_ids(html: str) -> str:
    """Replace pandas' random table ids by their numbers, so that the same notebook gives the same
    bytes.

    >>> number_table_ids(
    ...     '<style>#T_0f3a9 td {}</style><table id="T_0f3a9"></table><table id="T_b01c2"></table>'
    ... )
    '<style>#T_1 td {}</style><table id="T_1"></table><table id="T_2"></table>'
    """
    random_id = re.compile(r"\bT_[0-9a-f]{5}(?![0-9a-zA-Z])")
    numbers = {
        table_id: f"T_{number}"
        for number, table_id in enumerate(dict.fromkeys(random_id.findall(html)), start=1)
    }
    return random_id.sub(lambda match: numbers[match.group(0)], html)
