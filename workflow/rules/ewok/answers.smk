# Models answer items (EWoK, Section 4.1, Appendices A.3 and A.4). Finished answers outlive their job: they are in results/.answers.


rule score:
    """Scores and responses: what a model makes of every item of every condition, in every way of asking, loaded once."""
    input:
        item_tables=ewok_outputs.item_tables(study),
        weights=weight_inputs,
        prompts=PROMPT_FILES,
    output:
        evidence=ewok_outputs.evidence(study, "{model}"),
    log:
        "<logs>/score/{model}.log",
    benchmark:
        "<benchmarks>/score/{model}.tsv"
    wildcard_constraints:
        model=one_of(NOT_SERVED),
    conda:
        engine_environment
    threads: threads_needed
    resources:
        **machine(partial(needed, rule="score")),
    params:
        model=model_options,
        kept_since=kept_since("score"),
        eval_types=",".join(ewok["eval_types"]),
        asking=prompting_options,
        contents=contents(own_weights, PROMPT_FILES),
        method=methods.SCORE,
        reading=methods.READING,
    message:
        f"Asking {{wildcards.model}} ({{params.eval_types}}){REQUEST}"
    shell:
        "worldprobe score all {input.item_tables:q} {params.model} --gpus {resources.devices} {params.kept_since}"
        " --eval-types {params.eval_types:q} {params.asking} --out {output.evidence:q} &> {log:q}"


use rule score as score_server with:
    """The same of a model on a server, asked from beside Snakemake."""
    wildcard_constraints:
        model=one_of(SERVED),
    localrule: True
    message:
        "Asking {wildcards.model} on its server ({params.eval_types})"
