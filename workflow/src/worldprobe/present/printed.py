"""Printed tables (Markdown, as the table commands write them) as rows for the page: what is shown is what was printed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from worldprobe.errors import UserError


@dataclass(frozen=True)
class Printed:
    """A printed table.

    Attributes:
        name: stem of its file.
        title: caption.
        headings: column headings.
        is_number: whether a column is right-aligned.
        rows: cells as printed.
        notes: what stands below it.
    """

    name: str
    title: str
    headings: list[str]
    is_number: list[bool]
    rows: list[list[str]]
    notes: str


def read_printed(path: Path | str) -> Printed:
    """Read one table that ``worldprobe table ... --out x.md`` wrote.

    Raises:
        UserError: no such file, or it does not have that form.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise UserError(path, "there is no such file.", "Print the table first, or leave it out.") from error
    lines = text.splitlines()
    table = [line for line in lines if line.startswith("|")]
    if len(table) < 2 or not lines[0].startswith("**"):
        raise UserError(path, "is not a printed table of worldprobe.", "Give the .md file that `worldprobe table` wrote.")
    marks = [cell.strip() for cell in _cells(table[1])]
    after = lines[lines.index(table[-1]) + 1 :]
    return Printed(
        name=path.stem,
        title=_plain(lines[0].strip("*")),
        headings=[_plain(cell) for cell in _cells(table[0])],
        is_number=[mark.endswith(":") for mark in marks],
        rows=[[_plain(cell) for cell in _cells(line)] for line in table[2:]],
        notes=_plain(" ".join(line for line in after if line.strip())),
    )


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


def _plain(text: str) -> str:
    r"""Markdown's backslashes taken away.

    >>> _plain(r"1.91 \*\*\*"), _plain(r"a\|b")
    ('1.91 ***', 'a|b')
    """
    return re.sub(r"\\([\\|*_`<>\[\]#])", r"\1", text).strip()
