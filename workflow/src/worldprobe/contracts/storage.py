"""Tables as Parquet files: whole, sorted, validated, with a checksum per page and what made them inside."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pandas as pd
import pyarrow as arrow
import pyarrow.parquet as parquet

from worldprobe.contracts.checking import ContractError, check_columns, check_rows
from worldprobe.contracts.table import Table
from worldprobe.errors import UserError
from worldprobe.files import whole_file
from worldprobe.provenance import Provenance

#: Rows that are written, compressed and checked together.
ROWS_TOGETHER = 2**16
#: Types of columns that have no value, by kind; text keeps Arrow's own, as in all tables that were written before.
_EMPTY = {"int": arrow.int64(), "float": arrow.float64(), "bool": arrow.bool_()}


def validate(frame: pd.DataFrame, contract: type[Table]) -> pd.DataFrame:
    """The rows in the contract's column order, sorted by its key.

    Raises:
        ContractError: the stage has a bug: its rows break the contract.
    """
    return _check(frame, contract)[0]


def _check(frame: pd.DataFrame, contract: type[Table]) -> tuple[pd.DataFrame, arrow.Table]:
    """The rows in order, as pandas and as Arrow have them."""
    if missing := [name for name in contract.columns if name not in frame]:
        raise ContractError(f'{contract.Config.name} lacks the column "{missing[0]}"')
    known = list(contract.columns)
    ordered = frame[known + [name for name in frame if name not in contract.columns]]
    ordered = ordered.sort_values(contract.Config.metadata["key"], kind="stable").reset_index(drop=True)
    try:
        table = arrow.Table.from_pandas(ordered, preserve_index=False)
        for place, field in enumerate(table.schema):
            column = contract.columns.get(field.name)
            if arrow.types.is_null(field.type) and column and column.nullable and column.kind in _EMPTY:
                typed = field.with_type(_EMPTY[column.kind])
                table = table.set_column(place, typed, table.column(place).cast(typed.type))
        if coded := [field.name for field in table.schema if arrow.types.is_dictionary(field.type)]:
            raise ContractError(f'column "{coded[0]}" contains categories instead of text')
        check_columns(table.schema, contract)
        check_rows(table, contract)
    except (arrow.ArrowException, ContractError) as error:
        raise ContractError(f"{contract.Config.name}: {error}") from error
    return ordered, table


def write_table(frame: pd.DataFrame, contract: type[Table], path: Path | str, provenance: Provenance) -> None:
    """Validate, sort and write a table as one whole Parquet file with its provenance inside.

    Raises:
        ContractError: the rows break the contract.
        UserError: the file cannot be written.
    """
    table = _to_arrow(frame, contract, provenance)
    with whole_file(path) as temporary:
        _write_parquet(table, temporary)


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
        b"worldprobe.schema_version": str(contract.Config.metadata["version"]).encode(),
        b"worldprobe.provenance": provenance.to_json().encode(),
    }


def _write_parquet(table: arrow.Table, where: Path | io.BytesIO) -> None:
    parquet.write_table(table, where, row_group_size=ROWS_TOGETHER, compression="zstd", write_page_checksum=True)


@contextmanager
def open_table(contract: type[Table], place: Path, provenance: Provenance) -> Iterator[Callable[[pd.DataFrame], None]]:
    """Write a table piece by piece: the same bytes as ``write_table`` if each piece but the last has ``ROWS_TOGETHER`` rows.

    Args:
        contract: the table; its key is checked within each piece only.
        place: the file, from ``whole_file``.
        provenance: what made it.

    Yields:
        A function that validates and writes the next rows, which follow the earlier ones in the order of the key.
    """
    with ExitStack() as opened:
        writers: list[parquet.ParquetWriter] = []

        def write(frame: pd.DataFrame) -> None:
            table = _to_arrow(frame, contract, provenance)
            if not writers:
                options = {"compression": "zstd", "write_page_checksum": True}
                writers.append(opened.enter_context(parquet.ParquetWriter(place, table.schema, **options)))
            writers[0].write_table(table, row_group_size=ROWS_TOGETHER)

        yield write


def read_table(
    path: Path | str, contract: type[Table], columns: Sequence[str] | None = None, allow_empty: bool = False
) -> pd.DataFrame:
    """Read a table of ours, checked against its contract.

    Args:
        path: the file.
        contract: the table that it should contain.
        columns: read these only; they are checked all the same.
        allow_empty: accept a table without rows.

    Raises:
        UserError: no such file, not a table of ours, another table or schema version, damaged, without rows, or a column or
            value that breaks the contract.
    """
    table = _read(path, contract, columns, allow_empty)
    return _to_pandas(table, contract)


def read_tables(
    paths: Sequence[Path | str], contract: type[Table], columns: Sequence[str] | None = None, allow_empty: bool = False
) -> pd.DataFrame:
    """Read many tables of one kind as one frame; text columns come as categoricals, so a million rows stay small.

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
    """A column as the first table has it that has a value there: a cast to the type without values would drop the others'."""
    fields = [part.schema.field(name) for part in parts]
    return next((field for field in fields if not arrow.types.is_null(field.type)), fields[0])


