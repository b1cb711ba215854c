# What is fine-tuned, as options of its commands and as what its jobs need (docs/extras/worldsense_training.md).


import json

from worldprobe_training import trainings as tunings

TRAININGS = tunings.trainings(study)
TRAINING_SETS = tunings.generated_sets(study)
STARTS = tunings.block(study)["start"]
#: What no training may contain.
FORBIDDEN_SETS = tunings.forbidden_sets(study)


def training_part(wildcards):
    """Which part of a set is generated for training, as options."""
    part = {"seed": worldsense["seed"], **TRAINING_SETS[wildcards.key]}
    return f"{part['set']} {options(part, tunings.OF_SETS)} {WORDING}"


def lesson_options(wildcards):
    """How lessons are drawn, as options."""
    return options(settings=json.dumps(worldsense["finetuning"]["lessons"][wildcards.name]))


def start_options(wildcards):
    """How a small model is made, as options."""
    tokenizer = tunings.tokenizer_of(study, wildcards.base)
    return options(STARTS[wildcards.base], tunings.StartSettings.model_fields, tokenizer=tokenizer)


def trained_on(kind):
    """A function that gives the files of a training: train or mix."""

    def files(wildcards):
        return tunings.training_files(study, getattr(TRAININGS[wildcards.tuned], kind))

    return files


def mix_options(wildcards):
    """What a training's files are mixed with, as options."""
    return options(mix=trained_on("mix")(wildcards))


def start_tokenizer(base):
    """The tokenizer of a small model, if it is not made for it."""
    return tunings.tokenizer_of(study, base) or []


def training_files_of_users(wildcards):
    """The files of a training that people edit: weights in a folder of theirs, and training files."""
    one = TRAININGS[wildcards.tuned]
    weights = [] if one.before else settings.model_files(registry[one.base])
    return [*weights, *(part["file"] for part in (*one.train, *one.mix) if "file" in part)]


def base_weights(wildcards):
    """What must be there before a training begins."""
    one = TRAININGS[wildcards.tuned]
    return [one.before] if one.before else weights_of(one.base)


def base_options(wildcards):
    """The model that is trained, and what its checkpoint may do, as a command's words."""
    one = TRAININGS[wildcards.tuned]
    return shlex.quote(one.before) if one.before else source_words(one.base)


def tuning_options(wildcards):
    """The settings of a training, as options."""
    return options(TRAININGS[wildcards.tuned].stated(), skin_folder=worldsense["skin_folder"])


def tuning_needed(wildcards):
    """What a training asks of a machine."""
    one = TRAININGS[wildcards.tuned]
    return tuning_needs(registry[one.base], one.settings, site["gpu_memory_gb"])


def tuning_threads(wildcards):
    """The threads of a training."""
    return tuning_needed(wildcards).threads


def external_options(wildcards):
    """How other benchmarks are asked, as options."""
    card = registry[wildcards.model]
    revision = None if card.get("tuned") else card["revision"]
    asked = {"tasks": tunings.block(study)["external"], "revision": revision}
    return f"{shlex.quote(card['checkpoint'])} {options(card, ('dtype', 'trust_remote_code'), **asked)}"
