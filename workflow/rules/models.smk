# Models and files: what their cards and entries say, fetching them, and how jobs load models.


from worldprobe import engines
from worldprobe.settings.registry import LOADED, loading_words
from worldprobe.sources import shipped_files

#: Models on servers: they are asked from beside Snakemake, where there is a network, and not on a compute node.
SERVED = [model for model, card in registry.items() if engines.of(card).is_remote]
NOT_SERVED = [model for model in registry if model not in SERVED]


def needed(wildcards, rule=None):
    """What a job that loads a model asks of a machine; a rule that evaluates it knows what it is asked."""
    if rule:
        return costs.job_needs(study, registry, site, wildcards.model, rule)
    return needs(registry[wildcards.model], site["gpu_memory_gb"])


def threads_needed(wildcards):
    """The threads of a job that loads a model."""
    return needed(wildcards).threads


#: What such a job asks for, as its message says it.
REQUEST = (
    ": GPUs {resources.devices}, {resources.mem_mb} MB, {resources.runtime} min"
    if ON_CLUSTER
    else ""
)


def machine(needed=needed):
    """Resources of a job with a model, given what it needs; each attempt asks for more."""

    def resource(name):
        def of_attempt(wildcards, attempt):
            return job_resources(needed(wildcards), site, attempt, ON_CLUSTER)[name]

        return of_attempt

    names = "gpu gpu_model gres constraint slurm_partition mem_mb runtime devices"
    return {name: resource(name) for name in names.split()}


#: The models that have stand-ins, in a rehearsal.
STAND_INS = {model: card for model, card in registry.items() if card.get("stand_in")}
#: What must be known to fetch a model.
FETCHED = ("revision", "adapter", "allow_pickle", "trust_remote_code")


def model_options(wildcards):
    """A job's model, how it is loaded, and where its answers are kept, as options."""
    card = registry[wildcards.model]
    named = options(model=wildcards.model, checkpoint=card["checkpoint"], answers=STUDY.answers)
    return f"{named} {shlex.join(loading_words(card, LOADED))}"


def source_words(model):
    """A model's checkpoint, and what else must be known to fetch it, as a command takes them."""
    card = registry[model]
    return f"{shlex.quote(card['checkpoint'])} {shlex.join(loading_words(card, FETCHED))}"


def engine_environment(wildcards):
    """The conda file of a model's engine, for --sdm conda: vLLM brings its own PyTorch."""
    name = engines.of(registry[wildcards.model]).environment
    return name if name.endswith(".yaml") else f"../../../envs/{name}.yaml"


def own_weights(wildcards):
    """The files of a job's model in a folder of the user's; none of any other model."""
    return settings.model_files(registry[wildcards.model])


def weights_of(model):
    """What must be there before a model is loaded, and reruns its jobs when it changes."""
    return settings.weight_files(registry[model], f"{STUDY.models}/{model}")


def weight_inputs(wildcards):
    """The same of a job's model."""
    return weights_of(wildcards.model)


#: Path below resources/downloads -> the file of resources/sources.yaml.
SOURCES = {file.path.removeprefix(f"{DOWNLOADS}/"): file for file in shipped_files().values()}


def source_name(wildcards):
    """Which file of the listing is downloaded, as the command takes it."""
    return SOURCES[wildcards.download].name


def source_identity(wildcards):
    """Where it comes from and what it is: another one is downloaded again."""
    file = SOURCES[wildcards.download]
    return f"{file.url} {file.sha256 or file.md5}"
