"""Models that are made here: control models, fine-tuning, lessons, contamination."""

from pathlib import Path

from worldprobe.extensions import Extension

EXTENSION = Extension(
    commands={
        "controls": (
            "worldprobe_training.controls_cli:app",
            "train small control models whose training data are known exactly",
        )
    },
    actions={"worldsense": "worldprobe_training.finetuning_cli:add_commands"},
    settings={"worldsense.finetuning": "worldprobe_training.trainings:Finetuning"},
    displays={
        "ewok": ("worldprobe_training.control_displays",),
        "worldsense": ("worldprobe_training.displays",),
    },
    sections={"ewok": (("accuracy", "worldprobe_training.control_displays:SECTION"),)},
    rules=Path(__file__).parent / "rules" / "main.smk",
    makes="worldprobe_training.trainings:made_models",
    adds="worldprobe_training.trainings:add_models",
    outputs="worldprobe_training.trainings:outputs",
    rehearses="worldprobe_training.rehearsal:rehearse",
)
