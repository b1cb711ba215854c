"""Printed tables as the table commands write them for the report (JSON)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worldprobe.errors import UserError
from worldprobe.report.text_files import read_text


@dataclass(frozen=True)
class PrintedTable:
    """A printed table.

    Attributes:
        name: stem of its file.
        title: caption.
        columns: heading, heading shared with neighbours, and whether numbers are right-aligned.
        rows: cells as printed.
        breaks: row numbers above which a thin rule is drawn.
        notes: text below it.
    """

    name: str
    title: str
    columns: tuple[PrintedColumn, ...]
    rows: list[list[str]]
    breaks: frozenset[int]
    notes: str

    def spans(self) -> list[tuple[str, int]]:
        """Shared headings and how many columns each spans; empty where no column shares one."""
        if not any(column.over for column in self.columns):
            return []
        found: list[tuple[str, int]] = []
        for column in self.columns:
            if found and column.over and found[-1][0] == column.over:
                found[-1] = (column.over, found[-1][1] + 1)
            else:
                found.append((column.over, 1))
        return found


@dataclass(frozen=True)
class PrintedColumn:
    """A column of a printed table."""

    heading: str
    over: str
    is_number: bool


def read_printed(path: Path | str) -> PrintedTable:
    """Read one table that ``worldprobe table NAME ... --out NAME.json`` wrote.

    Raises:
        UserError: the file cannot be read, or is not such a table.
    """
    path = Path(path)
    text = read_text(path, "Print the table first, or leave it out.")
    try:
        return _parsed(path.stem, json.loads(text))
    except (ValueError, TypeError, KeyError) as error:
        raise UserError(
            path, "is not a printed table of worldprobe.", "Give the .json file that `worldprobe table` wrote."
        ) from error


def _parsed(name: str, printed: Any) -> PrintedTable:
    """The table of a JSON document.

    Raises:
        ValueError, TypeError, KeyError: it does not have that form.
    """
    columns = tuple(PrintedColumn(str(c["heading"]), str(c["over"]), bool(c["is_number"])) for c in printed["columns"])
    rows = [[_text(cell) for cell in row] for row in printed["rows"]]
    if not columns or any(len(row) != len(columns) for row in rows):
        raise ValueError("ragged")
    breaks = frozenset(int(number) for number in printed["breaks"])
    return PrintedTable(name, _text(printed["title"]), columns, rows, breaks, _text(printed["notes"]))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(type(value).__name__)
    return value
