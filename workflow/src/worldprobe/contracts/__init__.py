"""Tables between the stages: one contract each, written and read only through ``write_table`` and
``read_table``.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd
import pyarrow as arrow
import pyarrow.compute as compute
import pyarrow.parquet as parquet

from worldprobe.errors import UserError
from worldprobe.files import whole_file
from worldprobe.provenance import TOO_LITTLE, Provenance, of_rehearsal

#: Types of columns, by the annotation in a contract, and what messages call them.
KINDS = {"str": "text", "int": "whole numbers", "float": "numbers", "bool": "true or false"}


@dataclass(frozen=True, kw_only=True)
class Column:
    """The type of a column and the rules of its values.

    Attributes:
        kind: its type, by the annotation.
        nullable: values may be missing.
        ge: every value is at least this.
        gt: every value is more than this.
        le: every value is at most this.
        isin: the only values.
        str_matches: a regular expression that fits the text from its start.
        str_startswith: what the text starts with.
        min_length: characters that the text has at least, blanks at its ends not counted.
        description: what the values mean, where the name does not say it.
        optional: a file lacks it where no row has a value; it is then read without values.
    """

    kind: str = ""
    nullable: bool = False
    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    isin: Collection[Any] | None = None
    str_matches: str | None = None
    str_startswith: str | None = None
    min_length: int | None = None
    description: str = ""
    optional: bool = False


def column(description: str = "", /, **rules: Any) -> Any:
    """What the values of a column mean, and its rules (see ``Column``), written next to its name
    and type in the body of a contract.
    """
    return Column(description=description, **{"nullable": rules.get("optional", False)} | rules)


@dataclass(frozen=True)
class Config:
    """What a contract says besides its columns: ``class Items(Table, name="items", version=1,
    key=[...])``.

    Attributes:
        name: of the table, in files and messages.
        version: bumped when columns change.
        key: the columns by which rows are sorted.
        unique: those that no two rows have alike; by default the key.
    """

    name: str = ""
    version: int = 1
    key: Sequence[str] = ()
    unique: Sequence[str] = ()


class Table:
    """A contract: strict columns, a unique key, the order of the rows, a version."""

    columns: ClassVar[dict[str, Column]] = {}

    Config: ClassVar[Config] = Config()

    def __init_subclass__(cls, **config: Any) -> None:
        """Collect the columns, inherited ones first; a name without rules is a column that lacks no
        value.
        """
        cls.Config = replace(
            cls.Config, **({"unique": config.get("key", cls.Config.unique)} | config)
        )
        declared = {
            name: kind
            for name, kind in cls.__annotations__.items()
            if not kind.startswith("ClassVar")
        }
        if unknown := [name for name, kind in declared.items() if kind not in KINDS]:
            raise TypeError(f"{cls.__name__}.{unknown[0]} has none of the types {', '.join(KINDS)}")
        new_columns = {
            name: replace(cls.__dict__.get(name, column()), kind=kind)
            for name, kind in declared.items()
        }
        cls.columns = cls.columns | new_columns


#: Values are quoted in messages up to this length: more would be a text, and texts may be
#: protected.
LONGEST_QUOTED = 60


class ContractError(ValueError):
    """Columns or rows that break a contract; the message says which column and the first value."""


def check_columns(schema: arrow.Schema, contract: type[Table]) -> None:
    """Check a file's columns: all of the contract's that are not optional, no others, each once and
    of its type.

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
    if missing := [
        name for name, column in wanted.items() if not column.optional and name not in names
    ]:
        raise ContractError(f'it lacks the column "{missing[0]}"')
    if surplus := [name for name in names if name not in wanted]:
        raise ContractError(f'it has a column "{surplus[0]}" that does not belong to the table')
    for name in names:
        arrow_type, column = schema.field(name).type, wanted[name]
        if not _fits(arrow_type, column):
            raise ContractError(
                f'column "{name}" contains {_in_words(arrow_type)} instead of {KINDS[column.kind]}'
            )


