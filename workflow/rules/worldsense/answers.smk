# Models answer trials (docs/worldsense.md). Finished answers outlive their job: they are in results/.answers.


use rule generate_set as generate_examples with:
    """Solved trials like those of a set, drawn with another seed, for strategies that show examples."""
    output:
        trials="<worldsense>/examples/{set}.parquet",
    log:
        "<logs>/generate_examples/{set}.log",
    benchmark:
        "<benchmarks>/generate_examples/{set}.tsv"
    localrule: True
    params:
        subset=EXAMPLES_SUBSET,
    message:
        "Generating examples for WorldSense's set {wildcards.set}"


rule ask:
    """Responses: what a model answers in every trial of every set, by every prompting strategy, loaded once."""
    input:
        trial_tables=TRIAL_TABLES,
        example_tables=EXAMPLE_TABLES,
        prompt_sets=PROMPTING_FILES,
        weights=weight_inputs,
    output:
        responses=worldsense_outputs.left_by(study, "{model}"),
    log:
        "<logs>/ask/{model}.log",
    benchmark:
        "<benchmarks>/ask/{model}.tsv"
    wildcard_constraints:
        model=one_of(NOT_SERVED),
    conda:
        engine_environment
    threads: threads_needed
    resources:
        **machine(partial(needed, rule="ask")),
    params:
        model=model_options,
        kept_since=kept_since("ask"),
        asking=asking_options,
        contents=contents(own_weights, PROMPTING_FILES),
        method=methods.ASK,
        reading=methods.READING,
    message:
        f"Asking {{wildcards.model}} (WorldSense){REQUEST}"
    shell:
        "worldprobe worldsense ask {input.trial_tables:q} {params.model} --gpus {resources.devices} {params.kept_since}"
        " {params.asking} --out {output.responses:q} &> {log:q}"


use rule ask as ask_server with:
    """The same of a model on a server, asked from beside Snakemake."""
    wildcard_constraints:
        model=one_of(SERVED),
    localrule: True
    message:
        "Asking {wildcards.model} on its server (WorldSense)"
