# Models answer items (EWoK, Section 4.1, Appendices A.3 and A.4). Finished answers outlive their job: they are in results/.answers.


rule fetch_model:
    """Weights and tokenizer from the hub into the local cache, where there is a network; scoring itself needs none."""
    output:
        facts="results/models/{model}.json",
    log:
        "results/logs/fetch_model/{model}.log",
    benchmark:
        "results/benchmarks/fetch_model/{model}.tsv"
    localrule: True
    conda:
        "../../envs/scoring.yaml"
    threads: 1
    resources:
        **SMALL,
    params:
        checkpoint=card("checkpoint"),
        revision=card("revision"),
        trust=trust,
    message:
        "Fetching {wildcards.model} ({params.checkpoint})"
    shell:
        "python -m worldprobe models fetch {params.checkpoint:q} --revision {params.revision} {params.trust}"
        " --out {output.facts} &> {log}"


rule score:
    """Scores and responses: what a model makes of every item, in every way of asking; the model is loaded once."""
    input:
        item_table="results/ewok/items.parquet",
        weights=weights,
    output:
        evidence=[evidence(eval_type, "{model}") for eval_type in study["eval_types"]],
    log:
        "results/logs/score/{model}.log",
    benchmark:
        "results/benchmarks/score/{model}.tsv"
    conda:
        engine_environment
    threads: need("threads")
    resources:
        gpu=need("gpus"),
        gpu_model=on_site("gpu_model"),
        constraint=on_site("constraint"),
        slurm_partition=on_site("partition"),
        mem_mb=need("mem_mb"),
        runtime=need("runtime"),
    params:
        checkpoint=card("checkpoint"),
        revision=card("revision"),
        dtype=card("dtype"),
        loading=loading,
        eval_types=",".join(study["eval_types"]),
        asking=asking,
        method=1,
    message:
        "Asking {wildcards.model} ({params.eval_types})"
    shell:
        "python -m worldprobe score all {input.item_table} --model {wildcards.model}"
        " --checkpoint {params.checkpoint:q} --revision {params.revision} --dtype {params.dtype}"
        " {params.loading} --eval-types {params.eval_types} {params.asking}"
        " --method {params.method} --answers results/.answers --out {output.evidence} &> {log}"