def check_rows(
    table: arrow.Table, contract: type[Table], columns: Sequence[str] | None = None
) -> None:
    """Check the values of columns that were read: nothing missing, out of bounds, unknown or
    infinite; no key twice.

    Args:
        table: the rows; text may be dictionary-encoded.
        contract: what they should be.
        columns: those that were read; None: all.

    Raises:
        ContractError: naming the column and the first value that fails, or the key that is
            repeated.
    """
    wanted = contract.columns if columns is None else columns
    names = [name for name in wanted if name in table.column_names]
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


#: Rule of a column -> which values break it (given the distinct values and the rule), and how a
#: message says so.
_RULES: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any], str]]] = {
    "isin": (
        lambda values, allowed: compute.invert(
            compute.is_in(values, value_set=arrow.array(list(allowed)).cast(values.type))
        ),
        lambda allowed: (
            "is not one of"
            f" {', '.join(repr(v) if isinstance(v, str) else f'{v:g}' for v in allowed)}"
        ),
    ),
    "ge": (compute.less, lambda bound: f"is not at least {bound:g}"),
    "gt": (compute.less_equal, lambda bound: f"is not more than {bound:g}"),
    "le": (compute.greater, lambda bound: f"is not at most {bound:g}"),
    "str_startswith": (
        lambda values, start: compute.invert(compute.starts_with(values, start)),
        lambda start: f"does not start with {start!r}",
    ),
    "min_length": (
        lambda values, least: compute.less(
            compute.utf8_length(compute.utf8_trim_whitespace(values)), least
        ),
        lambda least: f"has fewer than {least} characters that are no blanks",
    ),
    "str_matches": (
        # A pattern that ends in $ would accept a newline after it.
        lambda values, form: arrow.array(
            [not v or not re.match(form, v) or v.endswith("\n") for v in values.to_pylist()],
            arrow.bool_(),
        ),
        lambda form: "does not have the expected form",
    ),
}


def _check_values(name: str, values: arrow.ChunkedArray, column: Column) -> None:
    missing = values.null_count
    if arrow.types.is_floating(values.type):
        is_nan = compute.fill_null(compute.is_nan(values), False)
        missing += compute.sum(is_nan).as_py() or 0
        _refuse(
            name, values, compute.and_not(compute.is_inf(values), is_nan), "is not a finite number"
        )
    if missing and not column.nullable:
        raise ContractError(f'column "{name}" has no value in {missing} rows')
    if arrow.types.is_null(values.type):
        return
    distinct = values
    if column.kind == "str":
        encoded = values if arrow.types.is_dictionary(values.type) else values.dictionary_encode()
        encoded = encoded.unify_dictionaries()
        distinct = (
            encoded.chunk(0).dictionary if encoded.num_chunks else arrow.array([], arrow.string())
        )
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
        others = f" ({count - 1} more like it)" if count > 1 else ""
        raise ContractError(f'column "{name}": {_quote(first)} {problem}{others}')


def _fits(arrow_type: arrow.DataType, column: Column) -> bool:
    if arrow.types.is_null(arrow_type):
        return column.nullable
    if arrow.types.is_dictionary(arrow_type):
        arrow_type = arrow_type.value_type
    return {
        "str": arrow.types.is_string(arrow_type) or arrow.types.is_large_string(arrow_type),
        "int": arrow.types.is_int64(arrow_type),
        "float": arrow.types.is_float64(arrow_type),
        "bool": arrow.types.is_boolean(arrow_type),
    }[column.kind]


def _in_words(kind: arrow.DataType) -> str:
    if (
        arrow.types.is_string(kind)
        or arrow.types.is_large_string(kind)
        or arrow.types.is_dictionary(kind)
    ):
        return "text"
    if arrow.types.is_null(kind):
        return "no values"
    return str(kind)


def _quote(value: Any) -> str:
    text = repr(value) if isinstance(value, str) else f"{value}"
    return text if len(text) <= LONGEST_QUOTED else f"{text[:LONGEST_QUOTED]}..."


#: Rows that are written, compressed and checked together.
ROWS_TOGETHER = 2**16
#: Types of columns that have no value, by kind; text keeps Arrow's own, as in all tables that were
#: written before.
_EMPTY = {"int": arrow.int64(), "float": arrow.float64(), "bool": arrow.bool_()}


