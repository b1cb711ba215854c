"""Keys and labels that the tables of EWoK share."""

from __future__ import annotations

ITEM_ID = r"^[A-Za-z0-9-]+_\d+_\d+_v\d+$"
TEMPLATE_ID = r"^[A-Za-z0-9-]+_\d+_\d+$"
#: what a pair of answers about one target says: a context, no preference, or nothing readable.
PREFERENCES = ("context1", "context2", "none", "missing")
