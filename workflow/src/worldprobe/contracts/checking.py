"""Rows against a contract, column by column, on Arrow's own arrays: quick enough for every read of every table."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as arrow
import pyarrow.compute as compute

from worldprobe.contracts.table import KINDS, Column, Table

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
    wanted = contract.columns
    names = schema.names
    for name in names:
        if names.count(name) > 1:
            raise ContractError(f'it has the column "{name}" {names.count(name)} times')
    if missing := [name for name in wanted if name not in names]:
        raise ContractError(f'it lacks the column "{missing[0]}"')
    if surplus := [name for name in names if name not in wanted]:
        raise ContractError(f'it has a column "{surplus[0]}" that does not belong to the table')
    for name in names:
        found, column = schema.field(name).type, wanted[name]
        if not _fits(found, column):
            raise ContractError(f'column "{name}" contains {_in_words(found)} instead of {KINDS[column.kind]}')


def check_rows(table: arrow.Table, contract: type[Table], columns: Sequence[str] | None = None) -> None:
    """Check the values of columns that were read: nothing missing, out of bounds, unknown or infinite; no key twice.

    Args:
        table: the rows; text may be dictionary-encoded.
        contract: what they should be.
        columns: those that were read; None: all.

    Raises:
        ContractError: naming the column and the first value that fails, or the key that is repeated.
    """
    names = list(columns) if columns is not None else list(contract.columns)
    for name in names:
        _check_values(name, table.column(name), contract.columns[name])
    keys = contract.Config.unique
    if keys and set(keys) <= set(names) and len(table):
        codes = table.select(keys).to_pandas(strings_to_categorical=True)
        repeated = codes.duplicated()
        if repeated.any():
            first = codes[repeated].iloc[0]
            key = ", ".join(f"{name} {_quote(first[name])}" for name in keys)
            raise ContractError(f"{int(repeated.sum())} rows are repeated, the first with {key}")


#: Rule of a column -> which values break it (given the distinct values and the rule), and how a message says so.
_RULES: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any], str]]] = {
    "isin": (
        lambda values, known: compute.invert(compute.is_in(values, value_set=arrow.array(known).cast(values.type))),
        lambda known: f"is not one of {', '.join(repr(one) if isinstance(one, str) else f'{one:g}' for one in known)}",
    ),
    "ge": (compute.less, lambda bound: f"is not at least {bound:g}"),
    "gt": (compute.less_equal, lambda bound: f"is not more than {bound:g}"),
    "le": (compute.greater, lambda bound: f"is not at most {bound:g}"),
    "str_startswith": (
        lambda values, start: compute.invert(compute.starts_with(values, start)),
        lambda start: f"does not start with {start!r}",
    ),
    "min_length": (
        lambda values, least: compute.less(compute.utf8_length(values), least),
        lambda least: f"has fewer than {least} characters",
    ),
    "str_matches": (
        # A pattern that ends in $ would accept a newline after it.
        lambda values, form: arrow.array([not v or not re.match(form, v) or v.endswith("\n") for v in values.to_pylist()]),
        lambda form: "does not have the expected form",
    ),
}


def _check_values(name: str, values: arrow.ChunkedArray, column: Column) -> None:
    missing = values.null_count
    if arrow.types.is_floating(values.type):
        is_nan = compute.fill_null(compute.is_nan(values), False)
        missing += compute.sum(is_nan).as_py() or 0
        _refuse(name, values, compute.and_not(compute.is_inf(values), is_nan), "is not a finite number")
    if missing and not column.nullable:
        raise ContractError(f'column "{name}" has no value in {missing} rows')
    if arrow.types.is_null(values.type):
        return
    distinct = values
    if column.kind == "str":
        encoded = values if arrow.types.is_dictionary(values.type) else values.dictionary_encode()
        encoded = encoded.unify_dictionaries()
        distinct = encoded.chunk(0).dictionary if encoded.num_chunks else arrow.array([], arrow.string())
    for rule, (breaks, in_words) in _RULES.items():
        if (value := getattr(column, rule)) is not None:
            wrong = compute.and_(compute.is_valid(distinct), breaks(distinct, value))
            _refuse(name, distinct, wrong, in_words(value))


def _refuse(name: str, values: Any, wrong: Any, problem: str) -> None:
    """Raise for the first value that is wrong, counting the others."""
    wrong = compute.fill_null(wrong, False)
    count = compute.sum(wrong).as_py() or 0
    if count:
        first = values.filter(wrong)[0].as_py()
        more = f" ({count - 1} more like it)" if count > 1 else ""
        raise ContractError(f'column "{name}": {_quote(first)} {problem}{more}')


def _fits(found: arrow.DataType, column: Column) -> bool:
    if arrow.types.is_null(found):
        return column.nullable
    if arrow.types.is_dictionary(found):
        found = found.value_type
    return {
        "str": arrow.types.is_string(found) or arrow.types.is_large_string(found),
        "int": arrow.types.is_int64(found),
        "float": arrow.types.is_float64(found),
        "bool": arrow.types.is_boolean(found),
    }[column.kind]


def _in_words(kind: arrow.DataType) -> str:
    if arrow.types.is_string(kind) or arrow.types.is_large_string(kind) or arrow.types.is_dictionary(kind):
        return "text"
    if arrow.types.is_null(kind):
        return "no values"
    return str(kind)


def _quote(value: Any) -> str:
    text = repr(value) if isinstance(value, str) else f"{value}"
    return text if len(text) <= LONGEST_QUOTED else f"{text[:LONGEST_QUOTED]}..."
