# Models: what their cards say, fetching them, and how their jobs load them.


from worldprobe.settings.registry import LOADED, loading_words


def needed(wildcards):
    """What a job that loads a model asks of a machine."""
    return needs(registry[wildcards.model], site["gpu_memory_gb"])


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
    name = "vllm" if registry[wildcards.model]["engine"] == "vllm" else "scoring"
    return f"../../../envs/{name}.yaml"


def own_weights(wildcards):
    """The files of a job's model in a folder of the user's; none of any other model."""
    return settings.model_files(registry[wildcards.model])


def weights_of(model):
    """What must be there before a model is loaded, and reruns its jobs when it changes."""
    return settings.weight_files(registry[model], f"{STUDY.models}/{model}")


def weight_inputs(wildcards):
    """The same of a job's model."""
    return weights_of(wildcards.model)
