"""Where things are: the repository's own folders, and the names of results."""

from __future__ import annotations

from pathlib import Path

#: The repository's root.
REPOSITORY = Path(__file__).resolve().parents[3]
RESOURCES = REPOSITORY / "resources"
SCHEMAS = REPOSITORY / "workflow" / "schemas"
