"""Tables and figures made as they are declared: read their inputs, build them, write every form that is wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from worldprobe.benchmark import Display, taken_by
from worldprobe.contracts import read_provenance, read_table
from worldprobe.errors import UserError
from worldprobe.files import digest_file
from worldprobe.report.model_names import Roster
from worldprobe.report.origins import notes
from worldprobe.report.sheet import Sheet
from worldprobe.report.style import render

Paths = Sequence[Path | str]


def print_table(display: Display, tables: Paths, roster: Roster, out: Paths, **options: str) -> None:
    """Print a table.

    Args:
        display: a table.
        tables: files of its inputs, in their order.
        roster: names and order of the models.
        out: paths that end in .csv, .tex, .md or .json.
        options: its own; those left out have their defaults.

    Raises:
        UserError: an input that cannot be read or does not have what the table needs, or a suffix that is not known.
    """
    sheet: Sheet = _build(display, tables, roster, options)
    sheet = replace(sheet, notes=(*sheet.notes, *notes(read_provenance(tables[0]), roster)))
    sheet.write(out)


def draw_figure(display: Display, tables: Paths, roster: Roster, out: Paths, width: str = "double", **options: str) -> None:
    """Draw a figure.

    Args:
        display: a figure.
        tables: files of its inputs, in their order.
        roster: names, order and colours of the models.
        out: paths that end in .pdf, .svg, .png or .csv.
        width: column width, "single" or "double".
        options: its own; those left out have their defaults.

    Raises:
        UserError: an input that cannot be read or does not have what the figure needs, or a suffix that is not known.
    """
    note = " ".join(notes(read_provenance(tables[0]), roster))
    render(_build(display, tables, roster, options), display.draw, out, note, width=width)


def _check_origins(display: Display, tables: Paths) -> None:
    """Refuse tables of which one was built from another file than the one that is given next to it."""
    for path in tables if len(tables) > 1 else ():
        stated = read_provenance(path).inputs
        for source, one in zip(tables, display.inputs, strict=True):
            if stated.get(one.name) not in (None, digest_file(source)):
                raise UserError(
                    path, f"was built from other {one.name} than {source}.", f"Give the {one.name} that it was built from."
                )


def _build(display: Display, tables: Paths, roster: Roster, options: Mapping[str, str]) -> Any:
    frames = [read_table(path, one.contract, one.columns) for path, one in zip(tables, display.inputs, strict=True)]
    _check_origins(display, tables)
    extras = taken_by(display.build, roster=roster, provenance=read_provenance(tables[0]))
    return display(*frames, **extras, **options)
