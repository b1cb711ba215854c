"""Inputs and options of the rules of series of checkpoints, from the settings of a study."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from worldprobe.benchmark import Registry, Study
from worldprobe.operations.settings import model_files
from worldprobe.paths import StudyPaths
from worldprobe.settings.blocks import options
from worldprobe_lab.series import parts_of, with_series


class SeriesRules:
    """Jobs of a study's series: the checkpoints that each scores, and how.

    Args:
        study: a validated study.
        registry: model id -> card.
        site: facts of the cluster.

    Attributes:
        benchmarks: those in which series are scored, and how.
        parts: training -> its checkpoints, in parts.
    """

    def __init__(self, study: Study, registry: Registry, site: Mapping[str, Any]) -> None:
        self.study, self.registry = study, registry
        self.benchmarks = with_series(study)
        self.parts = parts_of(study, registry, site["checkpoints_per_job"])

    def items(self, wildcards: Any) -> Any:
        """The items that the checkpoints of a series are asked."""
        return self.benchmarks[wildcards.benchmark].items(self.study)

    def method(self, wildcards: Any) -> str:
        """The version of how they are asked."""
        return self.benchmarks[wildcards.benchmark].method

    def checkpoint_files(self, wildcards: Any) -> list[str]:
        """Files that must be there before a part of a series is scored: the folder of a control
        model, or the checkpoints' files.
        """
        card = self.registry[wildcards.model]
        if card.get("control"):
            return [card["checkpoint"]]
        return [
            path
            for step in self.parts[wildcards.model][int(wildcards.part)]
            if step.revision is None
            for path in model_files({**card, "checkpoint": step.checkpoint})
        ]

    def stated(self, wildcards: Any) -> str:
        """Options: the checkpoints that are scored, and how they are asked."""
        card, parts = self.registry[wildcards.model], self.parts[wildcards.model]
        return options(
            card["series"],
            ("revisions", "folders", "factor", "unit"),
            series=card["series_of"],
            training_seed=card["seed"],
            numbers=[str(step.number) for step in parts[int(wildcards.part)]],
            part=len(parts) > 1,
            fetch=card["series"]["revisions"] is not None,
            keep_weights=card["series"]["keep"],
            prompting=self.benchmarks[wildcards.benchmark].options(self.study),
        )

    def scores(self, wildcards: Any) -> list[str]:
        """The scores of all checkpoints of a study in one benchmark."""
        folder = f"{StudyPaths.of(self.study).benchmark(wildcards.benchmark)}/series"
        return [
            f"{folder}/{model}/{part}.parquet"
            for model, parts in self.parts.items()
            for part in range(len(parts))
        ]
