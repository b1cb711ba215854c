"""A survey to look at: a few of our own items, and answers that count nowhere."""

from __future__ import annotations

from pathlib import Path

import yaml

from worldprobe.benchmarks.ewok.cli.items import FillingOptions, build
from worldprobe_survey.cli import lists_

#: Templates of our own materials, four of each domain.
TEMPLATES = 52
SETTINGS = {
    "study": "demo",
    "title": "How much sense does it make? (demo)",
    "contact": "nobody@example.org",
    "consent": "consent.md",
    "entry": "open",
    "codes": {},
}
CONSENT = """## What this is

A demo of worldprobe's survey. Its answers are deleted when it is stopped.

## What is recorded

{{recorded}}

{{deleted}}
"""


def write_demo(folder: Path) -> tuple[Path, Path]:
    """Items, lists and settings of the demo.

    Args:
        folder: an empty one.

    Returns:
        The files of lists and settings.
    """
    items, lists, settings = (
        folder / name for name in ("items.parquet", "lists.parquet", "settings.yaml")
    )
    build("builtin", how=FillingOptions(versions="0", limit=TEMPLATES), out=items)
    lists_(items, key_out=folder / "key.parquet", out=lists)
    (folder / "consent.md").write_text(CONSENT, encoding="utf-8")
    settings.write_text(yaml.safe_dump(SETTINGS), encoding="utf-8")
    return lists, settings