def _to_pandas(table: arrow.Table, contract: type[Table]) -> pd.DataFrame:
    """Whole numbers that may be missing stay whole numbers; left to itself, arrow makes them floats where one is missing."""
    frame: pd.DataFrame = table.to_pandas()
    for name, column in contract.columns.items():
        if name in frame and column.kind == "int" and column.nullable:
            frame[name] = table[name].to_pandas(types_mapper={arrow.int64(): pd.Int64Dtype()}.get)
    return frame


def _read(
    path: Path | str, contract: type[Table], columns: Sequence[str] | None, allow_empty: bool, as_codes: bool = False
) -> arrow.Table:
    """The checked rows; ``as_codes`` keeps text as a dictionary and codes, which spares a million strings."""
    check_kind(path, contract)
    try:
        with parquet.ParquetFile(path) as file:
            schema, n_rows = file.schema_arrow, file.metadata.num_rows
        if not n_rows and not allow_empty:
            raise UserError(
                path, f"contains no rows of {contract.Config.name}.", "Check the step that wrote it, and run it again."
            )
        check_columns(schema, contract)
        text = (
            [f.name for f in schema if arrow.types.is_string(f.type) or arrow.types.is_large_string(f.type)] if as_codes else []
        )
        with parquet.ParquetFile(path, read_dictionary=text, page_checksum_verification=True) as file:
            # The key is read with whatever is asked for: rows that are repeated count twice in any column.
            names = None if columns is None else list(dict.fromkeys([*columns, *contract.Config.unique]))
            table = file.read(columns=names)
        table.validate(full=True)
        check_rows(table, contract, names)
    except ContractError as error:
        raise _breaks(path, contract, str(error)) from error
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise _damaged(path, error) from error
    return table if columns is None else table.select(list(columns))


def check_kind(path: Path | str, contract: type[Table]) -> None:
    """Raise UserError unless the file is this contract's table in this version; reads the footer only."""
    metadata = _footer(path)
    name, version = contract.Config.name, contract.Config.metadata["version"]
    found = metadata.get(b"worldprobe.table", b"").decode(errors="replace")
    if found != name:
        raise UserError(
            path, f"contains {found or 'no table of worldprobe'}, not {name}.", f"Give a file with the {name} table here."
        )
    found_version = metadata.get(b"worldprobe.schema_version", b"?").decode(errors="replace")
    if found_version != str(version):
        raise UserError(
            path,
            f"is version {found_version} of the {name} table; this worldprobe reads version {version}.",
            "Make the file again with this worldprobe, or use the worldprobe that wrote it.",
        )
    read_provenance(path)


def read_provenance(path: Path | str) -> Provenance:
    """What made a table of ours.

    Raises:
        UserError: not a table of ours, or one whose provenance this version of worldprobe cannot read.
    """
    text = _footer(path).get(b"worldprobe.provenance")
    if text is None:
        raise UserError(path, "has no provenance, so it is not a table of worldprobe.", "Give a table that worldprobe wrote.")
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
    place = Path(path)
    try:
        if place.is_dir():
            raise UserError(path, "is a folder, not a table.", "Give the path of a .parquet file.")
        return parquet.read_schema(path).metadata or {}
    except FileNotFoundError as error:
        raise UserError(path, "there is no such file.", "Check the path, or run the stage that makes it.") from error
    except PermissionError as error:
        raise UserError(path, "cannot be read: permission denied.", "Ask its owner for permission to read it.") from error
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise UserError(
            path, "is not a readable Parquet file.", "If worldprobe wrote it, delete it and make it again; it may be cut short."
        ) from error


def _breaks(path: Path | str, contract: type[Table], problem: str) -> UserError:
    return UserError(
        path, f"does not fit the contract of {contract.Config.name}: {problem}.", "Make the file again with this worldprobe."
    )


def _damaged(path: Path | str, error: Exception) -> UserError:
    """Which of the library's errors it was is in the traceback's cause; its text may quote bytes of the file."""
    if isinstance(error, PermissionError):
        return UserError(path, "cannot be read: permission denied.", "Ask its owner for permission to read it.")
    return UserError(
        path, "is damaged: its pages cannot be read or do not match their checksums.", "Delete it and make it again."
    )
