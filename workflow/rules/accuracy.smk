# From evidence to accuracy (EWoK, Sections 4 and 5).


rule judge:
    """Accuracy of every target, asked in every way: 1 where its own context wins, 0.5 on an exact tie, 0 otherwise."""
    input:
        item_table="results/ewok/items.parquet",
        evidence=[evidence(eval_type, "{model}") for eval_type in study["eval_types"]],
        code=modules("cli/judge.py"),
    output:
        judgement_tables=expand(
            "results/ewok/judgements/{eval_type}/{{model}}.parquet",
            eval_type=study["eval_types"],
        ),
    log:
        "results/logs/judge/{model}.log",
    benchmark:
        "results/benchmarks/judge/{model}.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        **SMALL,
    message:
        "Judging {wildcards.model}"
    shell:
        "python -m worldprobe judge {input.item_table} {input.evidence} --model {wildcards.model}"
        " --out {output.judgement_tables} &> {log}"


rule summarize:
    """Means per model and group, by version and over versions, with range and interval."""
    input:
        judgement_tables=judgement_tables(),
        code=modules("cli/summarize.py"),
    output:
        summary_table="results/ewok/summaries.parquet",
    log:
        "results/logs/summarize.log",
    benchmark:
        "results/benchmarks/summarize.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        **SMALL,
    message:
        "Summarizing accuracy"
    shell:
        "python -m worldprobe summarize {input.judgement_tables} --out {output.summary_table} &> {log}"


rule compare:
    """Is one model better than another? Paired permutation tests, overall and by domain."""
    input:
        judgement_tables=judgement_tables(["logprobs"]),
        code=modules("cli/compare.py"),
    output:
        comparison_table="results/ewok/comparisons.parquet",
    log:
        "results/logs/compare.log",
    benchmark:
        "results/benchmarks/compare.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        **SMALL,
    message:
        "Comparing models in pairs"
    shell:
        "python -m worldprobe compare {input.judgement_tables} --out {output.comparison_table} &> {log}"


rule agree:
    """Choice against the choice that Likert ratings imply: confusion matrices."""
    input:
        judgement_tables=prompted_judgements(),
        code=modules("cli/agree.py"),
    output:
        agreement_table="results/ewok/agreements.parquet",
    log:
        "results/logs/agree.log",
    benchmark:
        "results/benchmarks/agree.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        **SMALL,
    message:
        "Comparing choices with ratings"
    shell:
        "python -m worldprobe agree {input.judgement_tables} --out {output.agreement_table} &> {log}"


rule correlate:
    """Correlation of accuracy with word2vec, sentence length and word frequency, model by model."""
    input:
        judgement_tables=judgement_tables(["logprobs"], with_yardsticks=True),
        feature_table=surface_features(),
        code=modules("cli/correlate.py"),
    output:
        point_table="results/ewok/feature_means.parquet",
        correlation_table="results/ewok/correlations.parquet",
    log:
        "results/logs/correlate.log",
    benchmark:
        "results/benchmarks/correlate.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        **SMALL,
    message:
        "Correlating accuracy with surface features"
    shell:
        "python -m worldprobe correlate {input.judgement_tables} --surface {input.feature_table}"
        " --points-out {output.point_table} --out {output.correlation_table} &> {log}"


rule check_reproduction:
    """Every published number beside ours."""
    input:
        summary_table="results/ewok/summaries.parquet",
        item_table="results/ewok/items.parquet",
        coefficients=mixed_model_coefficients(),
        published=published_files(),
        code=modules("cli/reproduction.py"),
    output:
        reproduction_table="results/ewok/reproduction.parquet",
    log:
        "results/logs/check_reproduction.log",
    benchmark:
        "results/benchmarks/check_reproduction.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        **SMALL,
    params:
        coefficients=flag("--coefficients", mixed_model_coefficients()),
        published=published_folder,
    message:
        "Holding our numbers beside the published ones"
    shell:
        "python -m worldprobe reproduce-check {input.summary_table} --items {input.item_table} {params.coefficients}"
        " --published {params.published} --out {output.reproduction_table} &> {log}"
