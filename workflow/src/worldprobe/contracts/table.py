"""What every table between the stages has in common, and how its columns are declared."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, ClassVar

#: Types of columns, by the annotation in a contract, and what messages call them.
KINDS = {"str": "text", "int": "whole numbers", "float": "numbers", "bool": "true or false"}


@dataclass(frozen=True)
class Column:
    """What a column may contain."""

    kind: str
    nullable: bool
    ge: float | None
    gt: float | None
    le: float | None
    isin: tuple[Any, ...] | None
    str_matches: str | None
    str_startswith: str | None
    min_length: int
    description: str


def column(
    *,
    nullable: bool = False,
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
    isin: Collection[Any] | None = None,
    str_matches: str | None = None,
    str_startswith: str | None = None,
    min_length: int = 0,
    description: str = "",
) -> Any:
    """The rules of a column, written next to its name and type in the body of a contract.

    Args:
        nullable: values may be missing.
        ge: every value is at least this.
        gt: every value is more than this.
        le: every value is at most this.
        isin: the only values.
        str_matches: a regular expression that fits the text from its start.
        str_startswith: what the text starts with.
        min_length: characters that the text has at least.
        description: what the values mean, where the name does not say it.
    """
    values = None if isin is None else tuple(isin)
    return Column("", nullable, ge, gt, le, values, str_matches, str_startswith, min_length, description)


class Table:
    """A contract: strict columns, a unique key, the order of the rows, a version bumped when columns change."""

    columns: ClassVar[dict[str, Column]] = {}

    class Config:
        name = ""
        unique: ClassVar[list[str]] = []
        metadata: ClassVar[dict[str, Any]] = {}  # version, and the key by which rows are sorted

    def __init_subclass__(cls) -> None:
        """Collect the columns, inherited ones first; a name without rules is a column that lacks no value."""
        declared = {name: kind for name, kind in cls.__annotations__.items() if not kind.startswith("ClassVar")}
        if unknown := [name for name, kind in declared.items() if kind not in KINDS]:
            raise TypeError(f"{cls.__name__}.{unknown[0]} has none of the types {', '.join(KINDS)}")
        own = {name: replace(cls.__dict__.get(name, column()), kind=kind) for name, kind in declared.items()}
        cls.columns = cls.columns | own
