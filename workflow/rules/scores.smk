# From answers, judgements or scores to means and comparisons, for every benchmark (``Benchmark.analysed``).


rule summarize:
    """Means per model and group, with intervals."""
    input:
        answers=this_run.read_by("summarize"),
        others=this_run.read_besides("summarize"),
    output:
        summary_table="<results>/{benchmark}/summaries.parquet",
    log:
        "<logs>/summarize/{benchmark}.log",
    benchmark:
        "<benchmarks>/summarize/{benchmark}.tsv"
    wildcard_constraints:
        benchmark=one_of(this_run.analysed),
    group:
        "analysis"
    conda:
        "../../envs/analysis.yaml"
    params:
        stated=this_run.stated_for("summarize"),
        missing=this_run.missing_of_benchmark,
        code=this_run.code_of_benchmark,
    message:
        "Summarising accuracy ({wildcards.benchmark})"
    shell:
        "worldprobe summarize {input.answers:q} {params.stated} {params.missing} --out {output.summary_table:q} &> {log:q}"


rule compare:
    """Is one model better than another, or than a baseline? Paired tests, overall and by group."""
    input:
        answers=this_run.read_by("compare"),
        others=this_run.read_besides("compare"),
    output:
        comparison_table="<results>/{benchmark}/comparisons.parquet",
    log:
        "<logs>/compare/{benchmark}.log",
    benchmark:
        "<benchmarks>/compare/{benchmark}.tsv"
    wildcard_constraints:
        benchmark=one_of(this_run.analysed),
    group:
        "analysis"
    conda:
        "../../envs/analysis.yaml"
    params:
        stated=this_run.stated_for("compare"),
        missing=this_run.missing_of_benchmark,
        code=this_run.code_of_benchmark,
    message:
        "Comparing models in pairs ({wildcards.benchmark})"
    shell:
        "worldprobe compare {input.answers:q} {params.stated} {params.missing} --out {output.comparison_table:q} &> {log:q}"
