# EWoK: how the settings of a study become inputs and options of its rules.


from worldprobe.benchmarks.ewok import outputs as ewok_outputs
from worldprobe.benchmarks.ewok import study as ewok_study
from worldprobe.models.registry import BASELINES, RELATEDNESS
from worldprobe.paths import materials_place

ewok = study["ewok"]


pathvars:
    ewok=f"{STUDY.root}/ewok",


# Inherited by every job, on this machine and on a cluster; never part of a command line or a log.
if ewok["materials"]["password"] is not None:
    os.environ.setdefault("WORLDPROBE_MATERIALS_PASSWORD", ewok["materials"]["password"])


wildcard_constraints:
    baseline=one_of(BASELINES),
    condition=one_of(ewok_outputs.conditions(study)),


#: The materials' folder or archive, as the commands take it.
MATERIAL_SOURCE = ewok["materials"]["source"]
if ewok_study.is_builtin(study):
    MATERIAL_SOURCE = in_repository(materials_place(MATERIAL_SOURCE))
#: What of the materials is the user's: not an archive that a rule fetches and checks.
OWN_MATERIALS = [] if MATERIAL_SOURCE in benchmarks.downloads(study) else [MATERIAL_SOURCE]
#: Whether the original generator is repeated, and only the items of the official release are kept, as options.
COMPAT = options(ewok["materials"], ["compat"])
IS_FILTERED = ewok["materials"]["release_filter"] or None
RELEASE_FILTER = options(release_filter=IS_FILTERED, materials=IS_FILTERED and MATERIAL_SOURCE)


def material_files(wildcards):
    """All files of the materials, so that an edit of any recompiles; a source that is not there yet must be made by a rule."""
    return files_in(MATERIAL_SOURCE) if os.path.isdir(MATERIAL_SOURCE) else [MATERIAL_SOURCE]


def filling(wildcards):
    """How one version of a condition's items is filled, as options."""
    items = ewok["conditions"][wildcards.condition]["items"]
    keys = ("mode", "seed", "swap", "filter", "limit")
    return options(items, keys, compat=ewok["materials"]["compat"])


def prompting_options(wildcards):
    """How Likert and Choice ask, as options: one value per condition."""
    return options(ewok_outputs.prompting(study, registry[wildcards.model]))


#: The files of the prompts, where models are prompted: an edit asks again.
PROMPT_FILES = sorted(map(as_seen, ewok_outputs.prompt_files(study)))
#: What baselines read: word vectors that a rule trains or the user gave, a folder, or a package URL of one.
BASELINE_SOURCES = ewok["baselines"] | {"word2vec": ewok["baselines"]["word2vec"]["vectors"]}


def baseline_files(wildcards):
    """What must be there before a baseline is scored."""
    if wildcards.baseline == "relatedness":
        return [f"<ewok>/baselines/{wildcards.condition}/{name}.parquet" for name in RELATEDNESS]
    source = BASELINE_SOURCES[wildcards.baseline]
    if source.startswith("pkg:"):
        return f"<ewok>/baselines/{wildcards.baseline}.json"
    return "<controls>/vectors.kv" if source == "trained" else source


def baseline_content(baseline):
    """The files of the user's that a baseline reads."""
    return [BASELINE_SOURCES.get(baseline, "")]


def baseline_source(wildcards, input):
    """What a baseline reads, as the command takes it."""
    source = BASELINE_SOURCES.get(wildcards.baseline, "")
    return source if source.startswith("pkg:") else input.source


#: The models without answers, as an option; they are named in what is made without them.
missing = missing_option(study["models"])


def notebook_file(wildcards):
    """A notebook of the working directory, or else of this repository."""
    path = f"notebooks/{wildcards.notebook}.ipynb"
    return [path if os.path.isfile(path) else in_repository(path)]
