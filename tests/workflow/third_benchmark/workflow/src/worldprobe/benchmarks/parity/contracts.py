"""The table of counts."""

from __future__ import annotations

from worldprobe.contracts import Table, column


class Counts(Table):
    """A row per parity."""

    parity: str = column(isin=["even", "odd"])
    n: int = column(ge=0)

    class Config(Table.Config):
        name = "parity_counts"
        unique = ["parity"]
        metadata = {"version": 1, "key": ["parity"]}
