"""What the wheel takes along of the other folders, below ``worldprobe/repository``; an editable
install reads them in place.
"""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

#: Never the whole of resources/, whose downloads/ may contain protected materials.
TAKEN = (
    *("CITATION.cff", "LICENSE", "config", "envs", "notebooks", "slurm"),
    *(
        f"resources/{name}"
        for name in (
            "exports",
            "materials",
            "new_domain",
            "problems",
            "prompts",
            "published",
            "references",
            "skins",
            "survey",
            "new_study.yaml",
            "sources.yaml",
        )
    ),
    *("resources/rulegraph.dot", "resources/rulegraph.svg"),
    *(f"workflow/{name}" for name in ("Snakefile", "bin", "report", "rules", "schemas")),
)


class RepositoryFiles(BuildHookInterface):
    """Adds the files to the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before it builds."""
        if version == "editable":
            return
        for name in TAKEN:
            if not (Path(self.root) / name).exists():
                raise FileNotFoundError(f"{name} is to be part of the wheel")
            build_data["force_include"][name] = f"worldprobe/repository/{name}"
