# WorldSense's settings, as options of its commands (docs/worldsense.md).


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


def skin_files():
    """The skins, so that an edit of any makes the sets again."""
    return [str(path) for path in files_of_skins(skin_folder())]


def subset(**changed):
    """Which part of a set the study asks for, as options."""
    return options(worldsense | changed, Part.model_fields)


@cache
def prompting_files():
    """The files of the prompt sets: an edit asks again."""
    return [as_seen(prompt_file(name)) for name in worldsense["promptings"]]


@cache
def example_tables():
    """Solved trials from which examples are drawn, one table per set, where a strategy shows examples."""
    if worldsense["released"] or not any(
        load_prompt_set(name).examples for name in worldsense["promptings"]
    ):
        return []  # released trials are their own examples
    return [worldsense_outputs.examples_table(study, name) for name in ASKED_SETS]


def asking_options(wildcards):
    """How trials are asked, as options."""
    how, entry = worldsense["asking"], registry[wildcards.model]
    if how["chat_template"] == "auto":
        how = how | {"chat_template": "always" if entry["chat"] else "never"}
    spending = ("max_requests", "max_tokens") if entry["engine"] == "openai" else ()
    return options(
        how,
        (*Asking.model_fields, *spending),
        prompting=",".join(prompting_files()),
        skin_folder=worldsense["skin_folder"],
        examples=example_tables(),
    )


def examples_subset():
    """As ``subset``, with the seed after the study's: solved trials for examples."""
    return subset(seed=worldsense["seed"] + 1, per_cell=worldsense["asking"]["examples_per_cell"])


#: Which skins are read, and in which version of the wording, as options.
WORDING = options(worldsense, ("skin_folder", "wording_version"))
#: The sets that are asked, and their trials.
ASKED_SETS = worldsense_outputs.asked_sets(study)
TRIAL_TABLES = [worldsense_outputs.trial_table(study, name) for name in ASKED_SETS]
#: The models that have responses, and the rules.
ANSWERING = worldsense_outputs.answered(study, ALL_WITH_ANSWERS)
RESPONSE_TABLES = [path for model in ANSWERING for path in worldsense_outputs.left_by(study, model)]
#: Every set with its trials and its responses, as options.
ANSWERED_SETS = options(
    set=[
        [
            name,
            worldsense_outputs.trial_table(study, name),
            *(
                worldsense_outputs.responses(study, name, prompting, model)
                for model in ANSWERING
                for prompting in worldsense_outputs.promptings(study)
            ),
        ]
        for name in ASKED_SETS
    ],
    skin_folder=worldsense["skin_folder"],
)
