# Checkpoints of trainings, scored one after the other, and the learning curves that they make (docs/extras/learning_curves.md).


rule score_series:
    """The checkpoints of a training, one after the other. Finished ones outlive their job: they are in results/.answers."""
    input:
        item_tables=by_wildcard("benchmark", series_items),
        weights=checkpoint_files,
    output:
        scores="<results>/{benchmark}/series/{model}/{part}.parquet",
    log:
        "<logs>/score_series/{benchmark}/{model}/{part}.log",
    benchmark:
        "<benchmarks>/score_series/{benchmark}/{model}/{part}.tsv"
    wildcard_constraints:
        benchmark=one_of(LEARNING),
        part=r"\d+",
    conda:
        ENVS / "scoring.yaml"
    threads: threads_needed
    resources:
        **machine(),
    params:
        model=model_options,
        kept_since=kept_since("score_series"),
        series=series_options,
        asked=by_wildcard("benchmark", series_method),
        method=methods.CHECKPOINTS,
    message:
        "Scoring checkpoints of {wildcards.model} ({wildcards.benchmark}, part {wildcards.part})"
    shell:
        "worldprobe series score {wildcards.benchmark:q} {input.item_tables:q} {params.model}"
        " --gpus {resources.devices} {params.kept_since} {params.series} --out {output.scores:q} &> {log:q}"


rule trace_series_curves:
    """Learning curves with bands, onsets with intervals, and how far trainings agree on the order of onsets."""
    input:
        score_tables=scored_parts,
    output:
        onset_table="<results>/{benchmark}/onsets.parquet",
        agreement_table="<results>/{benchmark}/order_agreements.parquet",
        curve_table="<results>/{benchmark}/curves.parquet",
    log:
        "<logs>/trace_series_curves/{benchmark}.log",
    benchmark:
        "<benchmarks>/trace_series_curves/{benchmark}.tsv"
    wildcard_constraints:
        benchmark=one_of(LEARNING),
    localrule: True
    conda:
        ENVS / "analysis.yaml"
    params:
        code=digest_code("worldprobe_lab"),
        level="" if study["onset_level"] is None else f"--level {study['onset_level']}",
    message:
        "Tracing the learning curves of {wildcards.benchmark}"
    shell:
        "worldprobe series curves {input.score_tables:q} {params.level} --onsets-out {output.onset_table:q}"
        " --agreements-out {output.agreement_table:q} --out {output.curve_table:q} &> {log:q}"
