"""Experiments beside the papers: leaks, BabyLM, planning of studies, partial pooling."""

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
        "leak": (
            "worldprobe_lab.leak_cli:leak",
            "was a model trained on these items? given items against parallel forms",
        ),
    },
    displays={"ewok": ("worldprobe_lab.displays",)},
    rules=Path(__file__).parent / "rules" / "main.smk",
)
