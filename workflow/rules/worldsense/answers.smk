# Models answer trials (docs/worldsense.md). Finished answers outlive their job: they are in results/.answers.


localrules:
    generate_examples,


rule generate_examples:
    """Solved trials like those of a set, drawn with another seed, for strategies that show examples."""
    input:
        skins=skin_files(),
    output:
        trials="<worldsense>/examples/{name}.parquet",
    log:
        "<logs>/generate_examples/{name}.log",
    benchmark:
        "<benchmarks>/generate_examples/{name}.tsv"
    wildcard_constraints:
        name="[a-z-]+",
    conda:
        "../../../envs/analysis.yaml"
    params:
        subset=examples_subset(),
        contents=contents(skin_files()),
        method=methods.TRIALS,
    message:
        "Generating examples for WorldSense's set {wildcards.name}"
    shell:
        "worldprobe worldsense generate {wildcards.name:q} {params.subset} --out {output.trials:q} &> {log:q}"


rule ask:
    """Responses: what a model answers in every trial of every set, by every prompting strategy, loaded once."""
    input:
        trial_tables=[
            worldsense_outputs.trial_table(study, name)
            for name in worldsense_outputs.asked_sets(study)
        ],
        example_tables=example_tables(),
        prompt_sets=prompting_files(),
        weights=weight_inputs,
    output:
        responses=worldsense_outputs.left_by(study, "{model}"),
    log:
        "<logs>/ask/{model}.log",
    benchmark:
        "<benchmarks>/ask/{model}.tsv"
    conda:
        engine_environment
    threads: need("threads")
    resources:
        **model_job,
    params:
        checkpoint=card("checkpoint"),
        loading=loading,
        kept_since=kept_since("ask"),
        asking=asking_options,
        answers=STUDY.answers,
        contents=contents(own_weights, prompting_files()),
        method=methods.ASK,
        reading=methods.READING,
    message:
        "Asking {wildcards.model} (WorldSense)"
    shell:
        "worldprobe worldsense ask {input.trial_tables:q} --model {wildcards.model:q}"
        " --checkpoint {params.checkpoint:q}"
        " {params.loading} --gpus {resources.devices} {params.kept_since}"
        " {params.asking}"
        " --answers {params.answers:q} --out {output.responses:q} &> {log:q}"
