# From scores to means and comparisons, for every benchmark that says what its scores are (``Benchmark.scores``).


rule summarize_scores:
    """Means per model, overall and by group, with intervals over clusters."""
    input:
        score_tables=score_tables,
    output:
        summary_table="<results>/{benchmark}/summaries.parquet",
    log:
        "<logs>/summarize_scores/{benchmark}.log",
    benchmark:
        "<benchmarks>/summarize_scores/{benchmark}.tsv"
    wildcard_constraints:
        benchmark=one_of(SCORED),
    conda:
        "../../envs/analysis.yaml"
    params:
        missing=missing_option(MISSING),
        code=code_of_scores("summarize"),
    message:
        "Summarising scores of {wildcards.benchmark}"
    shell:
        "worldprobe summarize {input.score_tables:q} {params.missing} --out {output.summary_table:q} &> {log:q}"


rule compare_scores:
    """Every pair of models on the same units: difference, interval and paired test."""
    input:
        score_tables=score_tables,
    output:
        comparison_table="<results>/{benchmark}/comparisons.parquet",
    log:
        "<logs>/compare_scores/{benchmark}.log",
    benchmark:
        "<benchmarks>/compare_scores/{benchmark}.tsv"
    wildcard_constraints:
        benchmark=one_of(SCORED),
    conda:
        "../../envs/analysis.yaml"
    params:
        code=code_of_scores("compare"),
    message:
        "Comparing models on {wildcards.benchmark}"
    shell:
        "worldprobe compare {input.score_tables:q} --out {output.comparison_table:q} &> {log:q}"
