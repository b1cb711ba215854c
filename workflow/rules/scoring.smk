# Models answer items (EWoK, Section 4.1 and Appendix A.3). A finished shard outlives its job: it lies in results/.shards.


rule score_logprobs:
    """Log probability of both targets of every item, with and without each context."""
    input:
        item_table="results/ewok/items.parquet",
        control=trained_control,
    output:
        target_scores="results/ewok/scores/logprobs/{model}.parquet",
    log:
        "results/logs/score_logprobs/{model}.log",
    benchmark:
        "results/benchmarks/score_logprobs/{model}.tsv"
    conda:
        "../../envs/scoring.yaml"
    threads: need("threads")
    resources:
        gpu=need("gpus"),
        mem_mb=need("mem_mb"),
        runtime=need("runtime"),
    params:
        checkpoint=card("checkpoint"),
        revision=card("revision"),
        dtype=card("dtype"),
        engine=card("engine"),
        trust=trust,
        method=1,
    message:
        "Scoring items with {wildcards.model} (LogProbs)"
    shell:
        "python -m worldprobe score logprobs {input.item_table} --model {wildcards.model}"
        " --checkpoint {params.checkpoint:q} --revision {params.revision} --dtype {params.dtype}"
        " --engine {params.engine} {params.trust} --method {params.method} --shards results/.shards"
        " --out {output.target_scores} &> {log}"
