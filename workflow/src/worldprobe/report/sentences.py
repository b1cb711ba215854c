"""Sentences whose numbers know the cells of tables that they are from."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import pandas as pd

from worldprobe.report.sheet import ABSENT, MINUS, decimals, span

#: What a number's mark is made of while a sentence is composed; no text has these letters.
_START, _MIDDLE, _END = "\ue000\ue001\ue002"
_MARKED = re.compile(f"{_START}([^{_MIDDLE}]*){_MIDDLE}([^{_END}]*){_END}")
#: Columns that tell rows of a table apart.
KEYS = ("model", "model_a", "model_b", "eval_type")
#: In the place of a column: pairs of models, in either order.
PAIR = "pair"
#: The columns of a comparison with its sides exchanged, where they have other names.
_EXCHANGED = {
    "mean_a": "mean_b",
    "mean_b": "mean_a",
    "ci_low": "ci_high",
    "ci_high": "ci_low",
    "model_a": "model_b",
    "model_b": "model_a",
}
_TURNS_SIGN = ("difference", "ci_low", "ci_high")


@dataclass(frozen=True)
class CitedCell:
    """Where a number of a sentence is from.

    Attributes:
        table: name of the printed table.
        key: column -> value, or values, of the rows that it is about.
        column: of its CSV file.
        what: "cell": the number of the only row; "mean": of these rows; "count": how many these
            rows are.
        factor: by which the number in the cell is multiplied, as 100 for points.
    """

    table: str
    key: Mapping[str, Any]
    column: str
    what: str = "cell"
    factor: float = 1

    def rows(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The rows of its table, as its CSV file has them (read as text)."""
        for name, value in self.key.items():
            if name == PAIR:
                sides = zip(frame["model_a"], frame["model_b"], strict=True)
                frame = frame[[list(pair) in value or list(pair)[::-1] in value for pair in sides]]
                continue
            values = value if isinstance(value, list) else [value]
            frame = frame[frame[name].isin([str(value) for value in values])]
        return frame

    def is_in(self, frame: pd.DataFrame) -> bool:
        """Whether its table has it; one that has nothing to show has other columns."""
        named = {*self.key, self.column} - {PAIR}
        if not named <= set(frame.columns):
            return False
        return self.what == "count" or len(self.rows(frame)) == 1 or self.what == "mean"

    def value(self, frame: pd.DataFrame) -> float:
        """The number, from its table."""
        rows = self.rows(frame)
        rows = rows[rows[self.column] != ""]
        if self.what == "count":
            return float(len(rows))
        numbers = pd.to_numeric(rows[self.column], errors="coerce")  # a cell may be edited
        return self.factor * float(numbers.mean(skipna=False))


def equals(text: str, value: float) -> bool:
    """Whether a printed number is this one, rounded; "< 0.001" is a bound.

    >>> equals("0.571", 0.5708333), equals("−1.1", -1.12), equals("< 0.001", 0.0005)
    (True, True, True)
    >>> equals("0.571", 0.5721)
    False
    """
    if text.startswith("<"):
        return value < float(text[1:])
    number = text.replace(MINUS, "-").replace(",", "")
    places = len(number.partition(".")[2])
    return abs(float(number) - value) <= 0.5 * 10**-places + 1e-9


def quote(
    text: str,
    table: str,
    row: Mapping[Any, Any],
    column: str,
    factor: float = 1,
    by: Sequence[str] = (),
) -> str:
    """A number with a mark of the cell that it is from.

    Args:
        text: as printed.
        table: name of the printed table.
        row: of it, or a comparison with its sides exchanged (``is_turned``).
        column: of its CSV file.
        factor: as ``CitedCell`` has it.
        by: further columns that tell rows of the table apart.
    """
    key = {name: row[name] for name in (*KEYS, *by) if name in row}
    if row.get("is_turned"):
        key = {name: row[_EXCHANGED.get(name, name)] for name in key}
        factor *= -1 if column in _TURNS_SIGN else 1
        column = _EXCHANGED.get(column, column)
    return _mark(text, CitedCell(table, key, column, factor=factor))


def quote_rows(number: Any, table: str, column: str, what: str, **key: Any) -> str:
    """A number over several rows of a table, as ``CitedCell`` explains, with a mark of them."""
    return _mark(str(number), CitedCell(table, key, column, what))


def quote_interval(
    table: str, row: Mapping[Any, Any], low: str, high: str, by: Sequence[str] = ()
) -> str:
    """An interval, each end with its mark; see ``quote``."""
    text, ends = span(row[low], row[high]), [decimals(3)(row[name]) for name in (low, high)]
    if text == ABSENT:
        return text
    joint = text[len(ends[0]) : -len(ends[1])]
    return joint.join(
        quote(end, table, row, name, by=by) for end, name in zip(ends, (low, high), strict=True)
    )


def _mark(text: str, cell: CitedCell) -> str:
    return f"{_START}{json.dumps(vars(cell))}{_MIDDLE}{text}{_END}"


class CitedSentence(str):
    """A sentence as it is read, without marks.

    Attributes:
        parts: its texts in their order, each with the cell that it is from, or None.
    """

    parts: tuple[tuple[str, CitedCell | None], ...]

    def __new__(cls, marked: str) -> Self:
        """Take the marks out of a text."""
        made = super().__new__(cls, _MARKED.sub(r"\2", marked))
        made.parts = tuple(_split(marked))
        return made

    @property
    def cells(self) -> list[tuple[str, CitedCell]]:
        """Its numbers with their cells."""
        return [(text, cell) for text, cell in self.parts if cell]

    def after(self, words: str) -> CitedSentence:
        """The same, behind other words."""
        made = CitedSentence(f"{words}{self}")
        made.parts = ((words, None), *self.parts)
        return made


def _split(marked: str) -> Iterator[tuple[str, CitedCell | None]]:
    at = 0
    for match in _MARKED.finditer(marked):
        if match.start() > at:
            yield marked[at : match.start()], None
        yield match.group(2), CitedCell(**json.loads(match.group(1)))
        at = match.end()
    if at < len(marked):
        yield marked[at:], None
