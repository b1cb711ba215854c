"""Where in a model knowledge appears: accuracy after each layer, through the model's own head."""

from pathlib import Path

from worldprobe.extensions import Extension

EXTENSION = Extension(
    commands={
        "layers": (
            "worldprobe_layers.cli:layers",
            "read a model's answers after each of its layers",
        )
    },
    settings={"ewok.layers": "worldprobe_layers.settings:Layers"},
    displays={"ewok": ("worldprobe_layers.displays",)},
    sections={"ewok": (("people", "worldprobe_layers.displays:SECTION"),)},
    rules=Path(__file__).parent / "rules" / "main.smk",
    adds="worldprobe_layers.settings:check_models",
)