def typed(rows: Sequence[Any], contract: type[Table]) -> pd.DataFrame:
    """Rows as a table whose columns have the contract's types, also where there is no row."""
    kinds = {name: column.kind for name, column in contract.columns.items()}
    return pd.DataFrame(rows, columns=list(kinds)).astype(kinds)


def validate(frame: pd.DataFrame, contract: type[Table]) -> pd.DataFrame:
    """The rows in the contract's column order, sorted by its key.

    Raises:
        ContractError: the stage has a bug: its rows break the contract.
    """
    return _check(frame, contract)[0]


def _check(frame: pd.DataFrame, contract: type[Table]) -> tuple[pd.DataFrame, arrow.Table]:
    """The rows in order, as pandas and as Arrow have them."""
    if missing := [
        name
        for name, column in contract.columns.items()
        if not column.optional and name not in frame
    ]:
        raise ContractError(f'{contract.Config.name} lacks the column "{missing[0]}"')
    unused = [
        n
        for n, column in contract.columns.items()
        if column.optional and n in frame and frame[n].isna().all()
    ]
    frame = frame.drop(columns=unused)
    declared = [name for name in contract.columns if name in frame]
    ordered = frame[declared + [name for name in frame if name not in contract.columns]]
    ordered = ordered.sort_values(contract.Config.key, kind="stable").reset_index(drop=True)
    try:
        table = arrow.Table.from_pandas(ordered, preserve_index=False)
        for position, field in enumerate(table.schema):
            column = contract.columns.get(field.name)
            if (
                arrow.types.is_null(field.type)
                and column
                and column.nullable
                and column.kind in _EMPTY
            ):
                typed = field.with_type(_EMPTY[column.kind])
                table = table.set_column(position, typed, table.column(position).cast(typed.type))
        if coded := [field.name for field in table.schema if arrow.types.is_dictionary(field.type)]:
            raise ContractError(f'column "{coded[0]}" contains categories instead of text')
        check_columns(table.schema, contract)
        check_rows(table, contract)
    except (arrow.ArrowException, ContractError) as error:
        raise ContractError(f"{contract.Config.name}: {error}") from error
    return ordered, table


def write_table(
    frame: pd.DataFrame, contract: type[Table], path: Path | str, provenance: Provenance
) -> None:
    """Validate, sort and write a table as one whole Parquet file with its provenance inside.

    Raises:
        ContractError: the rows break the contract.
        UserError: the file cannot be written.
    """
    table = _to_arrow(frame, contract, _marked(provenance, path))
    with whole_file(path) as temporary:
        _write_parquet(table, temporary)


def _marked(provenance: Provenance, path: Path | str) -> Provenance:
    """The provenance of a table at a place, which says so where that is a rehearsal's."""
    return replace(provenance, details={**provenance.details, **of_rehearsal([path])})


def digest_table(frame: pd.DataFrame, contract: type[Table], provenance: Provenance) -> str:
    """SHA-256 of the file that ``write_table`` writes of these rows, without writing it."""
    stream = io.BytesIO()
    _write_parquet(_to_arrow(frame, contract, provenance), stream)
    return hashlib.sha256(stream.getvalue()).hexdigest()


def _to_arrow(frame: pd.DataFrame, contract: type[Table], provenance: Provenance) -> arrow.Table:
    return _check(frame, contract)[1].replace_schema_metadata(_metadata(contract, provenance))


def _metadata(contract: type[Table], provenance: Provenance) -> dict[bytes, bytes]:
    return {
        b"worldprobe.table": contract.Config.name.encode(),
        b"worldprobe.schema_version": str(contract.Config.version).encode(),
        b"worldprobe.provenance": provenance.to_json().encode(),
    }


def _write_parquet(table: arrow.Table, where: Path | io.BytesIO) -> None:
    parquet.write_table(
        table, where, row_group_size=ROWS_TOGETHER, compression="zstd", write_page_checksum=True
    )


