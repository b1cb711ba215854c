"""Experiments beside the papers: conditions, families, learning curves, leaks, BabyLM, planning of
studies, partial pooling, consistency, rules that learn.
"""

from pathlib import Path

from worldprobe.extensions import Extension

EXTENSION = Extension(
    commands={
        "families": (
            "worldprobe_lab.cli:families",
            "compute accuracy by levels of a factor, such as negations",
        ),
        "compare-conditions": (
            "worldprobe_lab.cli:compare_conditions",
            "test whether a study's conditions differ, model by model",
        ),
        "babylm": (
            "worldprobe_lab.babylm_cli:babylm",
            "run EWoK as the BabyLM challenge does, on all checkpoints",
        ),
        "plan": (
            "worldprobe_lab.cli:plan",
            "compute how large a study must be to find a difference",
        ),
        "pool": (
            "worldprobe_lab.cli:pool",
            "estimate accuracy by domain and concept, partially pooled",
        ),
        "series": (
            "worldprobe_lab.series_cli:app",
            "score the checkpoints of a training run and draw learning curves",
        ),
        "leak": (
            "worldprobe_lab.leak_cli:leak",
            "test whether a model was trained on given items",
        ),
    },
    actions={
        "import": "worldprobe_lab.released_cli:add_commands",
        "items": "worldprobe_lab.forms_cli:add_commands",
    },
    inherits={
        name: f"worldprobe_lab.settings:{name}" for name in ("Card", "SharedSettings", "Site")
    },
    displays={
        "ewok": (
            "worldprobe_lab.conditions",
            "worldprobe_lab.families",
            "worldprobe_lab.setups",
            "worldprobe_lab.displays",
            "worldprobe_lab.ewok_series:DISPLAYS",
        ),
        "worldsense": (
            "worldprobe_lab.trial_displays",
            "worldprobe_lab.motion_displays",
            "worldprobe_lab.worldsense_series:DISPLAYS",
        ),
    },
    sections={
        "ewok": (
            ("accuracy", "worldprobe_lab.conditions:SECTION"),
            ("concepts", "worldprobe_lab.families:SECTION"),
            ("people", "worldprobe_lab.learning_curves:SECTION"),
            ("comparisons", "worldprobe_lab.displays:SECTION"),
        ),
        "worldsense": (("finetuning", "worldprobe_lab.learning_curves:SECTION"),),
    },
    rules=Path(__file__).parent / "rules" / "main.smk",
    adds="worldprobe_lab.series:add_trainings",
    outputs="worldprobe_lab.series:outputs",
    rehearses="worldprobe_lab.series:rehearse",
    additions={
        "worldsense.measures": ("worldprobe_lab.consistency:measure_consistency",),
        "worldsense.problem_families": tuple(
            f"worldprobe_lab.problem_families:{name}" for name in ("HARD", "MOTION")
        ),
        "worldsense.rules": tuple(
            f"worldprobe_lab.known_rules:{name}" for name in ("TOGETHER", "NGRAMS", "ROLES")
        ),
    },
    compares={"checkpoint_scores": "worldprobe_lab.curves:COMPARED"},
)
