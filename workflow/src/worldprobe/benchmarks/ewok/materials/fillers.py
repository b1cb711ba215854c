"""The fillers of slots: classes of them, and which meet a slot's restrictions."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from worldprobe.benchmarks.ewok.materials.documents import MaterialsLine, Problems
from worldprobe.benchmarks.ewok.materials.original_quirks import Rules
from worldprobe.benchmarks.ewok.materials.slots import UNSEEN, Key
from worldprobe.benchmarks.ewok.vocabulary import slot_class
from worldprobe.commented_csv import check_separator, read_rows, without_empty_columns
from worldprobe.errors import UserError, did_you_mean

if TYPE_CHECKING:
    import pandas as pd

#: The filler that the original reserves for the restriction is_magnet=true.
MAGNET = "the magnet"
_MAGNET_KEY = ":is_magnet=true"
#: No part of a sentence: what nobody sees, and the brackets of slots.
_ODD = re.compile(rf"[{UNSEEN}{{}}\[\];\t]")
#: What sums up the rows above it.
_TOTALS = {"average", "count", "mean", "n", "sum", "total"}


@dataclass(frozen=True)
class Filler:
    """One row: the text that is filled in, and its other columns."""

    text: str
    columns: dict[str, str]

    def meets(self, restrictions: Sequence[str]) -> bool:
        """Whether every ``column=value`` is met.

        >>> Filler("the crate", {"large": "true"}).meets(["large=true"])
        True
        """
        return all(
            self.columns.get(column) == value
            for column, _, value in (r.partition("=") for r in restrictions)
        )


@dataclass(frozen=True)
class FillerClass:
    """A class of fillers in file order."""

    name: str
    columns: tuple[str, ...]
    fillers: tuple[Filler, ...]
    place: MaterialsLine = field(compare=False)


@dataclass(frozen=True)
class FillersOfTemplates:
    """The fillers of templates. They take the place of ``Materials`` where nothing else of these is
    needed.

    Attributes:
        fillers: by class.
        rules: which behaviours of the original are kept.
        problems: what is wrong so far.
    """

    fillers: dict[str, FillerClass]
    rules: Rules
    problems: Problems


def fillers_table(classes: Mapping[str, FillerClass]) -> pd.DataFrame:
    """Classes of fillers as a table (``contracts.FillerRows``)."""
    import pandas as pd

    rows = [
        (name, filler.text, json.dumps(filler.columns, ensure_ascii=False))
        for name, filler_class in classes.items()
        for filler in filler_class.fillers
    ]
    table = pd.DataFrame(rows, columns=["filler_class", "text", "restrictions"])
    return table.assign(number=range(1, len(table) + 1))


def classes_in(table: pd.DataFrame) -> dict[str, FillerClass]:
    """The classes of fillers in a table (``contracts.FillerRows``)."""
    classes = {}
    for name, rows in table.groupby("filler_class", sort=False):
        texts = zip(rows["text"], rows["restrictions"], strict=True)
        fillers = tuple(Filler(str(text), json.loads(columns)) for text, columns in texts)
        line = MaterialsLine(f"fillers/filler-{name}.csv")
        classes[str(name)] = FillerClass(str(name), tuple(fillers[0].columns), fillers, line)
    return classes


def values_of(classes: Mapping[str, FillerClass]) -> dict[str, dict[str, set[str]]]:
    """Class -> what its fillers can be restricted by -> the values that occur."""
    return {
        name: {
            column: {filler.columns[column] for filler in filler_class.fillers}
            for column in filler_class.columns
        }
        for name, filler_class in classes.items()
    }


def read_filler_class(
    file: str, name: str, content: bytes, problems: Problems, rules: Rules
) -> FillerClass:
    """Read one ``filler-<class>.csv``: a header with ``item`` and any restriction columns, then a
    row per filler.
    """
    try:
        rows = without_empty_columns(list(read_rows(file, content)) or [(1, [])])
        check_separator(f"{file}, line {rows[0][0]}", rows[0][1])
    except UserError as error:
        problems.add(error)
        return FillerClass(name, (), (), MaterialsLine(file))
    line, header = rows[0]
    if "item" not in header or len(set(header)) < len(header):
        problems.error(
            MaterialsLine(file, line),
            'the header has no column "item", or a column twice.',
            'Name the columns; "item" contains the text.',
        )
        return FillerClass(name, (), (), MaterialsLine(file))
    fillers: dict[str, tuple[int, Filler]] = {}
    ordered = []
    for line, row in rows[1:]:
        place = MaterialsLine(file, line)
        if len(row) != len(header):
            problems.error(
                place,
                f"has {len(row)} cells, the header {len(header)}.",
                "Give every column a value; quote text with commas.",
            )
            continue
        cells = dict(zip(header, row, strict=True))
        filler = Filler(cells.pop("item"), cells)
        empty = [column for column, value in zip(header, row, strict=True) if not value.strip()]
        if empty:
            problems.error(
                place,
                f'column "{empty[0]}" is empty.',
                "Fill it; restrictions require exact values such as true or false.",
            )
            continue
        if filler.text.casefold() in {"item", *_TOTALS}:
            what = "a header" if filler.text.casefold() == "item" else "a total"
            problems.refuse(place, f'"{filler.text}" is {what}, no filler.', "Remove the line.")
        odd = _ODD.search(",".join(row))
        if odd or any(cell != cell.strip() for cell in row):
            what = (
                f'the character "{odd[0].encode("unicode_escape").decode()}"'
                if odd
                else "a space at the start or end of a cell"
            )
            problems.refuse(
                place, f"contains {what}, which would be part of a sentence.", "Remove it."
            )
        if filler.text in fillers:
            line, first = fillers[filler.text]
            complain = problems.warn if first == filler else problems.refuse
            complain(place, f"the same item is already in line {line}.", "Keep one of the two.")
            if not rules.repeated_fillers:
                continue
        fillers.setdefault(filler.text, (place.line, filler))
        ordered.append(filler)
    if not ordered:
        problems.error(MaterialsLine(file), "contains no filler.", "Add rows below the header.")
    return FillerClass(
        name, tuple(c for c in header if c != "item"), tuple(ordered), MaterialsLine(file)
    )


@lru_cache(maxsize=256)
def _order(count: int) -> tuple[int, ...]:
    import numpy as np

    order = list(range(count))
    np.random.default_rng(42).shuffle(order)
    return tuple(order)


class Fillers:
    """The fillers that fit a slot key, in the one order that all keys of a class share."""

    def __init__(self, classes: dict[str, FillerClass], rules: Rules) -> None:
        self.classes, self.rules = classes, rules
        self._shuffled: dict[str, list[Filler]] = {}
        self._columns: dict[str, dict[str, dict[str, str]]] = {}
        self._options: dict[tuple[str, tuple[str, ...]], list[Filler]] = {}

    def shuffled(self, name: str) -> list[Filler]:
        """All fillers of a class, shuffled once with seed 42.

        Raises:
            UserError: there is no such class.
        """
        if name not in self._shuffled:
            if name not in self.classes:
                hint = did_you_mean(
                    name, self.classes, f"; there are {', '.join(sorted(self.classes))}."
                )
                raise UserError(
                    "fillers",
                    f'there is no filler class "{name}"{hint}',
                    "Give the materials that the templates come from.",
                )
            fillers = self.classes[name].fillers
            self._shuffled[name] = [fillers[i] for i in _order(len(fillers))]
        return self._shuffled[name]

    def options(self, key: str) -> list[Filler]:
        """The fillers that meet all restrictions of a key, in shuffled order."""
        key = key if isinstance(key, Key) else Key(key)
        return self.meeting(key.filler_class, key.restrictions, is_magnet=self.is_magnet(key))

    def meeting(
        self, name: str, restrictions: Sequence[str], is_magnet: bool = False
    ) -> list[Filler]:
        """The fillers of a class that meet restrictions, in shuffled order."""
        asked = (name, (*restrictions, *([MAGNET] if is_magnet else [])))
        if asked not in self._options:
            fillers = self.shuffled(name)
            self._options[asked] = [
                f for f in fillers if (f.text == MAGNET if is_magnet else f.meets(restrictions))
            ]
        return self._options[asked]

    def columns(self, key: str, text: str) -> Mapping[str, str]:
        """The columns of a slot's filler besides its text."""
        name = slot_class(key)
        if name not in self._columns:
            self._columns[name] = {f.text: f.columns for f in self.classes[name].fillers}
        return self._columns[name][text]

    def is_magnet(self, key: str) -> bool:
        """Whether the original gives this key its one magnet, whatever else the key says."""
        return self.rules.one_magnet and key.endswith(_MAGNET_KEY)
