"""Experiments beside the papers: learning curves, leaks, BabyLM, planning of studies, partial
pooling.
"""

from pathlib import Path

from worldprobe.extensions import Extension

EXTENSION = Extension(
    commands={
        "babylm": (
            "worldprobe_lab.babylm_cli:babylm",
            "EWoK as the BabyLM challenge asks it: all checkpoints of a track, and its files",
        ),
        "plan": (
            "worldprobe_lab.cli:plan",
            "how large a study must be to find a difference, from the results of one",
        ),
        "pool": (
            "worldprobe_lab.cli:pool",
            "domains and concepts by partial pooling, and what holds of their order",
        ),
        "series": (
            "worldprobe_lab.series_cli:app",
            "checkpoints of a training: scores, learning curves, onsets",
        ),
        "leak": (
            "worldprobe_lab.leak_cli:leak",
            "was a model trained on these items? given items against parallel forms",
        ),
    },
    inherits={
        name: f"worldprobe_lab.settings:{name}" for name in ("Card", "SharedSettings", "Site")
    },
    displays={
        "ewok": ("worldprobe_lab.displays", "worldprobe_lab.ewok_series:DISPLAYS"),
        "worldsense": (
            "worldprobe_lab.motion_displays",
            "worldprobe_lab.worldsense_series:DISPLAYS",
        ),
    },
    sections={
        "ewok": (("people", "worldprobe_lab.learning_curves:SECTION"),),
        "worldsense": (("finetuning", "worldprobe_lab.learning_curves:SECTION"),),
    },
    rules=Path(__file__).parent / "rules" / "main.smk",
    adds="worldprobe_lab.series:add_trainings",
    outputs="worldprobe_lab.series:outputs",
    compares={"checkpoint_scores": "worldprobe_lab.series_cli:compare_checkpoints"},
)
