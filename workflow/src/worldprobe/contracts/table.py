"""What every table between the stages has in common."""

from __future__ import annotations

from typing import Any

import pandera.pandas as pa


class Table(pa.DataFrameModel):
    """A contract: strict columns, a unique key by which the rows are sorted, a version bumped when columns change."""

    class Config:
        strict = True
        name = ""
        metadata: dict[str, Any] = {}  # version, and the key by which rows are sorted
        coerce = False
