# Models: what their cards say, fetching them, and how their jobs load them.


from worldprobe.models.registry import loading_options, trust_options


def card(field):
    """A function that looks a field up in the registry entry of a job's model."""

    @asked_often
    def look_up(wildcards):
        return registry[wildcards.model][field]

    return look_up


def need(resource):
    """A function that says what a job's model needs of a machine: gpus, threads, and, more with each attempt, mem_mb and runtime."""

    @asked_often
    def look_up(wildcards, attempt):
        wanted = needs(registry[wildcards.model], site["gpu_memory_gb"])
        if resource == "gpus" and ASKS_BY_GRES:
            return 0
        return getattr(wanted.in_attempt(attempt, site["longest_minutes"]), resource)

    return look_up


def on_site(fact):
    """A function that says where a job's model is to run: partition, constraint, gpu_model, gres; all but the first only with GPUs.

    None where the site names none: there is nothing to look up, job by job.
    """
    if not any(
        site[key] for key in (("partition", "gpu_partition") if fact == "partition" else (fact,))
    ):
        return None

    @asked_often
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


@once_per_model
def loading(wildcards):
    """How a model is loaded, as options: its engine with what only that engine takes, and what its checkpoint may do."""
    return flags(*map(quote, loading_options(registry[wildcards.model])))


@once_per_model
def speed(wildcards):
    """Options that change how fast a model answers and nothing else. A resource: unlike a parameter it reruns nothing."""
    entry = registry[wildcards.model]
    wanted = needs(entry, site["gpu_memory_gb"])
    gpus = wanted.gpus
    return flags(
        flag("--threads", entry["engine"] == "transformers" and wanted.threads == 1 and "1"),
        flag("--gpus", str(gpus) if entry["engine"] == "transformers" else gpus or None),
        flag("--tensor-parallel", entry["engine"] == "vllm" and max(gpus, 1)),
        flag("--concurrency", entry["engine"] == "openai" and entry["concurrency"]),
    )


@once_per_model
def adapter(wildcards):
    """The adapter that is put on a model, as an option."""
    return flag("--adapter", registry[wildcards.model].get("adapter"))


@once_per_model
def trust(wildcards):
    """What a model's checkpoint may do, as options."""
    return flags(*trust_options(registry[wildcards.model]))


@once_per_model
def engine_environment(wildcards):
    """The conda file of a model's engine, for --sdm conda: vLLM brings its own PyTorch."""
    name = "vllm" if registry[wildcards.model]["engine"] == "vllm" else "scoring"
    return f"../../../envs/{name}.yaml"


@once_per_model
def own_weights(wildcards):
    """The files of a model in a folder of the user's; none of any other model."""
    entry = registry[wildcards.model]
    return [] if entry.get("control") or entry.get("tuned") else model_files(entry)


@once_per_model
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
