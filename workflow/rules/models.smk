# Models: what their cards say, fetching them, and how their jobs load them.


from worldprobe.settings.registry import LOADED, loading_words


@cache
def needs_of(model):
    """What a job that loads a model asks of a machine."""
    return needs(registry[model], site["gpu_memory_gb"])


def needed(wildcards):
    """The same of a job's model."""
    return needs_of(wildcards.model)


def need(resource, needed=needed):
    """A function that says what a job asks for: gpus, threads, and, more with each attempt, mem_mb and runtime.

    devices are its GPUs however the site is asked for them.
    """

    def look_up(wildcards, attempt):
        if resource == "gpus" and ASKS_BY_GRES:
            return 0
        name = "gpus" if resource == "devices" else resource
        return getattr(needed(wildcards).in_attempt(attempt, site["longest_minutes"]), name)

    return look_up


def on_site(fact, needed=needed):
    """A function that says where a job is to run: partition, constraint, gpu_model, gres; all but the first only with GPUs.

    None where the site names none: there is nothing to look up, job by job.
    """
    if not site[fact] and not (fact == "partition" and site["gpu_partition"]):
        return None

    def look_up(wildcards):
        gpus = needed(wildcards).gpus
        if fact == "partition":
            return (gpus and site["gpu_partition"]) or site["partition"]
        if not gpus or fact == ("gpu_model" if ASKS_BY_GRES else "gres"):
            return None
        return f"{site['gres']}:{gpus}" if fact == "gres" else site[fact]

    return look_up


def machine(needed=needed):
    """Resources of a job with a model, given what it needs."""
    return {
        "gpu": need("gpus", needed),
        "gpu_model": on_site("gpu_model", needed),
        "gres": on_site("gres", needed),
        "constraint": on_site("constraint", needed),
        "slurm_partition": on_site("partition", needed),
        "mem_mb": need("mem_mb", needed),
        "runtime": need("runtime", needed),
        "devices": need("devices", needed),
    }


#: What must be known to fetch a model.
FETCHED = ("revision", "adapter", "allow_pickle", "trust_remote_code")


def card_options(model, keys):
    """Keys of a model's card that say how it is loaded, besides its checkpoint, as options."""
    return " ".join(map(quote, loading_words(registry[model], keys)))


def model_options(wildcards):
    """A job's model, how it is loaded, and where its answers are kept, as options."""
    model = wildcards.model
    named = options(model=model, checkpoint=registry[model]["checkpoint"], answers=STUDY.answers)
    return f"{named} {card_options(model, LOADED)}"


def source_words(model):
    """A model's checkpoint, and what else must be known to fetch it, as a command takes them."""
    return f"{quote(registry[model]['checkpoint'])} {card_options(model, FETCHED)}"


def fetching(wildcards):
    """The same of a job's model."""
    return source_words(wildcards.model)


def engine_environment(wildcards):
    """The conda file of a model's engine, for --sdm conda: vLLM brings its own PyTorch."""
    name = "vllm" if registry[wildcards.model]["engine"] == "vllm" else "scoring"
    return f"../../../envs/{name}.yaml"


@cache
def files_of(model):
    """The files of a model in a folder of the user's; none of any other model."""
    card = registry[model]
    return [] if card.get("control") or card.get("tuned") else model_files(card)


def own_weights(wildcards):
    """The same of a job's model."""
    return files_of(wildcards.model)


def weight_inputs(wildcards):
    """What must be there before a model is loaded, and reruns its job when it changes.

    A control model's folder, the files of a local folder, or the note that a hub model was fetched.
    """
    model, entry = wildcards.model, registry[wildcards.model]
    if entry.get("control") or entry.get("tuned"):
        return [entry["checkpoint"]]
    if is_folder(entry) or entry["engine"] in ("openai", "rule"):
        return files_of(model)
    return [*files_of(model), f"{STUDY.models}/{model}/{source_key(entry)}.json"]
