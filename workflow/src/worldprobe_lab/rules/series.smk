# Checkpoints of trainings, scored one after the other, and the learning curves that they make (docs/extras/learning_curves.md).

from worldprobe import methods
from worldprobe.code_digest import digest_code
from worldprobe.operations.rule_functions import one_of
from worldprobe.paths import ENVS
from worldprobe.settings.blocks import options
from worldprobe_lab.series_rules import SeriesRules

series = SeriesRules(study, registry, this_run.site)
this_run.refuse_more_gpus(series.parts)


rule score_series:
    """The checkpoints of a training, one after the other. Finished ones outlive their job: they are in results/.answers."""
    input:
        item_tables=series.items,
        weights=series.checkpoint_files,
    output:
        scores="<results>/{benchmark}/series/{model}/{part}.parquet",
    log:
        "<logs>/score_series/{benchmark}/{model}/{part}.log",
    benchmark:
        "<benchmarks>/score_series/{benchmark}/{model}/{part}.tsv"
    wildcard_constraints:
        benchmark=one_of(series.benchmarks),
        part=r"\d+",
    retries: this_run.retries
    conda:
        ENVS / "scoring.yaml"
    threads: this_run.threads
    resources:
        **this_run.machine(),
    params:
        model=this_run.model_options,
        series=series.stated,
        asked=series.method,
        method=methods.CHECKPOINTS,
    message:
        "Scoring checkpoints of {wildcards.model} ({wildcards.benchmark}, part {wildcards.part})"
    shell:
        "worldprobe attempt {wildcards.model:q} --tries-left {resources.tries_left} --inputs {input.weights:q} --"
        " series score {wildcards.benchmark:q} {input.item_tables:q} {params.model}"
        " --gpus {resources.devices} --kept-since {resources.kept_since} {params.series} --out {output.scores:q} &> {log:q}"


rule trace_series_curves:
    """Learning curves with bands, onsets with intervals, and how far trainings agree on the order of onsets."""
    input:
        score_tables=series.scores,
    output:
        onset_table="<results>/{benchmark}/onsets.parquet",
        agreement_table="<results>/{benchmark}/order_agreements.parquet",
        curve_table="<results>/{benchmark}/curves.parquet",
    log:
        "<logs>/trace_series_curves/{benchmark}.log",
    benchmark:
        "<benchmarks>/trace_series_curves/{benchmark}.tsv"
    wildcard_constraints:
        benchmark=one_of(series.benchmarks),
    group:
        "analysis"
    conda:
        ENVS / "analysis.yaml"
    params:
        code=digest_code("worldprobe_lab"),
        level=options(level=study["onset_level"]),
    message:
        "Tracing the learning curves of {wildcards.benchmark}"
    shell:
        "worldprobe series curves {input.score_tables:q} {params.level} --onsets-out {output.onset_table:q}"
        " --agreements-out {output.agreement_table:q} --out {output.curve_table:q} &> {log:q}"
