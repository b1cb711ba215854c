# From responses to numbers, tables and figures (docs/worldsense.md).


rule summarize_trials:
    """Accuracy, bias and more of every model, by every grouping, with intervals."""
    input:
        trial_tables=TRIAL_TABLES,
        response_tables=RESPONSE_TABLES,
    output:
        summary_table="<worldsense>/summaries.parquet",
    log:
        "<logs>/summarize_trials.log",
    benchmark:
        "<benchmarks>/summarize_trials.tsv"
    localrule: True
    conda:
        "../../../envs/analysis.yaml"
    params:
        sets=ANSWERED_SETS,
        missing=missing_option(worldsense_outputs.asked_models(study)),
        code=digest_code(),
    message:
        "Summarising answers to WorldSense's trials"
    shell:
        "worldprobe worldsense summarize {params.sets} {params.missing} --out {output.summary_table:q} &> {log:q}"


rule compare_tuples:
    """Every pair of models on the same tuples: difference, interval and paired test."""
    input:
        trial_tables=TRIAL_TABLES,
        response_tables=RESPONSE_TABLES,
    output:
        comparison_table="<worldsense>/comparisons.parquet",
    log:
        "<logs>/compare_tuples.log",
    benchmark:
        "<benchmarks>/compare_tuples.tsv"
    localrule: True
    conda:
        "../../../envs/analysis.yaml"
    params:
        sets=ANSWERED_SETS,
        code=digest_code(),
    message:
        "Comparing models on WorldSense's tuples"
    shell:
        "worldprobe worldsense compare {params.sets} --out {output.comparison_table:q} &> {log:q}"


rule check_worldsense_reproduction:
    """The numbers that the paper's tables print, next to ours."""
    input:
        summary_table="<worldsense>/summaries.parquet",
        published=in_repository("resources/published/worldsense.csv"),
    output:
        reproduction_table="<worldsense>/reproduction.parquet",
    log:
        "<logs>/check_worldsense_reproduction.log",
    benchmark:
        "<benchmarks>/check_worldsense_reproduction.tsv"
    localrule: True
    conda:
        "../../../envs/analysis.yaml"
    params:
        published=subpath(input.published, parent=True),
        code=digest_code(),
    message:
        "WorldSense's published numbers next to ours"
    shell:
        "worldprobe reproduction check {input.summary_table:q} --published {params.published:q}"
        " --out {output.reproduction_table:q} &> {log:q}"
