# WorldSense's settings, as options of its commands (docs/worldsense.md).


import json

from worldprobe.benchmarks.worldsense import outputs as worldsense_outputs
from worldprobe.benchmarks.worldsense.inference.prompts import load_prompt_set, prompt_file
from worldprobe.benchmarks.worldsense.settings import Asking, Part
from worldprobe.benchmarks.worldsense.skins.skins import skin_files as files_of_skins

worldsense = study["worldsense"]


pathvars:
    worldsense=f"{STUDY.root}/worldsense",


def skin_folder():
    """The folder of skins."""
    return worldsense.get("skin_folder") or in_repository("resources/skins")


def wording():
    """Which skins are read, and in which version of the wording, as options."""
    return options({key: worldsense[key] for key in ("skin_folder", "wording_version")})


def skin_files():
    """The skins, so that an edit of any makes the sets again."""
    return [str(path) for path in files_of_skins(skin_folder())]


def subset(**changed):
    """Which part of a set the study asks for, as options."""
    return options({key: worldsense[key] for key in Part.model_fields} | changed)


@cache
def prompting_files():
    """The files of the prompt sets: an edit asks again."""
    files = [prompt_file(name) for name in worldsense["promptings"]]
    return [
        in_repository(path.relative_to(HOME)) if path.is_relative_to(HOME) else str(path)
        for path in files
    ]


def needs_examples():
    """Whether a strategy shows solved examples."""
    return any(load_prompt_set(name).examples for name in worldsense["promptings"])


@cache
def example_tables():
    """Solved trials from which examples are drawn, one table per set, where they are needed."""
    if worldsense["released"] or not needs_examples():
        return []  # released trials are their own examples
    return [
        worldsense_outputs.examples_table(study, name)
        for name in worldsense_outputs.asked_sets(study)
    ]


def asking_options(wildcards):
    """How trials are asked, as options."""
    how, entry = worldsense["asking"], registry[wildcards.model]
    chosen = {key: how[key] for key in Asking.model_fields}
    if how["chat_template"] == "auto":
        chosen["chat_template"] = "always" if entry["chat"] else "never"
    if entry["engine"] == "openai":
        chosen |= {key: how[key] for key in ("max_requests", "max_tokens")}
    chosen |= {"skin_folder": worldsense["skin_folder"], "examples": example_tables()}
    return flags(flag("--prompting", ",".join(prompting_files())), options(chosen))


def examples_subset():
    """As ``subset``, with the seed after the study's: solved trials for examples."""
    return subset(seed=worldsense["seed"] + 1, per_cell=worldsense["asking"]["examples_per_cell"])


def answer_tables():
    """The responses of all models that have any, and of the rules."""
    return [
        path
        for model in worldsense_outputs.answered(study, ALL_WITH_ANSWERS)
        for path in worldsense_outputs.left_by(study, model)
    ]


def answered_sets(wildcards):
    """Every set with its trials and its responses, as options."""
    options = []
    for name in worldsense_outputs.asked_sets(study):
        found = [
            worldsense_outputs.responses(study, name, prompting, model)
            for model in worldsense_outputs.answered(study, ALL_WITH_ANSWERS)
            for prompting in worldsense_outputs.promptings(study)
        ]
        options.append(flag("--set", [name, worldsense_outputs.trial_table(study, name), *found]))
    return flags(*options, flag("--skin-folder", worldsense["skin_folder"]))


def missing_answers(wildcards):
    """The models whose answers could not be computed, as an option."""
    asked = worldsense_outputs.asked_models(study)
    return flag(
        "--missing", [f"{model}={reason}" for model, reason in MISSING.items() if model in asked]
    )


def lesson_options(wildcards):
    """How lessons are drawn, as options."""
    return flag("--settings", json.dumps(worldsense["finetuning"]["lessons"][wildcards.name]))
