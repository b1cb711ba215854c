# What is fine-tuned, as options of its commands and as what its jobs need (docs/extras/worldsense_training.md).


import json

from worldprobe.benchmarks.ewok import outputs as ewok_outputs
from worldprobe_training import trainings as tunings

TRAININGS = tunings.trainings(study)
TRAINING_SETS = tunings.generated_sets(study)


def one_of_names(names):
    """A regular expression for some names; for none, one that nothing matches."""
    return "|".join(map(re.escape, names)) or "(?!)"


def training_part(wildcards):
    """Which part of a set is generated for training, as options."""
    part = {"seed": worldsense["seed"], **TRAINING_SETS[wildcards.key]}
    return f"{part['set']} {options(part, tunings.OF_SETS)} {WORDING}"


def lesson_options(wildcards):
    """How lessons are drawn, as options."""
    lessons = worldsense["finetuning"]["lessons"][wildcards.name]
    return options(settings=json.dumps(lessons))


def start_texts(wildcards):
    """What the tokenizer of a small model learns from: training files, or nothing where it is finished."""
    how = tunings.block(study)["start"][wildcards.base]
    return (
        []
        if how.get("tokenizer")
        else tunings.training_files(study, how.get("vocabulary_from", ()))
    )


def start_tokenizer(wildcards):
    """The finished tokenizer of a small model, if it has one."""
    named = tunings.block(study)["start"][wildcards.base].get("tokenizer")
    return f"{tunings.root(study)}/{named}" if named == tunings.PHRASES else named or []


def start_options(wildcards):
    """How a small model is made, as options."""
    how = tunings.block(study)["start"][wildcards.base]
    tokenizer = start_tokenizer(wildcards)
    return options(how, tunings.StartSettings.model_fields, tokenizer=tokenizer)


def mixed_in(wildcards):
    """What is mixed in, as an option."""
    return options(mix=tunings.training_files(study, TRAININGS[wildcards.tuned].mix))


def trained_on(kind):
    """A function that gives the files of a training: train or mix."""

    def look_up(wildcards):
        return tunings.training_files(study, getattr(TRAININGS[wildcards.tuned], kind))

    return look_up


def training_files_of_users(wildcards):
    """The files of a training that people edit: weights in a folder of theirs, and training files."""
    one = TRAININGS[wildcards.tuned]
    entry = registry[one.base]
    weights = [] if one.before or entry.get("control") else model_files(entry)
    return [*weights, *(part["file"] for part in (*one.train, *one.mix) if "file" in part)]


def base_weights(wildcards):
    """What must be there before a training begins."""
    one = TRAININGS[wildcards.tuned]
    if one.before:
        return [one.before]
    entry = registry[one.base]
    if entry.get("control"):
        return [entry["checkpoint"]]
    return model_files(entry) or [f"{STUDY.models}/{one.base}/{source_key(entry)}.json"]


def base_options(wildcards):
    """The model that is trained, and what its checkpoint may do, as a command's words."""
    one = TRAININGS[wildcards.tuned]
    return quote(one.before) if one.before else source_words(one.base)


def tuning_options(wildcards):
    """The settings of a training, as options."""
    return options(TRAININGS[wildcards.tuned].stated(), skin_folder=worldsense["skin_folder"])


def tuning_needed(wildcards):
    """What a training asks of a machine."""
    one = TRAININGS[wildcards.tuned]
    return tuning_needs(registry[one.base], one.settings, site["gpu_memory_gb"])


def forbidden_sets():
    """EWoK's items, and all sets that are asked but those that are training data by design, and those whose trials in the words of
    training may be drawn for both."""
    known = [
        name
        for name in worldsense_outputs.asked_sets(study)
        if not name.startswith(("memorisation", "same-skins"))
    ]
    sets = [worldsense_outputs.trial_table(study, name) for name in known]
    return [*sets, *(ewok_outputs.item_tables(study) if study["ewok"] else [])]


def external_options(wildcards):
    """How other benchmarks are asked, as options."""
    entry = registry[wildcards.model]
    chosen = options(
        entry,
        ("dtype", "trust_remote_code"),
        tasks=tunings.block(study)["external"],
        revision=None if entry.get("tuned") else entry["revision"],
    )
    return f"{quote(entry['checkpoint'])} {chosen}"


def external_answers():
    """What bases and fine-tuned models answer other benchmarks."""
    how = tunings.block(study)
    asked = dict.fromkeys([*how["bases"], *tunings.made_models(study)]) if how["external"] else ()
    return [f"{worldsense_outputs.root(study)}/external/{model}.csv" for model in asked]
