# Models: what their cards say, fetching them, and how their jobs load them.


from worldprobe.settings.registry import LOADED, loading_words


def card(field):
    """A function that looks a field up in the registry entry of a job's model."""

    def look_up(wildcards):
        return registry[wildcards.model][field]

    return look_up


def need(resource):
    """A function that says what a job's model needs of a machine: gpus, threads, and, more with each attempt, mem_mb and runtime.

    devices are its GPUs however the site is asked for them.
    """

    def look_up(wildcards, attempt):
        wanted = needs(registry[wildcards.model], site["gpu_memory_gb"])
        return asked_for(resource, wanted, attempt)

    return look_up


def asked_for(resource, wanted, attempt):
    """How much a job asks for of one resource."""
    if resource == "gpus" and ASKS_BY_GRES:
        return 0
    name = "gpus" if resource == "devices" else resource
    return getattr(wanted.in_attempt(attempt, site["longest_minutes"]), name)


def on_site(fact):
    """A function that says where a job's model is to run: partition, constraint, gpu_model, gres; all but the first only with GPUs.

    None where the site names none: there is nothing to look up, job by job.
    """
    if not any(
        site[key] for key in (("partition", "gpu_partition") if fact == "partition" else (fact,))
    ):
        return None

    def look_up(wildcards):
        return fact_for(fact, needs(registry[wildcards.model], site["gpu_memory_gb"]).gpus)

    return look_up


def fact_for(fact, gpus):
    """A fact of the site for a job with so many GPUs."""
    if fact == "partition":
        return (gpus and site["gpu_partition"]) or site["partition"]
    if not gpus or (fact == "gpu_model" and ASKS_BY_GRES) or (fact == "gres" and not ASKS_BY_GRES):
        return None
    return f"{site['gres']}:{gpus}" if fact == "gres" else site[fact]


#: What must be known to fetch a model.
FETCHED = ("revision", "adapter", "allow_pickle", "trust_remote_code")


#: Resources of a job that loads a model.
model_job = {
    "gpu": need("gpus"),
    "gpu_model": on_site("gpu_model"),
    "gres": on_site("gres"),
    "constraint": on_site("constraint"),
    "slurm_partition": on_site("partition"),
    "mem_mb": need("mem_mb"),
    "runtime": need("runtime"),
    "devices": need("devices"),
}


def card_options(model, keys=LOADED):
    """Keys of a model's card that say how it is loaded, besides its checkpoint, as options."""
    return flags(*map(quote, loading_words(registry[model], keys)))


def loading(wildcards):
    """How a job's model is loaded, as options."""
    return card_options(wildcards.model)


def fetching(wildcards):
    """What of it must be known to fetch a job's model, as options."""
    return card_options(wildcards.model, FETCHED)


def engine_environment(wildcards):
    """The conda file of a model's engine, for --sdm conda: vLLM brings its own PyTorch."""
    name = "vllm" if registry[wildcards.model]["engine"] == "vllm" else "scoring"
    return f"../../../envs/{name}.yaml"


def own_weights(wildcards):
    """The files of a model in a folder of the user's; none of any other model."""
    entry = registry[wildcards.model]
    return [] if entry.get("control") or entry.get("tuned") else model_files(entry)


def weight_inputs(wildcards):
    """What must be there before a model is loaded, and reruns its job when it changes.

    A control model's folder, the files of a local folder, or the note that a hub model was fetched.
    """
    entry = registry[wildcards.model]
    if entry.get("control") or entry.get("tuned"):
        return [entry["checkpoint"]]
    local = own_weights(wildcards)
    if is_folder(entry) or entry["engine"] in ("openai", "rule"):
        return local
    return [*local, f"{STUDY.models}/{wildcards.model}/{source_key(entry)}.json"]
