# Models answer items (EWoK, Section 4.1, Appendices A.3 and A.4). Finished answers outlive their job: they are in results/.answers.


rule score:
    """Scores and responses: what a model makes of every item of every condition, in every way of asking, loaded once."""
    input:
        item_tables=ewok_outputs.item_tables(study),
        weights=this_run.weights,
        prompts=ewok.prompt_files,
    output:
        evidence=ewok_outputs.evidence(study, "{model}"),
    log:
        "<logs>/score/{model}.log",
    benchmark:
        "<benchmarks>/score/{model}.tsv"
    wildcard_constraints:
        model=one_of(this_run.not_served),
    retries: this_run.retries
    conda:
        this_run.engine_environment
    threads: this_run.threads
    resources:
        **this_run.machine("score"),
    params:
        model=this_run.model_options,
        eval_types=",".join(ewok.block["eval_types"]),
        asking=ewok.prompting,
        contents=digest_edited(this_run.own_weights, ewok.prompt_files),
        method=methods.SCORE,
        reading=methods.READING,
    message:
        f"Asking {{wildcards.model}} ({{params.eval_types}}){this_run.request}"
    shell:
        "worldprobe attempt {wildcards.model:q} --tries-left {resources.tries_left} --inputs {input.weights:q} --"
        " score all {input.item_tables:q} {params.model} --gpus {resources.devices} --kept-since {resources.kept_since}"
        " --eval-types {params.eval_types:q} {params.asking} --out {output.evidence:q} &> {log:q}"


use rule score as score_server with:
    """The same of a model on a server, asked from beside Snakemake."""
    wildcard_constraints:
        model=one_of(this_run.served),
    localrule: True
    message:
        "Asking {wildcards.model} on its server ({params.eval_types})"