@contextmanager
def open_table(
    contract: type[Table], place: Path, provenance: Provenance
) -> Iterator[Callable[[pd.DataFrame], None]]:
    """Write a table piece by piece: the same bytes as ``write_table`` if each piece but the last
    has ``ROWS_TOGETHER`` rows.

    Args:
        contract: the table; its key is checked within each piece only.
        place: the file, from ``whole_file``.
        provenance: what made it.

    Yields:
        A function that validates and writes the next rows, which follow the earlier ones in the
        order of the key.
    """
    provenance = _marked(provenance, place)
    with ExitStack() as opened:
        writers: list[parquet.ParquetWriter] = []

        def write(frame: pd.DataFrame) -> None:
            table = _to_arrow(frame, contract, provenance)
            if not writers:
                options = {"compression": "zstd", "write_page_checksum": True}
                writers.append(
                    opened.enter_context(parquet.ParquetWriter(place, table.schema, **options))
                )
            writers[0].write_table(table, row_group_size=ROWS_TOGETHER)

        yield write


def read_table(
    path: Path | str,
    contract: type[Table],
    columns: Sequence[str] | None = None,
    allow_empty: bool = False,
) -> pd.DataFrame:
    """Read a table of ours, checked against its contract.

    Args:
        path: the file.
        contract: the table that it should contain.
        columns: read these only; they are checked all the same.
        allow_empty: accept a table without rows.

    Raises:
        UserError: no such file, not a table of ours, another table or schema version, damaged,
            without rows and no reason for that, or a column or value that breaks the contract.
    """
    table = _read(path, contract, columns, allow_empty)
    return _to_pandas(table, contract)


def read_tables(
    paths: Sequence[Path | str],
    contract: type[Table],
    columns: Sequence[str] | None = None,
    allow_empty: bool = False,
) -> pd.DataFrame:
    """Read many tables of one kind as one frame; text columns come as categoricals, so a million
    rows stay small.

    Args:
        paths: the files.
        contract: the table that each of them should contain.
        columns: read these only; they are checked all the same.
        allow_empty: accept tables without rows.

    Raises:
        UserError: as ``read_table``, or no file is given.
    """
    if not paths:
        raise UserError(contract.Config.name, "no table is given.", "Name at least one file.")
    names = list(columns) if columns else list(contract.columns)
    parts = [_read(path, contract, names, allow_empty, as_codes=True) for path in paths]
    schemas = {part.schema.remove_metadata() for part in parts}
    if len(schemas) > 1:  # string in one file and large_string in another, or no value at all
        shared = arrow.schema([_known_field(name, parts) for name in names])
        parts = [part.cast(shared) for part in parts]
    table = arrow.concat_tables(parts).unify_dictionaries().combine_chunks()
    return _to_pandas(table, contract)


def _known_field(name: str, parts: Sequence[arrow.Table]) -> arrow.Field:
    """A column as the first table has it that has a value there: a cast to the type without values
    would drop the others'.
    """
    fields = [part.schema.field(name) for part in parts]
    return next((field for field in fields if not arrow.types.is_null(field.type)), fields[0])


def _to_pandas(table: arrow.Table, contract: type[Table]) -> pd.DataFrame:
    """Whole numbers that may be missing stay whole numbers; left to itself, arrow makes them floats
    where one is missing.
    """
    frame: pd.DataFrame = table.to_pandas()
    for name, column in contract.columns.items():
        if name in frame and column.kind == "int" and column.nullable:
            frame[name] = table[name].to_pandas(types_mapper={arrow.int64(): pd.Int64Dtype()}.get)
    return frame


