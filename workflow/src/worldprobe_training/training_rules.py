"""Inputs and options of rules that make models, from a study's settings
(docs/extras/worldsense_training.md).
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from worldprobe.benchmark import Registry, Study
from worldprobe.engines import Needs
from worldprobe.operations.resources import tuning_needs
from worldprobe.operations.run import StudyRun
from worldprobe.operations.settings import model_files
from worldprobe.settings.blocks import options
from worldprobe_lab.series import places_of
from worldprobe_training import trainings as tunings


class ControlRules:
    """How control models are trained.

    Args:
        study: a validated study.
        registry: model id -> card.
    """

    def __init__(self, study: Study, registry: Registry) -> None:
        self.study, self.registry = study, registry

    def stated(self, wildcards: Any) -> str:
        """How a control model is trained, as options; without a seed of its own, it has the
        study's.
        """
        seed = self.study["controls"]["seed"]
        return options({"seed": seed} | self.registry[wildcards.model]["control"])

    def checkpoints(self, wildcards: Any) -> str:
        """After which steps a control model is also saved, as options."""
        card = self.registry[wildcards.model]
        if not card.get("series_of"):
            return ""
        steps = [str(step.number) for step in places_of(card)]
        return options(card["series"], ["folders"], save_at=steps)


class TrainingRules:
    """Trainings as options of their commands, and as needs of their jobs.

    Args:
        run: whose study it is.
        wording: which skins are read, and in which version of the wording, as options.

    Attributes:
        trainings: name -> training.
        sets: key -> a part of a set that is generated for training.
        starts: small models that are made.
        forbidden: what no training may contain.
    """

    def __init__(self, run: StudyRun, wording: str) -> None:
        self.run, self.study, self.wording = run, run.study, wording
        self.block: Mapping[str, Any] = run.study["worldsense"]
        self.trainings = tunings.trainings(run.study)
        self.sets = tunings.generated_sets(run.study)
        self.starts = tunings.block(run.study)["start"]
        self.forbidden = tunings.forbidden_sets(run.study)

    def part(self, wildcards: Any) -> str:
        """The part of a set that is generated for training, as options."""
        part = {"seed": self.block["seed"], **self.sets[wildcards.key]}
        return f"{part['set']} {options(part, tunings.OF_SETS)} {self.wording}"

    def lesson(self, wildcards: Any) -> str:
        """How lessons are drawn, as options."""
        return options(settings=json.dumps(self.block["finetuning"]["lessons"][wildcards.name]))

    def start(self, wildcards: Any) -> str:
        """How a small model is made, as options."""
        tokenizer = tunings.tokenizer_of(self.study, wildcards.base)
        start = self.starts[wildcards.base]
        return options(start, tunings.StartSettings.model_fields, tokenizer=tokenizer)

    def start_texts(self, wildcards: Any) -> list[str]:
        """The files whose words a small model knows."""
        return tunings.tokenizer_texts(self.study, wildcards.base)

    def start_tokenizer(self, wildcards: Any) -> Any:
        """The tokenizer of a small model, if it is not made for it."""
        return tunings.tokenizer_of(self.study, wildcards.base) or []

    def files(self, kind: str) -> Callable[[Any], list[str]]:
        """A function that gives the files of a training.

        Args:
            kind: "train" or "mix".
        """

        def of_job(wildcards: Any) -> list[str]:
            return tunings.training_files(
                self.study, getattr(self.trainings[wildcards.tuned], kind)
            )

        return of_job

    def mix(self, wildcards: Any) -> str:
        """The files that a training's own are mixed with, as options."""
        return options(mix=self.files("mix")(wildcards))

    def own_files(self, wildcards: Any) -> list[str]:
        """The files of a training that people edit: weights in a folder of theirs, and training
        files.
        """
        training = self.trainings[wildcards.tuned]
        card = self.run.registry[training.base]
        weights = [] if training.before else model_files(card)
        parts = (*training.train, *training.mix)
        return [*weights, *(part["file"] for part in parts if "file" in part)]

    def base(self, wildcards: Any) -> list[str]:
        """Files that must be there before a training begins."""
        training = self.trainings[wildcards.tuned]
        return [training.before] if training.before else self.run.weights_of(training.base)

    def base_words(self, wildcards: Any) -> str:
        """The model that is trained, and what its checkpoint may do, as a command's words."""
        training = self.trainings[wildcards.tuned]
        if training.before:
            return shlex.quote(training.before)
        return self.run.source_words(training.base)

    def stated(self, wildcards: Any) -> str:
        """The settings of a training, as options."""
        stated = self.trainings[wildcards.tuned].stated()
        return options(stated, skin_folder=self.block["skin_folder"])

    def needed(self, wildcards: Any) -> Needs:
        """Needs of a training: what its job asks of a machine."""
        training = self.trainings[wildcards.tuned]
        card = self.run.registry[training.base]
        return tuning_needs(card, training.settings, self.run.site["gpu_memory_gb"])

    def threads(self, wildcards: Any) -> int:
        """The threads of a training."""
        return self.needed(wildcards).threads

    def external(self, wildcards: Any) -> str:
        """How other benchmarks are asked, as options."""
        card = self.run.registry[wildcards.model]
        revision = None if card.get("tuned") else card["revision"]
        asked = {"tasks": tunings.block(self.study)["external"], "revision": revision}
        how = options(card, ("dtype", "trust_remote_code"), **asked)
        return f"{shlex.quote(card['checkpoint'])} {how}"
