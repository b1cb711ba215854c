"""Inputs and options of EWoK's rules, from the settings of a study."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from worldprobe.benchmark import Registry, Study
from worldprobe.benchmarks.ewok import outputs
from worldprobe.benchmarks.ewok.study import is_builtin
from worldprobe.files import files_below
from worldprobe.models.registry import RELATEDNESS
from worldprobe.paths import from_here, materials_place
from worldprobe.settings.blocks import options

#: The environment variable that jobs read the materials' password from.
PASSWORD = "WORLDPROBE_MATERIALS_PASSWORD"


class EwokRules:
    """The settings of a study as EWoK's rules take them.

    Args:
        study: a validated study.
        registry: model id -> card.

    Attributes:
        block: EWoK's settings.
        source: the materials' folder or archive, as the commands take it.
        compat: whether the original generator is repeated, as an option.
        release_filter: whether only items of the official release are kept, as options.
        own_materials: what of the materials is the user's: no archive that a rule fetches and
            checks.
        prompt_files: the files of the prompts, where models are prompted: an edit asks again.
        sources: what baselines read: word vectors that a rule trains or the user gave, a folder,
            or a package URL of one.
        frequency: how word frequencies are measured, as options.
        frequency_files: files of theirs that the user gave, ...
        frequency_notes: ... and notes on those that are fetched.
    """

    def __init__(self, study: Study, registry: Registry) -> None:
        self.study, self.registry, self.block = study, registry, study["ewok"]
        materials, counts = self.block["materials"], self.block["baselines"]["frequency"]
        self.source = materials["source"]
        if is_builtin(study):
            self.source = from_here(materials_place(self.source))
        is_fetched = self.source in outputs.downloads(study)
        self.own_materials = [] if is_fetched else [self.source]
        self.compat = options(materials, ["compat"])
        is_filtered = materials["release_filter"] or None
        self.release_filter = options(
            release_filter=is_filtered, materials=is_filtered and self.source
        )
        self.prompt_files = sorted(map(from_here, outputs.prompt_files(study)))
        baselines = self.block["baselines"]
        self.sources = baselines | {"word2vec": baselines["word2vec"]["vectors"]}
        self.frequency = options(
            frequency=counts["source"], ngrams=counts["files"], compat=counts["compat"]
        )
        self.frequency_files = [
            path for path in counts["files"] if outputs.fetch_note(study, path) is None
        ]
        self.frequency_notes = [
            note for path in counts["files"] if (note := outputs.fetch_note(study, path))
        ]

    def share_password(self) -> None:
        """Let every job inherit the materials' password, on this machine and on a cluster: it is
        never part of a command line or a log.
        """
        if self.block["materials"]["password"] is not None:
            os.environ.setdefault(PASSWORD, self.block["materials"]["password"])

    def material_files(self, wildcards: Any) -> list[str]:
        """All files of the materials, so that an edit of any recompiles; a source that is not there
        yet must be made by a rule.
        """
        source = Path(self.source)
        return list(map(str, files_below(source))) if source.is_dir() else [self.source]

    def templates(self, wildcards: Any) -> str:
        """Table of the templates of a condition's items."""
        return outputs.template_table(self.study, wildcards.condition)

    def fillers(self, wildcards: Any) -> str:
        """Table of the fillers of a condition's items."""
        return self.templates(wildcards).replace("templates.parquet", "fillers.parquet")

    def versions(self, wildcards: Any) -> list[str]:
        """The items of a condition, version by version."""
        return outputs.version_tables(self.study, wildcards.condition)

    def filling(self, wildcards: Any) -> str:
        """How one version of a condition's items is filled, as options."""
        items = self.block["conditions"][wildcards.condition]["items"]
        keys = ("mode", "seed", "swap", "filter", "limit")
        return options(items, keys, compat=self.block["materials"]["compat"])

    def prompting(self, wildcards: Any) -> str:
        """How Likert and Choice ask, as options: one value per condition."""
        return options(outputs.prompting(self.study, self.registry[wildcards.model]))

    def baseline_files(self, wildcards: Any) -> list[str]:
        """Files that must be there before a baseline is scored."""
        if wildcards.baseline == "relatedness":
            folder = f"<ewok>/baselines/{wildcards.condition}"
            return [f"{folder}/{name}.parquet" for name in RELATEDNESS]
        source = self.sources[wildcards.baseline]
        if source.startswith("pkg:"):
            return [f"<ewok>/baselines/{wildcards.baseline}.json"]
        if source == "trained":
            return ["<controls>/vectors.kv"]
        return [outputs.fetch_note(self.study, source) or source]

    def baseline_content(self, wildcards: Any) -> Sequence[str]:
        """The files of the user's that a baseline reads."""
        return [self.sources.get(wildcards.baseline, "")]

    def baseline_source(self, wildcards: Any, input: Any) -> Any:
        """Source of a baseline, as the command takes it."""
        source = self.sources.get(wildcards.baseline, "")
        return (
            source
            if source.startswith("pkg:") or outputs.fetch_note(self.study, source)
            else input.source
        )


def notebook_file(wildcards: Any) -> list[str]:
    """A notebook of the working directory, or else of the repository."""
    path = f"notebooks/{wildcards.notebook}.ipynb"
    return [path if os.path.isfile(path) else from_here(path)]