def _read(
    path: Path | str,
    contract: type[Table],
    columns: Sequence[str] | None,
    allow_empty: bool,
    as_codes: bool = False,
) -> arrow.Table:
    """The checked rows; ``as_codes`` keeps text as a dictionary and codes, which spares a million
    strings.
    """
    check_kind(path, contract)
    try:
        with parquet.ParquetFile(path) as file:
            schema, n_rows = file.schema_arrow, file.metadata.num_rows
        if not (n_rows or allow_empty or TOO_LITTLE in read_provenance(path).details):
            raise UserError(
                path,
                f"contains no rows of {contract.Config.name}.",
                "Check the step that wrote it, and run it again.",
            )
        check_columns(schema, contract)
        text = (
            [
                f.name
                for f in schema
                if arrow.types.is_string(f.type) or arrow.types.is_large_string(f.type)
            ]
            if as_codes
            else []
        )
        with parquet.ParquetFile(
            path, read_dictionary=text, page_checksum_verification=True
        ) as file:
            # The key is read with whatever is asked for: rows that are repeated count twice in any
            # column.
            names = (
                None
                if columns is None
                else list(dict.fromkeys([*columns, *contract.Config.unique]))
            )
            table = file.read(columns=names)
        table.validate(full=True)
        check_rows(table, contract, names)
    except ContractError as error:
        raise UserError(
            path,
            f"does not fit the contract of {contract.Config.name}: {error}.",
            "Make the file again with this worldprobe.",
        ) from error
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise UserError(  # the library's own words may quote bytes of the file
            path,
            "is damaged: its pages cannot be read or do not match their checksums.",
            "Delete it and make it again.",
        ) from error
    for name, column in contract.columns.items():
        if column.optional and name not in table.column_names:
            table = table.append_column(
                name, arrow.nulls(len(table), _EMPTY.get(column.kind, arrow.large_string()))
            )
    return table.select(list(columns or contract.columns))


def check_kind(path: Path | str, contract: type[Table]) -> None:
    """Raise UserError unless the file is this contract's table in this version; reads the footer
    only.
    """
    metadata = _footer(path)
    name, version = contract.Config.name, contract.Config.version
    stated = metadata.get(b"worldprobe.table", b"").decode(errors="replace")
    if stated != name:
        raise UserError(
            path,
            f"contains {stated or 'no table of worldprobe'}, not {name}.",
            f"Give a file with the {name} table here.",
        )
    found_version = metadata.get(b"worldprobe.schema_version", b"?").decode(errors="replace")
    if found_version != str(version):
        raise UserError(
            path,
            f"is version {found_version} of the {name} table; this worldprobe reads version"
            f" {version}.",
            "Make the file again with this worldprobe, or use the worldprobe that wrote it.",
        )
    read_provenance(path)


def fits(path: Path | str, contract: type[Table]) -> bool:
    """Whether a file is this contract's table with its columns: two contracts can share a name."""
    try:
        check_kind(path, contract)
        check_columns(parquet.read_schema(path), contract)
    except (UserError, ContractError):
        return False
    return True


def read_provenance(path: Path | str) -> Provenance:
    """Provenance of a table of ours.

    Raises:
        UserError: not a table of ours, or one whose provenance this version of worldprobe cannot
            read.
    """
    text = _footer(path).get(b"worldprobe.provenance")
    if text is None:
        raise UserError(
            path,
            "has no provenance, so it is not a table of worldprobe.",
            "Give a table that worldprobe wrote.",
        )
    try:
        return Provenance.from_json(text.decode())
    except ValueError as error:
        fix = "Make the file again with this worldprobe, or use the worldprobe that wrote it."
        raise UserError(path, f"its provenance {error}.", fix) from error


def table_name(path: Path | str) -> str:
    """The name of a file's table, e.g. ``items``; empty where the file is not a table of ours.

    Raises:
        UserError: no such file, or not a readable Parquet file.
    """
    return _footer(path).get(b"worldprobe.table", b"").decode(errors="replace")


def _footer(path: Path | str) -> dict[bytes, bytes]:
    file = Path(path)
    try:
        if file.is_dir():
            raise UserError(path, "is a folder, not a table.", "Give the path of a .parquet file.")
        return parquet.read_schema(path).metadata or {}
    except FileNotFoundError as error:
        raise UserError(
            path, "there is no such file.", "Check the path, or run the stage that makes it."
        ) from error
    except PermissionError as error:
        raise UserError(
            path, "cannot be read: permission denied.", "Ask its owner for permission to read it."
        ) from error
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise UserError(
            path,
            "is not a readable Parquet file.",
            "If worldprobe wrote it, delete it and make it again; it may be cut short.",
        ) from error
