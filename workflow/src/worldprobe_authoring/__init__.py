"""For authors of materials: checks of style, balance, review, splits; packing, and search for what
got out.
"""

from worldprobe.extensions import Extension

EXTENSION = Extension(
    commands={
        "materials": (
            "worldprobe_authoring.cli:app",
            "check, count, show, start and review materials",
        ),
        "release": (
            "worldprobe_authoring.release_cli:app",
            "pass materials and items on, encrypted, and search folders for what got out",
        ),
    },
    displays={"ewok": ("worldprobe_authoring.displays",)},
)
