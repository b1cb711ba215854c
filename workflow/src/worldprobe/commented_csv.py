"""CSV files whose first lines may be comments (``#``), e.g. a canary: rows with the line that each
starts in.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from worldprobe.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

#: How a comment begins; a spreadsheet quotes one that contains a comma.
COMMENT = ("#", '"#')


class CsvError(UserError):
    """A file that is not CSV.

    Args:
        where: the file.
        line: counted from 1.
        problem: what is wrong.
        fix: what to do about it.
    """

    def __init__(self, where: object, line: int, problem: str, fix: str) -> None:
        super().__init__(f"{where}, line {line}", problem, fix)
        self.line = line


def read_rows(where: object, content: bytes) -> Iterator[tuple[int, list[str]]]:
    """The header and the rows below the comment lines, each with its line number; lines of empty
    cells are left out.

    Args:
        where: the file, for messages.
        content: the file's bytes, UTF-8 with or without a byte order mark.

    Raises:
        CsvError: not UTF-8, not readable as CSV, something else under the name of CSV, or the
            header is repeated.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise CsvError(
            where, line, "is not UTF-8 text.", "Save the file as CSV in UTF-8."
        ) from error
    lines = io.StringIO(text, newline="").readlines()  # ends of lines of any kind
    n_comments = next(
        (number for number, line in enumerate(lines) if not line.startswith(COMMENT)), len(lines)
    )
    reader, header = csv.reader(lines[n_comments:]), None
    try:
        start = n_comments + 1
        for row in reader:
            if any(cell.strip() for cell in row):
                if row == header:
                    raise CsvError(
                        where,
                        start,
                        "repeats the header, as files do that were joined.",
                        "Remove the line, or give the files one by one.",
                    )
                if header is None:
                    header = row
                    _check_first(where, start, row[0].lstrip())
                yield start, row
            start = n_comments + reader.line_num + 1
    except csv.Error as error:
        line = n_comments + reader.line_num
        raise CsvError(
            where, line, f"is not readable as CSV ({error}).", "Save the file as plain CSV."
        ) from error


def _check_first(where: object, line: int, cell: str) -> None:
    if cell.startswith("sep="):
        problem = f'begins with "{cell[:5]}", which only Excel reads.'
        raise CsvError(where, line, problem, "Remove the line; separate columns by commas.")
    if cell.startswith(("{", "[{", "[[")):
        raise CsvError(where, line, "is JSON, not CSV.", "Save the rows as CSV, below a header.")


def check_separator(where: object, header: Sequence[str]) -> None:
    """Refuse a header of one cell that semicolons or tabs separate.

    Raises:
        UserError: they do.
    """
    if len(header) == 1 and (sign := next((sign for sign in ";\t" if sign in header[0]), None)):
        name = {";": "semicolons", "\t": "tabs"}[sign]
        raise UserError(where, f"separates its columns by {name}.", "Separate them by commas.")


def without_empty_columns(rows: Sequence[tuple[int, list[str]]]) -> list[tuple[int, list[str]]]:
    """The header and rows of a table without columns that have neither a name nor a cell, as
    spreadsheets add them.
    """
    width = len(rows[0][1])
    used = [n for n in range(width) if any(len(row) <= n or row[n].strip() for _, row in rows)]
    return [(line, [row[n] for n in used] if len(row) == width else row) for line, row in rows]


def read_frame(where: object, content: bytes, needed: Sequence[str] = ()) -> pd.DataFrame:
    """All cells as text; the index contains each row's line.

    Args:
        where: the file, for messages.
        content: its bytes.
        needed: columns that it must have.

    Raises:
        UserError: as ``read_rows``; no header, a row of another length, a column given twice with
            different cells, or none that is needed.
    """
    import pandas as pd

    rows = list(read_rows(where, content))
    if not rows:
        raise UserError(where, "is empty.", "Write a header and a row per entry.")
    (_, header), *rows = without_empty_columns(rows)
    check_separator(where, header)
    for line, row in rows:
        if len(row) != len(header):
            problem = f"has {len(row)} cells, the header {len(header)}."
            raise UserError(
                f"{where}, line {line}",
                problem,
                "Give every column a cell; quote text with commas.",
            )
    frame = pd.DataFrame(
        [row for _, row in rows],
        columns=range(len(header)),
        index=[line for line, _ in rows],
        dtype="str",
    )
    first = {name: number for number, name in reversed(list(enumerate(header)))}
    for number, name in enumerate(header):
        if not frame[number].equals(frame[first[name]]):
            raise UserError(
                where,
                f'has the column "{name}" twice, with different cells.',
                "Keep one of the two.",
            )
    if absent := [name for name in needed if name not in first]:
        raise UserError(where, f"has no column {absent[0]}.", f"It needs {', '.join(needed)}.")
    return frame[list(first.values())].set_axis(list(first), axis=1)
