"""Inputs and options of WorldSense's rules, from the settings of a study (docs/worldsense.md)."""

from __future__ import annotations

from typing import Any

from worldprobe import engines
from worldprobe.benchmark import Registry, Study
from worldprobe.benchmarks.worldsense import outputs
from worldprobe.benchmarks.worldsense.inference.prompts import load_prompt_set, prompt_file
from worldprobe.benchmarks.worldsense.settings import Subset, TrialAsking
from worldprobe.benchmarks.worldsense.skins.skins import skin_files
from worldprobe.models.registry import chat_template
from worldprobe.paths import from_here
from worldprobe.settings.blocks import options


class WorldsenseRules:
    """The settings of a study as WorldSense's rules take them.

    Args:
        study: a validated study.
        registry: model id -> card.

    Attributes:
        block: WorldSense's settings.
        skins: the skins' files, so that an edit of any makes the sets again.
        wording: which skins are read, and in which version of the wording, as options.
        subset: which part of a set the study asks for, ...
        sample: ... how many of its trials are taken, ...
        examples_subset: ... and the same of solved trials for examples, with the seed after the
            study's, as options.
        trial_tables: the trials of the sets that are asked.
        prompt_sets: their prompt sets, as files: an edit asks again.
        example_tables: solved trials from which examples are drawn: the whole released sets, or
            others like ours; one table for all sets, where only the main one is asked by
            strategies that show examples, or one each.
    """

    def __init__(self, study: Study, registry: Registry) -> None:
        self.study, self.registry, self.block = study, registry, study["worldsense"]
        block = self.block
        folder = block["skin_folder"] or from_here("resources/skins")
        self.skins = [str(path) for path in skin_files(folder)]
        self.wording = options(block, ("skin_folder", "wording_version"))
        self.subset = options(block, Subset.model_fields)
        self.sample = options(sample=block["limit"])
        examples = {"seed": block["seed"] + 1, "per_cell": block["asking"]["examples_per_cell"]}
        self.examples_subset = options(block | examples, Subset.model_fields)
        sets = outputs.asked_sets(study)
        self.trial_tables = [outputs.trial_table(study, name) for name in sets]
        self._promptings = [
            [
                from_here(prompt_file(prompting))
                for prompting in outputs.prompting_places(study, name)
            ]
            for name in sets
        ]
        self.prompt_sets = list(dict.fromkeys(path for files in self._promptings for path in files))
        showing = [
            name
            for name, files in zip(sets, self._promptings, strict=True)
            if any(load_prompt_set(path).examples for path in files)
        ]
        self.example_tables = [
            outputs.examples_table(study, name) for name in (showing if len(showing) < 2 else sets)
        ]

    def released_set(self, wildcards: Any) -> str:
        """The released trials of a set."""
        return outputs.released_trials(self.block["released"], wildcards.set)

    def asking(self, wildcards: Any) -> str:
        """How trials are asked, as options."""
        how, card = self.block["asking"], self.registry[wildcards.model]
        lists = [",".join(files) for files in self._promptings]
        spending = ("max_requests", "max_tokens") if engines.of(card).is_remote else ()
        return options(
            how | {"chat_template": chat_template(how, card)},
            (*TrialAsking.model_fields, *spending),
            prompting=list(dict.fromkeys(lists)) if len(set(lists)) == 1 else lists,
            skin_folder=self.block["skin_folder"],
            examples=self.example_tables,
        )
