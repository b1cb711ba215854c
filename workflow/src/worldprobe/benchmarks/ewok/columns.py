"""Columns that many of EWoK's tables share, without the weight of their contracts."""

#: An item's four texts, and the original's names of them.
TEXTS = ("context1", "context2", "target1", "target2")
OFFICIAL_TEXTS = ("Context1", "Context2", "Target1", "Target2")
