"""For authors of materials and of results: checks of style, balance, review, splits, audits of
trials; packing, and search for what got out; finished studies as RO-Crates; other harnesses.
"""

from pathlib import Path

from worldprobe.extensions import Extension

EXTENSION = Extension(
    commands={
        "materials": (
            "worldprobe_authoring.cli:app",
            "write, check and review materials",
        ),
        "release": (
            "worldprobe_authoring.release_cli:app",
            "encrypt materials and items, and search folders for leaked ones",
        ),
        "crate": ("worldprobe_authoring.release_cli:crate", "pack a finished study as an RO-Crate"),
    },
    actions={
        "import": "worldprobe_authoring.lm_eval_cli:add_import",
        "worldsense": "worldprobe_authoring.cli:add_commands",
    },
    displays={"ewok": ("worldprobe_authoring.displays", "worldprobe_authoring.labels")},
    rules=Path(__file__).parent / "rules" / "main.smk",
    checks={"skin": "worldprobe_authoring.misreading:find_misreading"},
)
