# Models answer trials (docs/worldsense.md). Finished answers outlive their job: they are in results/.answers.


use rule generate_set as generate_examples with:
    """Solved trials like those of a set, drawn with another seed, for strategies that show examples."""
    output:
        trials="<worldsense>/examples/{set}.parquet",
    log:
        "<logs>/generate_examples/{set}.log",
    benchmark:
        "<benchmarks>/generate_examples/{set}.tsv"
    group:
        "items"
    params:
        subset=worldsense.examples_subset,
    message:
        "Generating examples for WorldSense's set {wildcards.set}"


rule ask:
    """Responses: what a model answers in every trial of every set, by every prompting strategy, loaded once."""
    input:
        trial_tables=worldsense.trial_tables,
        example_tables=worldsense.example_tables,
        prompt_sets=worldsense.prompt_sets,
        weights=this_run.weights,
    output:
        responses=worldsense_outputs.left_by(study, "{model}"),
    log:
        "<logs>/ask/{model}.log",
    benchmark:
        "<benchmarks>/ask/{model}.tsv"
    wildcard_constraints:
        model=one_of(this_run.not_served),
    retries: this_run.retries
    conda:
        this_run.engine_environment
    threads: this_run.threads
    resources:
        **this_run.machine("ask"),
    params:
        model=this_run.model_options,
        asking=worldsense.asking,
        contents=digest_edited(this_run.own_weights, worldsense.prompt_sets),
        method=methods.ASK,
        reading=methods.READING,
    message:
        f"Asking {{wildcards.model}} (WorldSense){this_run.request}"
    shell:
        "worldprobe attempt {wildcards.model:q} --tries-left {resources.tries_left} --inputs {input.weights:q} --"
        " worldsense ask {input.trial_tables:q} {params.model} --gpus {resources.devices} --kept-since {resources.kept_since}"
        " {params.asking} --out {output.responses:q} &> {log:q}"


use rule ask as ask_server with:
    """The same of a model on a server, asked from beside Snakemake."""
    wildcard_constraints:
        model=one_of(this_run.served),
    localrule: True
    message:
        "Asking {wildcards.model} on its server (WorldSense)"
