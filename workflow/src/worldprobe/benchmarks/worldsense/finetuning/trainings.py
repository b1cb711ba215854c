"""What a study fine-tunes: every training, from what to what, and the models that come of it. Imports nothing heavy."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from worldprobe.benchmark import Registry, Study
from worldprobe.errors import UserError, did_you_mean
from worldprobe.paths import StudyPaths

#: The tokenizer that a study writes itself, in the place of a folder's name.
PHRASES = "phrases"


@dataclass(frozen=True)
class Training:
    """One run of ``worldsense finetune``.

    Attributes:
        name: of the model that it makes.
        base: the registry's id of the model that it belongs to.
        before: folder of the weights that it begins with; None: the base's own.
        train: what is trained on.
        mix: what is mixed in.
        settings: complete.
    """

    name: str
    base: str
    before: str | None
    train: tuple[Mapping[str, Any], ...]
    mix: tuple[Mapping[str, Any], ...]
    settings: Mapping[str, Any]

    def stated(self) -> dict[str, Any]:
        """The settings that the command is given: what is set, without what only the scheduler needs (minutes)."""
        unused = {"minutes"} | ({"epochs"} if self.settings["steps"] is not None else set())
        return {key: value for key, value in self.settings.items() if value is not None and key not in unused}


def block(study: Study) -> Mapping[str, Any]:
    """The settings of fine-tuning, a small model with several seeds as several models."""
    found: Mapping[str, Any] = study["worldsense"]["finetuning"]
    start = {name: one for base, how in found["start"].items() for name, one in _with_seeds(base, how).items()}
    bases = [name for base in found["bases"] for name in _with_seeds(base, found["start"].get(base, {}))]
    return {**found, "start": start, "bases": bases}


def _with_seeds(base: str, how: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """A base by its id; with several seeds one for each, by the id with the seed."""
    return {
        f"{base}-{seed}": {**how, "seed": seed, "display_name": f"{how['display_name']} {seed}"} for seed in how.get("seeds", ())
    } or {base: dict(how)}


def root(study: Study) -> str:
    """The folder of everything about fine-tuning."""
    return f"{StudyPaths.of(study).benchmark('worldsense')}/finetuning"


def model_folder(study: Study, name: str) -> str:
    """What a training makes."""
    return f"{root(study)}/models/{name}"


def start_folder(study: Study, base: str) -> str:
    """A small model without any training."""
    return f"{root(study)}/start/{base}"


def trainings(study: Study) -> dict[str, Training]:
    """Every training by the name of the model that it makes: stages of small models, then variants of bases."""
    found: dict[str, Training] = {}
    for base, how in block(study)["start"].items():
        before = start_folder(study, base)
        for stage in how["stages"]:
            one = _training(study, f"{base}.{stage['name']}", base, before, stage)
            found[one.name] = one
            before = model_folder(study, one.name)
    for base in block(study)["bases"]:
        learned = learned_folder(study, base) if base in block(study)["start"] else None
        for variant, how in block(study)["variants"].items():
            found[f"{base}+{variant}"] = _training(study, f"{base}+{variant}", base, learned, how)
    return found


def _training(study: Study, name: str, base: str, before: str | None, how: Mapping[str, Any]) -> Training:
    found = block(study)
    settings = {**found["settings"], **how.get("settings", {})}
    if found["start"].get(base, {}).get("seeds"):
        settings["seed"] = found["start"][base]["seed"]
    return Training(name, base, before, tuple(how["train"]), tuple(how.get("mix", ())), settings)


def learned_folder(study: Study, base: str) -> str:
    """A small model after its stages."""
    stages = block(study)["start"][base]["stages"]
    return model_folder(study, f"{base}.{stages[-1]['name']}") if stages else start_folder(study, base)


def made_models(study: Study) -> list[str]:
    """Registry's ids of the models that a study makes here: small bases, and every base's variants."""
    how = block(study)
    small = [base for base in how["start"] if base in how["bases"]]
    return small + [f"{base}+{variant}" for base in how["bases"] for variant in how["variants"]]


def training_files(study: Study, parts: Sequence[Mapping[str, Any]]) -> list[str]:
    """The files of what is trained on."""
    return [file_of(study, part) for part in parts]


def file_of(study: Study, part: Mapping[str, Any]) -> str:
    """The file of one part."""
    if "file" in part:
        return str(part["file"])
    if "lessons" in part:
        return f"{root(study)}/lessons/{part['lessons']}.jsonl.gz"
    return f"{root(study)}/sets/{set_key(study, part)}.parquet"


def set_key(study: Study, part: Mapping[str, Any]) -> str:
    """Name of a generated set: another one for other parts or seeds of a set.

    >>> set_key({"worldsense": {"seed": 0}}, {"set": "train-10k"})
    'train-10k-162f71cf'
    """
    content = json.dumps({"seed": study["worldsense"]["seed"], **part}, sort_keys=True)
    return f"{part['set']}-{hashlib.sha256(content.encode()).hexdigest()[:8]}"


def generated_sets(study: Study) -> dict[str, Mapping[str, Any]]:
    """Every set that is generated for training, by its key."""
    return {set_key(study, part): part for part in _all_parts(study) if "set" in part}


def _all_parts(study: Study) -> Iterator[Mapping[str, Any]]:
    for one in trainings(study).values():
        yield from (*one.train, *one.mix)
    for how in block(study)["start"].values():
        yield from how.get("vocabulary_from", ())


def add_models(study: Study, registry: Registry) -> dict[str, dict[str, Any]]:
    """Cards of the models that a study makes: what their base's card says, with another folder and name."""
    from worldprobe.settings import complete_card

    found: dict[str, dict[str, Any]] = {}
    if study["worldsense"] is None:
        return found
    for base, how in block(study)["start"].items():
        if base in registry:
            problem = f"{base} is a model of the registry already."
            raise UserError("worldsense.finetuning.start", problem, "Give the small model another id.")
        folder = learned_folder(study, base)
        card = complete_card(base, family="fine-tuned", display_name=how["display_name"], checkpoint=folder)
        found[base] = card | {"tuned": "small"}
    for base in block(study)["bases"]:
        for variant in block(study)["variants"]:
            name = f"{base}+{variant}"
            card = dict(found.get(base) or registry.get(base, {}))
            if not card:
                problem = f"{base} is not a model of the registry{did_you_mean(base, registry)}"
                raise UserError("worldsense.finetuning.bases", problem, "Correct the name, or add an entry to the registry.")
            if card["engine"] not in ("transformers", "vllm"):
                problem = f"{base} has no weights here (engine {card['engine']})."
                raise UserError("worldsense.finetuning.bases", problem, "Name models whose weights are here.")
            tuned = "small" if card.get("control") or card.get("tuned") == "small" else "base"
            display = {"display_name": f"{card['display_name']} +{variant}", "colour": None}
            card = {key: value for key, value in card.items() if key != "control"}
            found[name] = (
                card | display | {"model": name, "checkpoint": model_folder(study, name), "tuned": tuned, "revision": "main"}
            )
    return found
