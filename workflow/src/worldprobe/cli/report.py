"""``table``, ``figure``, ``report`` and ``notebook``: what a study shows, alone and as one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from worldprobe.benchmark import taken_by
from worldprobe.benchmarks import OWN, benchmark_of, benchmarks, owner_of
from worldprobe.cli.options import Names, Registry, deferred
from worldprobe.errors import UserError, did_you_mean
from worldprobe.extensions import are_own, options_of_displays
from worldprobe.files import read_text, write_text
from worldprobe.missing import present
from worldprobe.paths import REGISTRY, Place, StudyPaths, shipped_file
from worldprobe.provenance import is_rehearsed

if TYPE_CHECKING:
    from worldprobe.benchmark import Display
    from worldprobe.report.model_names import Roster
    from worldprobe.report.page import ShownPart
    from worldprobe.settings.blocks import Block

report = App(name="report", help="Build the HTML report.")
notebook = App(name="notebook", help="Run a notebook.")

RULEGRAPH = (
    "The rules of the workflow; an arrow leads from a rule to one that reads its output. Arrows"
    " implied by others are left out."
)
#: What a notebook reads where nothing else is named.
DEFAULT_RESULTS = StudyPaths("default").benchmark(OWN[0])
RECORD_FIX = "Write it with `worldprobe archive record-study`, or leave it out."
Files = Annotated[Sequence[Place], Parameter(consume_multiple=True)]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Contents:
    """The tables and figures of a study.

    Attributes:
        study: name of the study, shown at the top
        tables: printed tables (.json, from `worldprobe table`)
        figures: figures (.svg, from `worldprobe figure`)
        made_from: tables that the methods paragraph describes
        headlines: way of asking of each part's headline, one per summary table; auto: the first one
            in the table (default)
        comparisons: tables of pairs of models (from `worldprobe compare`), for the first sentences
    """

    registry: Names = None
    study: str = ""
    tables: Files = ()
    figures: Files = ()
    made_from: Files = ()
    headlines: Sequence[str] | None = None
    comparisons: Files = ()


Summaries = Annotated[
    list[Place], Parameter(help="summary table (Parquet), one per benchmark of the study")
]


@report.command
def build(
    summaries: Summaries,
    /,
    *,
    contents: Contents = Contents(),
    title: str | None = None,
    record: Place | None = None,
    item_text: Files = (),
    rulegraph: Place | None = None,
    notebooks: Files = (),
    beside: Annotated[Sequence[str], Parameter(consume_multiple=True)] = (),
    out: Path,
) -> None:
    """Build one HTML page that opens offline.

    Args:
        title: heading of the page (default: the question of the benchmark)
        record: record of the study (from `worldprobe archive record-study`), for run times
        item_text: trials whose conversations are shown; only worldprobe's own (one table per
            benchmark)
        rulegraph: picture of the workflow's rules (SVG)
        notebooks: notebooks that were run (from `worldprobe notebook run`)
        beside: pages beside this one, by file name; cells lead to items.html (from `worldprobe
            explore`)
        out: the page (HTML)
    """
    from worldprobe.operations.record import Record
    from worldprobe.report.page import ReportPage, read_picture, write_page
    from worldprobe.report.runtimes import from_plain, with_all_attempts

    took = Record.parse(read_text(record, RECORD_FIX).encode(), record).took if record else {}
    run_times, spent = from_plain(took)
    parts = read_parts(summaries, contents, item_text)
    roster = _roster(contents.registry)
    answer_times = [
        replace(spent[model], name=roster[model].name, prices=roster[model].prices)
        for model in roster.in_order(spent)
    ]
    page = ReportPage(
        parts=parts,
        study=contents.study,
        title=title,
        run_times=with_all_attempts(run_times, answer_times),
        answer_times=answer_times,
        rulegraph=read_picture(rulegraph, RULEGRAPH) if rulegraph else None,
        beside=beside,
        notebooks={
            Path(path).stem.replace("_", " "): read_text(
                path, "Run the notebook first, or leave it out."
            )
            for path in notebooks
        },
    )
    write_page(page, out)


@report.command
def draft(summaries: Summaries, /, *, contents: Contents = Contents(), out: list[Path]) -> None:
    """Draft a results section: sentences that hold, each number with the cell that it is from.

    Args:
        out: files to write; suffixes: .md, .tex, .bib
    """
    from worldprobe.report.results_section import read_cells, results_part, write_results_section

    if not contents.tables:
        problem = "is missing: sentences are about numbers in printed tables, so none would hold."
        fix = "Print tables, such as worldprobe table models_against_chance SUMMARIES --out a.json"
        raise UserError("--tables", problem, f"{fix} a.csv; a study does so by itself.")
    files = [Path(path) for path in summaries]
    parts = [
        results_part(shown, read_cells(_of_part(contents.tables, path, files), out[0].parent))
        for path, shown in zip(files, read_parts(summaries, contents), strict=True)
    ]
    write_results_section(parts, contents.study, out)


@notebook.command(name="run")
def run_notebook(
    notebook: Place,
    /,
    *,
    results: Place = DEFAULT_RESULTS,
    condition: str = "main",
    registry: Registry = REGISTRY,
    materials: Place | None = None,
    out: Path,
) -> None:
    """Run a notebook over a finished study.

    Args:
        notebook: an .ipynb file; it is read, never written
        results: results that it reads
        condition: condition whose judgements it reads
        materials: materials that it may copy and extend (default: built-in ones)
        out: HTML fragment for `worldprobe report build --notebooks`
    """
    from worldprobe.report.origins import REHEARSAL
    from worldprobe.report.page import run_notebook

    settings = {
        "WORLDPROBE_STUDY": str(Path(results).resolve()),
        "WORLDPROBE_REGISTRY": str(Path(shipped_file(registry)).resolve()),
    }
    settings["WORLDPROBE_CONDITION"] = condition
    if materials:
        settings["WORLDPROBE_MATERIALS"] = str(Path(materials).resolve())
    mark = f"<p><strong>{REHEARSAL}</strong></p>\n" if is_rehearsed(results) else ""
    write_text(out, mark + run_notebook(notebook, settings))


def read_parts(
    paths: Sequence[str], contents: Contents, item_text: Sequence[str] = ()
) -> list[ShownPart]:
    """Each benchmark's part, from its summary table, printed tables and figures.

    Raises:
        UserError: files that do not belong together, or cannot be read.
    """
    from worldprobe.report.origins import read_origins
    from worldprobe.report.page import Material, build_part
    from worldprobe.report.sheet import read_printed

    roster = _roster(contents.registry)
    summaries = [Path(path) for path in paths]
    eval_types = list(contents.headlines or ()) or ["auto"] * len(summaries)
    if len(eval_types) != len(summaries):
        problem = f"names {len(eval_types)} for {len(summaries)} summary tables."
        raise UserError("--headlines", problem, "Name one per summary table, or auto.")
    parts = []
    for path, eval_type in zip(summaries, eval_types, strict=True):

        def own(files: Iterable[str], path: Path = path) -> list[Path]:
            return _of_part(files, path, summaries)

        material = Material(
            summary=path,
            roster=roster,
            origins=read_origins(own(contents.made_from)),
            item_text=next(iter(own(item_text)), None),
            eval_type=None if eval_type == "auto" else eval_type,
            comparisons=next(iter(own(contents.comparisons)), None),
        )
        tables = [read_printed(file) for file in own(contents.tables)]
        parts.append(build_part(benchmark_of(path), material, tables, own(contents.figures)))
    return parts


def _of_part(files: Iterable[str | Path], summary: Path, summaries: list[Path]) -> list[Path]:
    """The files that belong to a part: those in its summary's folder, and to the first part
    also all in no part's folder.
    """
    folders = [path.resolve().parent for path in summaries]
    mine = summary.resolve().parent
    files_of_part = []
    for path in map(Path, files):
        home = next(
            (folder for folder in folders if path.resolve().is_relative_to(folder)), folders[0]
        )
        if home == mine:
            files_of_part.append(path)
    return files_of_part


DisplayRegistry = Annotated[
    Path | None,
    Parameter(help="model registry, for names, order and colours (default: ids are shown)"),
]


@cache
def declared_displays() -> list[Display]:
    """The tables and figures of all installed benchmarks, and those of benchmarks without code."""
    from worldprobe.asked import DISPLAYS

    return [
        *DISPLAYS,
        *(display for benchmark in benchmarks().values() for display in benchmark.displays),
    ]


@cache
def options_class() -> type[Block]:
    """The options of tables and figures."""
    from pydantic import create_model

    from worldprobe.settings.blocks import MADE, Block

    fields: dict[str, Any] = {}
    options = options_of_displays()
    if not are_own():
        options += [option for display in declared_displays() for option in display.options]
    for option in options:
        fields.setdefault(option.name, (Annotated[str | None, Parameter(help=option.help)], None))
    made = type("Made", (Block,), {"model_config": {**Block.model_config, **MADE}})
    return create_model("DisplayOptions", __base__=made, **fields)


Listed = Annotated[
    bool, Parameter(name="--list", help="print the names, and what each is built from")
]


@deferred(chosen=options_class)
def table(
    name: str = "",
    tables: Files = (),
    /,
    *,
    listed: Listed = False,
    chosen: Any = None,
    registry: DisplayRegistry = None,
    out: Sequence[Path] = (),
) -> None:
    """Print a table as CSV, LaTeX, Markdown and JSON.

    Args:
        name: name of the table, e.g. mean_accuracy
        tables: tables that it is built from
        out: files to write; suffixes: .csv, .tex, .md, .json
    """
    from worldprobe.report.page import print_table

    if list_instead("table", listed, name, tables, out):
        return
    display = find_display("table", name, tables)
    own = options_of(display, chosen)
    if (owner := owner_of(tables[0])) and owner.page:
        own |= taken_by(display.build, chance=owner.page.chance)
    print_table(display, tables, _roster(registry), out, **own)


@deferred(chosen=options_class)
def figure(
    name: str = "",
    tables: Files = (),
    /,
    *,
    listed: Listed = False,
    chosen: Any = None,
    registry: DisplayRegistry = None,
    trained: Annotated[Sequence[Place], Parameter(consume_multiple=True)] = (),
    out: Sequence[Path] = (),
) -> None:
    """Draw a figure as PDF, SVG and PNG, and save its numbers as CSV.

    Args:
        name: name of the figure, e.g. scaling
        tables: tables that it is built from
        trained: folders of control models, which state their parameters
        out: files to write; suffixes: .svg, .pdf, .png, .csv
    """
    from worldprobe.report.page import draw_figure

    if list_instead("figure", listed, name, tables, out):
        return
    display = find_display("figure", name, tables)
    draw_figure(
        display,
        tables,
        _roster(registry).with_trained(present(map(Path, trained))[0]),
        out,
        **options_of(display, chosen),
    )


def list_instead(
    kind: str, listed: bool, name: str, tables: Sequence[str], out: Sequence[Path]
) -> bool:
    """Print the names of all tables or figures by benchmark, where that is asked for.

    Args:
        kind: table or figure.
        listed: whether it is.
        name: of the one that is to be made, otherwise.
        tables: that it is built from.
        out: files to write.

    Raises:
        UserError: nothing is asked for, or only half.
    """
    if not listed:
        for given, what in ((name, "NAME"), (tables, "TABLES"), (out, "--out")):
            if not given:
                fix = f"worldprobe {kind} --list prints the names and what each is built from."
                raise UserError(f"worldprobe {kind}", f"{what} is missing.", fix)
        return False
    from worldprobe.asked import DISPLAYS

    own: dict[str, Sequence[Display]] = {"minimal pairs and others": DISPLAYS}
    own |= {benchmark.title: benchmark.displays for benchmark in benchmarks().values()}
    for title, displays in own.items():
        chosen = [display for display in displays if display.kind == kind]
        width = max((len(display.name) for display in chosen), default=0)
        for heading in [title] * bool(chosen):
            print(f"{heading}:")
        for display in chosen:
            sources = ", ".join(source.name for source in display.inputs)
            print(f"  {display.name:{width}}  {display.title} (from {sources})")
    return True


def _roster(registry: Path | None) -> Roster:
    from worldprobe.report.model_names import read_roster

    return read_roster(shipped_file(registry) if registry else None)


def find_display(kind: str, name: str, tables: Sequence[str]) -> Display:
    """The table or figure of a name, which must be built from as many tables as are given.

    Raises:
        UserError: there is none, or it is built from others.
    """
    displays = {display.name: display for display in declared_displays() if display.kind == kind}
    if name not in displays:
        raise UserError(
            f"worldprobe {kind} {name}",
            f"is unknown{did_you_mean(name, displays)}",
            f"Choose one of {', '.join(displays)}.",
        )
    display = displays[name]
    if len(tables) != len(display.inputs):
        needed = ", ".join(display.name for display in display.inputs)
        raise UserError(
            f"worldprobe {kind} {name}",
            f"is built from {needed}.",
            f"Give {len(display.inputs)} tables in this order.",
        )
    fitting = [name for name, candidate in displays.items() if _takes(candidate, tables)]
    if fitting and name not in fitting:
        raise UserError(
            f"worldprobe {kind} {name}",
            f"is not built from {', '.join(map(str, tables))}.",
            f"Of what is given, these can be: {', '.join(fitting)}.",
        )
    return display


def _takes(display: Display, tables: Sequence[str]) -> bool:
    """Whether files have the tables and columns that a display is built from; rows are not read."""
    from worldprobe.contracts import fits

    contracts = [source.contract for source in display.inputs]
    return len(tables) == len(contracts) and all(map(fits, tables, contracts))


def options_of(display: Display, chosen: Block) -> dict[str, Any]:
    """The values that are given of a display's options.

    Raises:
        UserError: it has no such option, or the option has no such value.
    """
    choices = {option.name: option.choices for option in display.options}
    given = chosen.model_dump(exclude_none=True)
    for name, value in given.items():
        option = "--" + name.replace("_", "-")
        if name not in choices:
            raise UserError(
                option, f"does nothing for the {display.kind} {display.name}.", "Leave it out."
            )
        if value not in choices[name]:
            fix = f"Choose one of {', '.join(choices[name])}."
            raise UserError(
                option, f'"{value}" is unknown{did_you_mean(value, choices[name])}', fix
            )
    return given
