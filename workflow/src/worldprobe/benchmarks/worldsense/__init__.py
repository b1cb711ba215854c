"""WorldSense (arXiv 2311.15930): worlds, problems, skins and sets of trials whose answers an exact
solver decides.

Its commands are declared here, where nothing is imported that takes time.
"""

from worldprobe.extensions import Extension

EXTENSION = Extension(
    title="WorldSense",
    evaluates={"worldsense": "worldprobe.benchmarks.worldsense.options:Options"},
    commands={
        "worldsense": (
            "worldprobe.benchmarks.worldsense.cli:app",
            "generate trials, ask models about them, analyse their answers",
        )
    },
)
