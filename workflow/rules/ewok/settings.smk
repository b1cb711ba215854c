# EWoK: how the settings of a study become inputs and options of its rules.


from worldprobe.benchmarks.ewok import outputs as ewok_outputs
from worldprobe.benchmarks.ewok.study import prompt_file as ewok_prompt_file
from worldprobe.benchmarks.ewok.settings import ARCHIVE
from worldprobe.models.registry import BASELINES
from worldprobe.paths import EDITIONS, REPOSITORY, edition

ewok = study["ewok"]
#: The folder of the materials, where they are an edition of the built-in ones.
OWN_MATERIALS = EDITIONS.get(edition(ewok["materials"]["source"]))


pathvars:
    ewok=f"{STUDY.root}/ewok",


# Inherited by every job, on this machine and on a cluster; never part of a command line or a log.
if ewok["materials"]["password"] is not None:
    os.environ.setdefault("WORLDPROBE_MATERIALS_PASSWORD", ewok["materials"]["password"])


#: Baselines whose package `make reproduce` has just tried to fetch in vain: this run leaves them alone.
WITHOUT_BASELINES = share_with_jobs(
    dict.fromkeys(not_fetched(study, BASELINES), "its package could not be fetched"),
    workflow.is_main_process,
    "WORLDPROBE_WITHOUT_BASELINES",
)
for baseline, reason in WITHOUT_BASELINES.items():
    ewok["baselines"][baseline] = None
    if workflow.is_main_process:
        print(
            f"Baseline {baseline} is left out: {reason}. `make reproduce` tries again.",
            file=sys.stderr,
        )


wildcard_constraints:
    baseline="|".join(BASELINES),
    condition="|".join(map(re.escape, ewok_outputs.conditions(study))),


#: The materials' folder or archive, as the commands take it.
MATERIAL_SOURCE = (
    in_repository(OWN_MATERIALS.relative_to(REPOSITORY))
    if OWN_MATERIALS
    else ewok["materials"]["source"]
)
#: Whether the original generator is repeated, and only the items of the official release are kept, as options.
COMPAT = options(ewok["materials"], ["compat"])
RELEASE_FILTER = (
    options(release_filter=True, materials=MATERIAL_SOURCE)
    if ewok["materials"]["release_filter"]
    else ""
)


def material_files(wildcards):
    """All files of the materials, so that an edit of any recompiles; a source that is not there yet must be made by a rule."""
    if OWN_MATERIALS:
        return [in_repository(path.relative_to(REPOSITORY)) for path in files_below(OWN_MATERIALS)]
    source = Path(ewok["materials"]["source"])
    if source.is_dir():
        return [str(path) for path in files_below(source)]
    return [str(source)]


def own_materials(wildcards):
    """As ``material_files``, without the archive that a rule fetches and checks."""
    return [] if ewok["materials"]["source"] == ARCHIVE else material_files(wildcards)


def filling(wildcards):
    """How one version of a condition's items is filled, as options."""
    items = ewok["conditions"][wildcards.condition]["items"]
    keys = ("mode", "seed", "swap", "filter", "limit")
    return options(items, keys, compat=ewok["materials"]["compat"])


def template_table(wildcards):
    """The templates of a condition: the domains', or the families'."""
    return ewok_outputs.template_table(study, wildcards.condition)


def version_tables(wildcards):
    """The versions of a condition's items."""
    return ewok_outputs.version_tables(study, wildcards.condition)


def prompting_options(wildcards):
    """How Likert and Choice ask, as options: one value per condition."""
    if ewok["eval_types"] == ["logprobs"]:
        return ""
    prompting = [condition["prompting"] for condition in ewok["conditions"].values()]
    card = registry[wildcards.model]
    limits = {key: [how[key] or 0 for how in prompting] for key in ("thoughts", "limit")}
    return options(
        {key: values for key, values in limits.items() if any(values)},
        prompts=[how["prompts"] for how in prompting],
        both_orders=["yes" if how["swap"] else "no" for how in prompting],
        chat_template=[ewok_outputs.chat_template(how, card) for how in prompting],
    )


@cache
def prompt_files():
    """The files of the prompts, where models are prompted: an edit asks again."""
    if ewok["eval_types"] == ["logprobs"]:
        return []
    names = {condition["prompting"]["prompts"] for condition in ewok["conditions"].values()}
    return sorted(as_seen(ewok_prompt_file(name)) for name in names)


def chosen_source(wildcards):
    """What a baseline reads: word vectors that a rule trains or the user gave, a folder, or a package URL of one."""
    chosen = ewok["baselines"][wildcards.baseline]
    return chosen["vectors"] if wildcards.baseline == "word2vec" else chosen


def baseline_files(wildcards):
    """What must be there before a baseline is scored."""
    source = chosen_source(wildcards)
    if source.startswith("pkg:"):
        return f"<ewok>/baselines/{wildcards.baseline}.json"
    return "<controls>/vectors.kv" if source == "trained" else source


def baseline_source(wildcards, input):
    """What a baseline reads, as the command takes it."""
    source = chosen_source(wildcards)
    return source if source.startswith("pkg:") else input.source


def own_vectors(wildcards):
    """The file of word vectors, or the files of a folder, where they are the user's."""
    source = Path(chosen_source(wildcards))
    return [] if not source.exists() else files_below(source) if source.is_dir() else [source]


#: The published numbers and where they come from.
PUBLISHED = [in_repository(f"resources/published/{name}") for name in ("ewok.csv", "sources.yaml")]
#: The models without answers, as an option; they are named in what is made without them.
missing = missing_option(study["models"])


def notebook_file(wildcards):
    """A notebook of the working directory, or else of this repository."""
    path = f"notebooks/{wildcards.notebook}.ipynb"
    return [path if os.path.isfile(path) else in_repository(path)]
