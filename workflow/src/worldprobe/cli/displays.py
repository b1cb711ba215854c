"""``table NAME`` and ``figure NAME``: what the benchmarks declare, in the forms that the suffixes of ``--out`` name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from worldprobe.cli.options import shipped_file
from worldprobe.errors import UserError, did_you_mean

if TYPE_CHECKING:
    from worldprobe.benchmark import Display
    from worldprobe.report.model_names import Roster

Registry = Annotated[Path | None, Parameter(help="model registry, for names, order and colours (default: ids are shown)")]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class DisplayOptions:
    """What some tables and figures let one choose; each says which values it has.

    Attributes:
        eval_type: way of asking
        metric: whether ties count one half (accuracy) or as wrong (strict)
        setup: prompts and shots of the ways that are shown
        points: what the points are
        fit: which fit of the table
    """

    eval_type: str | None = None
    metric: str | None = None
    setup: str | None = None
    points: str | None = None
    fit: str | None = None


def table(
    name: str,
    tables: list[str],
    /,
    *,
    chosen: DisplayOptions = DisplayOptions(),
    registry: Registry = None,
    out: list[Path],
) -> None:
    """Print a table as CSV, LaTeX, Markdown and JSON.

    Args:
        name: name of the table, e.g. mean_accuracy
        tables: tables that it is built from
        out: files to write; suffixes: .csv, .tex, .md, .json
    """
    from worldprobe.report.render import print_table

    display = find_display("table", name, tables)
    print_table(display, tables, _roster(registry), out, **options_of(display, chosen))


def figure(
    name: str,
    tables: list[str],
    /,
    *,
    chosen: DisplayOptions = DisplayOptions(),
    registry: Registry = None,
    trained: Annotated[Sequence[str], Parameter(consume_multiple=True)] = (),
    out: list[Path],
) -> None:
    """Draw a figure as PDF, SVG and PNG, and save its numbers as CSV.

    Args:
        name: name of the figure, e.g. scaling
        tables: tables that it is built from
        trained: folders of control models, which state their parameters
        out: files to write; suffixes: .svg, .pdf, .png, .csv
    """
    from worldprobe.report.render import draw_figure

    display = find_display("figure", name, tables)
    draw_figure(display, tables, _roster(registry).with_trained(list(trained)), out, **options_of(display, chosen))


def _roster(registry: Path | None) -> Roster:
    from worldprobe.report.model_names import read_roster

    return read_roster(shipped_file(registry) if registry else None)


def find_display(kind: str, name: str, tables: Sequence[str]) -> Display:
    """The table or figure of a name, which must be built from as many tables as are given.

    Raises:
        UserError: there is none, or it is built from others.
    """
    from worldprobe.benchmarks import benchmarks

    displays = {one.name: one for benchmark in benchmarks().values() for one in benchmark.displays if one.kind == kind}
    if name not in displays:
        raise UserError(
            f"worldprobe {kind} {name}", f"is unknown{did_you_mean(name, displays)}", f"Choose one of {', '.join(displays)}."
        )
    display = displays[name]
    if len(tables) != len(display.inputs):
        needed = ", ".join(one.name for one in display.inputs)
        raise UserError(
            f"worldprobe {kind} {name}", f"is built from {needed}.", f"Give {len(display.inputs)} tables in this order."
        )
    return display


def options_of(display: Display, chosen: DisplayOptions) -> dict[str, str]:
    """The values that are given of a display's options.

    Raises:
        UserError: it has no such option, or the option has no such value.
    """
    known = {option.name: option.choices for option in display.options}
    given = {name: value for name, value in asdict(chosen).items() if value is not None}
    for name, value in given.items():
        option = "--" + name.replace("_", "-")
        if name not in known:
            raise UserError(option, f"does nothing for the {display.kind} {display.name}.", "Leave it out.")
        if value not in known[name]:
            fix = f"Choose one of {', '.join(known[name])}."
            raise UserError(option, f'"{value}" is unknown{did_you_mean(value, known[name])}', fix)
    return given
