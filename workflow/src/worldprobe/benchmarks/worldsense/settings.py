"""WorldSense's block of a configuration: its mistakes that the schema cannot see, and the files that it asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from worldprobe.benchmark import Registry, Study
from worldprobe.config import Finding
from worldprobe.paths import StudyPaths


def check_settings(block: Mapping[str, Any]) -> Iterator[Finding]:
    """What is wrong with the settings of WorldSense, each with its key in the block, the problem and the fix."""
    folder = block["skin_folder"]
    if folder is not None and not Path(folder).is_dir():
        yield ("skin_folder",), f"there is no folder {folder}.", "Correct the path, or remove the key."


def targets(study: Study, registry: Registry) -> list[str]:
    """The sets that a study asks for; no model is asked yet, so the registry plays no part."""
    return [f"{StudyPaths(study['study']).root}/worldsense/trials/{name}.parquet" for name in study["worldsense"]["sets"]]
