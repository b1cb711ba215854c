"""WorldSense's block of a configuration: its mistakes that the schema cannot see, and what it means for the registry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from worldprobe.benchmark import Study
from worldprobe.benchmarks.worldsense.finetuning.checks import check_finetuning
from worldprobe.benchmarks.worldsense.inference.prompts import load_prompt_set
from worldprobe.benchmarks.worldsense.targets import asked_models, asked_sets, released_trials
from worldprobe.config import Finding, with_defaults
from worldprobe.errors import UserError, did_you_mean
from worldprobe.models.model_types import refuse_prompted

#: Option of `worldsense generate` -> key of the block.
_OPTIONS = {"--skins": "skins", "--sizes": "sizes", "--problems": "problems", "--per-cell": "per_cell"}
#: Tuples of a cell that every set has room for with the skins of the repository: as many as the largest set contains.
_CERTAIN = 357
#: The rules that every study knows, also with a registry of its own.
RULES = {f"rule_{name}": name for name in ("solver", "random", "positive", "mention", "query", "counting", "together", "ngrams")}


def check_settings(block: Mapping[str, Any]) -> Iterator[Finding]:
    """What is wrong with the settings of WorldSense, each with its key in the block, the problem and the fix."""
    yield from _check_released(block)
    folder = block["skin_folder"]
    if folder is not None and not Path(folder).is_dir():
        yield ("skin_folder",), f"there is no folder {folder}.", "Correct the path, or remove the key."
    else:
        yield from _check_sets(block)
    names: dict[str, int] = {}
    for number, prompting in enumerate(block["promptings"]):
        try:
            name = load_prompt_set(prompting).name
        except UserError as error:
            yield ("promptings", number), f"{error.where}: {error.problem}", error.fix
            continue
        if name in names:
            yield ("promptings", number), f"is the second set named {name}.", "Give the file another name."
        names[name] = number
    yield from ((("finetuning", *keys), problem, fix) for keys, problem, fix in check_finetuning(block["finetuning"]))
    if block["asking"]["samples"] > 1 and not block["asking"]["temperature"]:
        problem = "are all alike with temperature 0."
        yield ("asking", "samples"), problem, "Set a temperature above 0, or ask once."


def _check_released(block: Mapping[str, Any]) -> Iterator[Finding]:
    """Released trials are asked as they are, so they must be there, and nothing can be chosen about them."""
    folder = block["released"]
    if folder is None:
        return
    for key in ("sizes", "problems", "skins"):
        if block[key]:
            yield (key,), "has no effect on released trials, which are asked whole.", "Remove the key, or set released: null."
    for number, name in enumerate(block["sets"]):
        if name.startswith("train-"):
            yield ("sets", number), f"{name}: the released training sets have no trials.", "Remove it, or set released: null."
        elif not Path(released_trials(folder, name)).is_file():
            problem = f"there is no file {released_trials(folder, name)}."
            fix = "Clone github.com/facebookresearch/worldsense (CC BY-NC 4.0) and name its folder data/worldsense."
            yield ("released",), problem, f"{fix} Our own trials: config/worldsense_ours.yaml."


def _check_sets(block: Mapping[str, Any]) -> Iterator[Finding]:
    """What `worldsense generate` would refuse; all sets without choices of the user's can be made."""
    is_large = (block["per_cell"] or 0) > _CERTAIN
    is_former = block["wording_version"] == 1  # without test-new
    if not (is_large or is_former or any(block[key] for key in ("skins", "sizes", "problems", "skin_folder"))):
        return
    # Every job of Snakemake reads the configuration; only those of such a study wait for pandas.
    from worldprobe.benchmarks.worldsense.skins.skins import FOLDER, read_skins
    from worldprobe.benchmarks.worldsense.trials.sets import blocks_of, plan_set

    try:
        skins = read_skins(block["skin_folder"] or FOLDER, block["wording_version"])
    except UserError as error:
        yield ("skin_folder",), f"{error.where}: {error.problem}", error.fix
        return
    for name in block["sets"]:
        try:
            blocks_of(plan_set(name, block["sizes"], block["problems"], block["per_cell"]), skins, block["skins"])
        except UserError as error:
            key = _OPTIONS.get(str(error.where), "skins")
            yield (key,), f"set {name}: {error.problem}", error.fix


def complete_registry(study: Study, registry: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The registry with the rules that it lacks, once every model that is asked can be.

    Raises:
        UserError: a control is not in the registry, or has weights; or a model cannot be trained, as its corpus is EWoK's.
    """
    block = study["worldsense"]
    if not block["promptings"] or not asked_sets(study):
        return registry
    own = {name: {"checkpoint": rule, "engine": "rule", "family": "rule", "display_name": name} for name, rule in RULES.items()}
    lacking = with_defaults({name: card for name, card in own.items() if name not in registry}, "models")
    registry = registry | {model: {"model": model} | card for model, card in lacking.items()}
    rules = [model for model, card in registry.items() if card["engine"] == "rule"]
    for model in block["controls"]:
        if model not in rules:
            problem = f"{model} is not a rule of the registry{did_you_mean(model, rules)}"
            raise UserError("worldsense.controls", problem, f"Choose from {', '.join(rules)}.")
    for model in study["models"]:
        if study["ewok"] is not None and model in rules:
            problem = f"{model} is a rule for WorldSense's trials, and EWoK asks about other things."
            raise UserError("models", problem, "Name it in worldsense.controls.")
    for model in asked_models(study):
        if model not in registry:
            problem = f"{model} is not in the registry{did_you_mean(model, registry)}"
            raise UserError("worldsense.models", problem, "Correct the name, or add an entry to the registry.")
        if not registry[model]["checkpoint"]:
            problem = f"{model} learns from EWoK's stories, and this study has no EWoK."
            raise UserError("worldsense.models", problem, "Name other models, or put the block `ewok` back.")
    fix = "Leave it out of worldsense.models (null means all models of the study), or set worldsense: null."
    refuse_prompted(registry, asked_models(study), "worldsense.models", fix)
    return registry
