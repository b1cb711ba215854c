# WorldSense's settings, as options of its commands (docs/worldsense.md).


from worldprobe.benchmarks.worldsense import outputs as worldsense_outputs
from worldprobe.benchmarks.worldsense.inference.prompts import load_prompt_set, prompt_file
from worldprobe.benchmarks.worldsense.settings import TrialAsking, Subset
from worldprobe.benchmarks.worldsense.skins.skins import skin_files
from worldprobe.models.registry import chat_template

worldsense = study["worldsense"]


pathvars:
    worldsense=f"{STUDY.root}/worldsense",


#: The skins, so that an edit of any makes the sets again.
SKIN_FILES = list(
    map(str, skin_files(worldsense["skin_folder"] or in_repository("resources/skins")))
)
#: Which skins are read, and in which version of the wording, as options.
WORDING = options(worldsense, ("skin_folder", "wording_version"))
#: Which part of a set the study asks for, as options.
SUBSET = options(worldsense, Subset.model_fields)
#: How many of its trials are taken, as an option.
SAMPLE = options(sample=worldsense["limit"])
#: The same of solved trials for examples, with the seed after the study's.
EXAMPLES = {"seed": worldsense["seed"] + 1, "per_cell": worldsense["asking"]["examples_per_cell"]}
EXAMPLES_SUBSET = options(worldsense | EXAMPLES, Subset.model_fields)

#: The sets that are asked, and their trials.
ASKED_SETS = worldsense_outputs.asked_sets(study)
TRIAL_TABLES = [worldsense_outputs.trial_table(study, name) for name in ASKED_SETS]
#: The prompt sets of each set that is asked, as files: an edit asks again.
PROMPTINGS = [
    [as_seen(prompt_file(place)) for place in worldsense_outputs.prompting_places(study, name)]
    for name in ASKED_SETS
]
PROMPTING_FILES = list(dict.fromkeys(path for files in PROMPTINGS for path in files))
#: Solved trials from which examples are drawn: the whole released sets, or others like ours; one table for all sets, where only
#: the main one is asked by strategies that show examples, or one each.
SHOWING = [
    name
    for name, files in zip(ASKED_SETS, PROMPTINGS)
    if any(load_prompt_set(path).examples for path in files)
]
EXAMPLE_TABLES = [
    worldsense_outputs.examples_table(study, name)
    for name in (SHOWING if len(SHOWING) < 2 else ASKED_SETS)
]


def released_set(wildcards):
    """The released trials of a set."""
    return worldsense_outputs.released_trials(worldsense["released"], wildcards.set)


def asking_options(wildcards):
    """How trials are asked, as options."""
    how, card = worldsense["asking"], registry[wildcards.model]
    lists = [",".join(files) for files in PROMPTINGS]
    spending = ("max_requests", "max_tokens") if wildcards.model in SERVED else ()
    return options(
        how | {"chat_template": chat_template(how, card)},
        (*TrialAsking.model_fields, *spending),
        prompting=list(dict.fromkeys(lists)) if len(set(lists)) == 1 else lists,
        skin_folder=worldsense["skin_folder"],
        examples=EXAMPLE_TABLES,
    )
