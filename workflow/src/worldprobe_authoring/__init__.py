"""For authors of materials and of results: checks of style, balance, review, splits, audits of
trials; packing, and search for what got out; archives of finished studies; exports
to other harnesses and to the hub, and imports from them; the leaderboard.
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
        "leaderboard": (
            "worldprobe_authoring.results_cli:leaderboard",
            "rank models by their results, on one page",
        ),
    },
    actions={
        "archive": "worldprobe_authoring.release_cli:add_pack",
        "import": "worldprobe_authoring.lm_eval_cli:add_import",
        "items": "worldprobe_authoring.exports_cli:add_to_items",
        "results": "worldprobe_authoring.results_cli:add_export",
        "worldsense": "worldprobe_authoring.cli:add_commands",
    },
    displays={"ewok": ("worldprobe_authoring.displays", "worldprobe_authoring.labels")},
    rules=Path(__file__).parent / "rules" / "main.smk",
    additions={"worldsense.skin_checks": ("worldprobe_authoring.misreading:find_misreading",)},
)
