"""Tables between the stages: one contract each, written and read only through ``write_table`` and ``read_table``."""

from worldprobe.contracts.tables import (
    ROWS_TOGETHER,
    ContractError,
    Table,
    check_kind,
    column,
    digest_table,
    open_table,
    read_provenance,
    read_table,
    read_tables,
    table_name,
    validate,
    write_table,
)

__all__ = [
    "ROWS_TOGETHER",
    "ContractError",
    "Table",
    "check_kind",
    "column",
    "digest_table",
    "open_table",
    "read_provenance",
    "read_table",
    "read_tables",
    "table_name",
    "validate",
    "write_table",
]
