# From evidence to accuracy (EWoK, Sections 4 and 5).


rule judge:
    """Accuracy of every target: 1 where its own context wins, 0.5 on an exact tie, 0 otherwise."""
    input:
        item_table="results/ewok/items.parquet",
        evidence=evidence,
        code=modules("analysis/judge.py"),
    output:
        judgement_table="results/ewok/judgements/{eval_type}/{model}.parquet",
    log:
        "results/logs/judge/{eval_type}/{model}.log",
    benchmark:
        "results/benchmarks/judge/{eval_type}/{model}.tsv"
    wildcard_constraints:
        eval_type="|".join(study["eval_types"]),
    conda:
        "../../envs/analysis.yaml"
    message:
        "Judging {wildcards.model} ({wildcards.eval_type})"
    shell:
        "python -m worldprobe judge {input.item_table} {input.evidence} --model {wildcards.model}"
        " --out {output.judgement_table} &> {log}"


rule summarize:
    """Means per model and group, by version and over versions, with range and interval."""
    input:
        judgement_tables=judgement_tables(),
        code=modules("analysis/summarize.py"),
    output:
        summary_table="results/ewok/summaries.parquet",
    log:
        "results/logs/summarize.log",
    benchmark:
        "results/benchmarks/summarize.tsv"
    conda:
        "../../envs/analysis.yaml"
    message:
        "Summarizing accuracy"
    shell:
        "python -m worldprobe summarize {input.judgement_tables} --out {output.summary_table} &> {log}"
