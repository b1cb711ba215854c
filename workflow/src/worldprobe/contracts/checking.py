"""Rows against a contract, column by column, on Arrow's own arrays: quick enough for every read of every table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pandera.pandas as pa
import pyarrow as arrow
import pyarrow.compute as compute

from worldprobe.contracts.table import Table

#: Values are quoted in messages up to this length: more would be a text, and texts may be protected.
LONGEST_QUOTED = 60


class ContractError(ValueError):
    """Columns or rows that break a contract; the message says which column and the first value."""


def check_columns(schema: arrow.Schema, contract: type[Table]) -> None:
    """Check a file's columns: all of the contract's, no others, each once and of its type.

    Args:
        schema: the file's columns.
        contract: what they should be.

    Raises:
        ContractError: a column is missing, unknown, repeated or of another type.
    """
    wanted = contract.to_schema().columns
    names = schema.names
    for name in names:
        if names.count(name) > 1:
            raise ContractError(f'it has the column "{name}" {names.count(name)} times')
    if missing := [name for name in wanted if name not in names]:
        raise ContractError(f'it lacks the column "{missing[0]}"')
    if surplus := [name for name in names if name not in wanted]:
        raise ContractError(f'it has a column "{surplus[0]}" that does not belong to the table')
    for name in names:
        kind = schema.field(name).type
        dtype = "text" if str(wanted[name].dtype).startswith(("str", "object")) else str(wanted[name].dtype)
        if not _fits(kind, dtype, bool(wanted[name].nullable)):
            raise ContractError(f'column "{name}" contains {_in_words(kind)} instead of {_WORDS.get(dtype, dtype)}')


def check_rows(table: arrow.Table, contract: type[Table], columns: Sequence[str] | None = None) -> None:
    """Check the values of columns that were read: nothing missing, out of bounds, unknown or infinite; no key twice.

    Args:
        table: the rows; text may be dictionary-encoded.
        contract: what they should be.
        columns: those that were read; None: all.

    Raises:
        ContractError: naming the column and the first value that fails, or the key that is repeated.
    """
    schema = contract.to_schema()
    names = list(columns) if columns is not None else list(schema.columns)
    for name in names:
        _check_values(name, table.column(name), schema.columns[name])
    keys = list(schema.unique or [])
    if keys and set(keys) <= set(names) and len(table):
        codes = table.select(keys).to_pandas(strings_to_categorical=True)
        repeated = codes.duplicated()
        if repeated.any():
            first = codes[repeated].iloc[0]
            key = ", ".join(f"{name} {_quote(first[name])}" for name in keys)
            raise ContractError(f"{int(repeated.sum())} rows are repeated, the first with {key}")


def _check_values(name: str, values: arrow.ChunkedArray, column: pa.Column) -> None:
    if values.null_count and not column.nullable:
        raise ContractError(f'column "{name}" has no value in {values.null_count} rows')
    distinct = values
    if arrow.types.is_dictionary(values.type) or arrow.types.is_string(values.type) or arrow.types.is_large_string(values.type):
        encoded = values if arrow.types.is_dictionary(values.type) else values.dictionary_encode()
        encoded = encoded.unify_dictionaries()
        distinct = encoded.chunk(0).dictionary if encoded.num_chunks else arrow.array([], arrow.string())
    elif arrow.types.is_floating(values.type):
        infinite = compute.and_(compute.is_valid(values), compute.invert(compute.is_finite(values)))
        infinite = compute.and_(infinite, compute.invert(compute.fill_null(compute.is_nan(values), False)))
        _refuse(name, values, infinite, "is not a finite number")
    for check in column.checks:
        _apply(check, name, distinct)


def _apply(check: pa.Check, name: str, values: Any) -> None:
    """One check of a contract, over distinct values where they are text."""
    facts = check.statistics or {}
    if check.name == "isin":
        allowed = list(facts["allowed_values"])
        known = compute.is_in(values, value_set=arrow.array(allowed).cast(values.type))
        shown = ", ".join(repr(one) if isinstance(one, str) else f"{one:g}" for one in allowed)
        _refuse(name, values, compute.and_(compute.is_valid(values), compute.invert(known)), f"is not one of {shown}")
    elif check.name == "str_matches":
        pattern = re.compile(facts["pattern"].pattern if hasattr(facts["pattern"], "pattern") else str(facts["pattern"]))
        for value in values.to_pylist():
            # A pattern that ends in $ would accept a newline after it.
            if value is not None and (pattern.match(value) is None or value.endswith("\n")):
                raise ContractError(f'column "{name}": {_quote(value)} does not have the expected form')
    elif check.name in _BOUNDS:
        fact, breaks, words = _BOUNDS[check.name]
        bound = facts[fact]
        _refuse(name, values, breaks(values, arrow.scalar(bound)), f"is not {words} {bound:g}")


_BOUNDS = {
    "greater_than_or_equal_to": ("min_value", compute.less, "at least"),
    "greater_than": ("min_value", compute.less_equal, "more than"),
    "less_than_or_equal_to": ("max_value", compute.greater, "at most"),
    "less_than": ("max_value", compute.greater_equal, "less than"),
}


def _refuse(name: str, values: Any, wrong: Any, problem: str) -> None:
    """Raise for the first value that is wrong, counting the others."""
    wrong = compute.fill_null(wrong, False)
    count = compute.sum(wrong).as_py() or 0
    if count:
        first = values.filter(wrong)[0].as_py()
        more = f" ({count - 1} more like it)" if count > 1 else ""
        raise ContractError(f'column "{name}": {_quote(first)} {problem}{more}')


_WORDS = {"int64": "whole numbers", "float64": "numbers", "bool": "true or false"}


def _fits(kind: arrow.DataType, wanted: str, is_nullable: bool) -> bool:
    if arrow.types.is_null(kind):
        return is_nullable
    if arrow.types.is_dictionary(kind):
        kind = kind.value_type
    return {
        "text": arrow.types.is_string(kind) or arrow.types.is_large_string(kind),
        "int64": arrow.types.is_int64(kind),
        "float64": arrow.types.is_float64(kind),
        "bool": arrow.types.is_boolean(kind),
    }.get(wanted, True)


def _in_words(kind: arrow.DataType) -> str:
    if arrow.types.is_string(kind) or arrow.types.is_large_string(kind) or arrow.types.is_dictionary(kind):
        return "text"
    if arrow.types.is_null(kind):
        return "no values"
    return str(kind)


def _quote(value: Any) -> str:
    text = repr(value) if isinstance(value, str) else f"{value}"
    return text if len(text) <= LONGEST_QUOTED else f"{text[:LONGEST_QUOTED]}..."
