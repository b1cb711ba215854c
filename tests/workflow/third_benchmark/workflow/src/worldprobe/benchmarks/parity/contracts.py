"""The table of counts."""

from __future__ import annotations

import pandera.pandas as pa
from pandera.typing import Series

from worldprobe.contracts import Table


class Counts(Table):
    """A row per parity."""

    parity: Series[str] = pa.Field(isin=["even", "odd"])
    n: Series[int] = pa.Field(ge=0)

    class Config(Table.Config):
        name = "parity_counts"
        unique = ["parity"]
        metadata = {"version": 1, "key": ["parity"]}
