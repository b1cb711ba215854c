"""Tables as Parquet files: whole, sorted, validated, with what made them inside."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pandera.pandas as pa
import pyarrow as arrow
import pyarrow.parquet as parquet

from worldprobe.contracts.table import Table
from worldprobe.errors import UserError
from worldprobe.files import whole_file
from worldprobe.provenance import Provenance


def validate(frame: pd.DataFrame, contract: type[Table]) -> pd.DataFrame:
    """The rows in the contract's column order, sorted by its key.

    Raises:
        pandera.errors.SchemaError, SchemaErrors: a bug of ours: what a stage made breaks its contract.
    """
    schema = contract.to_schema()
    known = [c for c in schema.columns if c in frame]
    ordered = frame[known + [c for c in frame if c not in known]].sort_values(contract.Config.metadata["key"], kind="stable")
    return schema.validate(ordered.reset_index(drop=True))


def write_table(frame: pd.DataFrame, contract: type[Table], path: Path | str, provenance: Provenance) -> None:
    """Validate, sort and write a table as one whole Parquet file with its provenance inside.

    Raises:
        pandera.errors.SchemaError, SchemaErrors: the rows break the contract.
        UserError: the place cannot be written.
    """
    table = arrow.Table.from_pandas(validate(frame, contract), preserve_index=False)
    metadata = {
        b"worldprobe.table": contract.Config.name.encode(),
        b"worldprobe.schema_version": str(contract.Config.metadata["version"]).encode(),
        b"worldprobe.provenance": provenance.to_json().encode(),
    }
    with whole_file(path) as temporary:
        parquet.write_table(table.replace_schema_metadata(metadata), temporary, compression="zstd")


def read_table(path: Path | str, contract: type[Table], columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Read a table of ours, checked against its contract; ``columns`` reads fewer.

    Raises:
        UserError: no such file, not a table of ours, another table, or another version of its schema.
    """
    check_kind(path, contract)
    frame = parquet.read_table(path, columns=list(columns) if columns else None).to_pandas()
    if columns is None:
        try:
            contract.to_schema().validate(frame)
        except (pa.errors.SchemaError, pa.errors.SchemaErrors) as error:
            failed = getattr(error, "schema_errors", None) or [error]
            columns_at_fault = ", ".join(sorted({str(getattr(e.schema, "name", None) or e.column_name) for e in failed}))
            problem = f"breaks the contract of {contract.Config.name} in {columns_at_fault}."
            raise UserError(path, problem, "Make it again with this worldprobe.") from error
    return frame


def read_tables(paths: Sequence[Path | str], contract: type[Table], columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Read many tables of one kind as one frame; text columns come as categoricals, so a million rows stay small.

    Each file's kind and version are checked; the rows were validated when they were written and are not checked again.

    Raises:
        UserError: as ``read_table``; or no file is given.
    """
    if not paths:
        raise UserError(contract.Config.name, "no table is given.", "Name at least one file.")
    for path in paths:
        check_kind(path, contract)
    names = list(columns) if columns else list(contract.to_schema().columns)
    schema = parquet.read_schema(paths[0])
    text = [field.name for field in schema if arrow.types.is_string(field.type) or arrow.types.is_large_string(field.type)]
    # Text is stored as a dictionary and codes; to read it as such spares a million strings.
    parts = [parquet.read_table(path, columns=names, read_dictionary=text) for path in paths]
    return arrow.concat_tables(parts).unify_dictionaries().combine_chunks().to_pandas()


def check_kind(path: Path | str, contract: type[Table]) -> None:
    """Raise UserError unless the file is this contract's table in this version; reads the footer only."""
    metadata = _footer(path)
    name, version = contract.Config.name, contract.Config.metadata["version"]
    found = metadata.get(b"worldprobe.table", b"").decode()
    if found != name:
        raise UserError(path, f"holds {found or 'no table of worldprobe'}, not {name}.", f"Give the {name} table here.")
    found_version = metadata.get(b"worldprobe.schema_version", b"?").decode()
    if found_version != str(version):
        raise UserError(
            path,
            f"is version {found_version} of the {name} table; this worldprobe reads version {version}.",
            "Make the file again with this worldprobe, or use the worldprobe that wrote it.",
        )


def read_provenance(path: Path | str) -> Provenance:
    """What made a table of ours.

    Raises:
        UserError: not a table of ours.
    """
    text = _footer(path).get(b"worldprobe.provenance")
    if text is None:
        raise UserError(path, "carries no provenance; it is no table of worldprobe.", "Give a table that worldprobe wrote.")
    return Provenance.from_json(json.dumps(json.loads(text)))


def table_name(path: Path | str) -> str:
    """The name of a file's table, e.g. ``items``; empty where the file is no table of ours.

    Raises:
        UserError: no such file, or no readable Parquet file.
    """
    return _footer(path).get(b"worldprobe.table", b"").decode()


def _footer(path: Path | str) -> dict[bytes, bytes]:
    try:
        return parquet.read_schema(path).metadata or {}
    except FileNotFoundError as error:
        raise UserError(path, "there is no such file.", "Check the path, or run the stage that makes it.") from error
    except (arrow.ArrowInvalid, OSError) as error:
        raise UserError(path, "is not a readable Parquet file.", "Make it again; it may have been cut short.") from error
