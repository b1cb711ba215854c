"""See what a model got wrong: the page of items."""

from pathlib import Path

from worldprobe.extensions import Extension

EXTENSION = Extension(
    commands={
        "explore": ("worldprobe_explorer.cli:explore", "write a page of items and answers"),
        "pick": (
            "worldprobe_explorer.cli:pick",
            "write one item, or the trials of one tuple, as a table",
        ),
    },
    settings={"explorer": "worldprobe_explorer.settings:Explorer"},
    rules=Path(__file__).parent / "rules" / "main.smk",
    outputs="worldprobe_explorer.settings:outputs",
    pages={"items.html": "worldprobe_explorer.settings:page"},
)
