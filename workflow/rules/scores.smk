# From answers, judgements or scores to means and comparisons, for every benchmark (``Benchmark.analysed``).


rule summarize:
    """Means per model and group, with intervals."""
    input:
        answers=lambda wildcards: ANALYSED[wildcards.benchmark]
        .analysed["summarize"]
        .answers(ANSWERED, ALL_WITH_ANSWERS),
        others=lambda wildcards: ANALYSED[wildcards.benchmark].analysed["summarize"].others(study),
    output:
        summary_table="<results>/{benchmark}/summaries.parquet",
    log:
        "<logs>/summarize/{benchmark}.log",
    benchmark:
        "<benchmarks>/summarize/{benchmark}.tsv"
    wildcard_constraints:
        benchmark=one_of(ANALYSED),
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    params:
        stated=lambda wildcards: options(
            ANALYSED[wildcards.benchmark].analysed["summarize"].options(study)
        ),
        missing=missing_of_benchmark,
        code=lambda wildcards: digest_code(
            "summarize",
            ANALYSED[wildcards.benchmark].analysed["summarize"].compute.__module__,
            *SCORES[wildcards.benchmark],
        ),
    message:
        "Summarising accuracy ({wildcards.benchmark})"
    shell:
        "worldprobe summarize {input.answers:q} {params.stated} {params.missing} --out {output.summary_table:q} &> {log:q}"


rule compare:
    """Is one model better than another, or than a baseline? Paired tests, overall and by group."""
    input:
        answers=lambda wildcards: ANALYSED[wildcards.benchmark]
        .analysed["compare"]
        .answers(ANSWERED, ALL_WITH_ANSWERS),
        others=lambda wildcards: ANALYSED[wildcards.benchmark].analysed["compare"].others(study),
    output:
        comparison_table="<results>/{benchmark}/comparisons.parquet",
    log:
        "<logs>/compare/{benchmark}.log",
    benchmark:
        "<benchmarks>/compare/{benchmark}.tsv"
    wildcard_constraints:
        benchmark=one_of(ANALYSED),
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    params:
        stated=lambda wildcards: options(
            ANALYSED[wildcards.benchmark].analysed["compare"].options(study)
        ),
        missing=missing_of_benchmark,
        code=lambda wildcards: digest_code(
            "compare",
            ANALYSED[wildcards.benchmark].analysed["compare"].compute.__module__,
            *SCORES[wildcards.benchmark],
        ),
    message:
        "Comparing models in pairs ({wildcards.benchmark})"
    shell:
        "worldprobe compare {input.answers:q} {params.stated} {params.missing} --out {output.comparison_table:q} &> {log:q}"
