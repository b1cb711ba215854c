"""Tables between the stages: one contract each, written and read only through ``write_table`` and ``read_table``."""

from worldprobe.contracts.checking import ContractError
from worldprobe.contracts.storage import (
    ROWS_TOGETHER,
    check_kind,
    digest_table,
    open_table,
    read_provenance,
    read_table,
    read_tables,
    table_name,
    validate,
    write_table,
)
from worldprobe.contracts.table import Table, column

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
