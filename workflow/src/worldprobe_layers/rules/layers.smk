# What a model would say after its layers, and the curves over them.

from worldprobe.benchmarks.ewok.outputs import item_table
from worldprobe.operations.run import digest_edited
from worldprobe.paths import ENVS
from worldprobe_layers.settings import METHOD


rule read_layers:
    """The study's items, scored after each layer of a model."""
    input:
        item_table=item_table(study),
        weights=this_run.weights,
    output:
        scores="<ewok>/layers/scores/{model}.parquet",
    log:
        "<logs>/read_layers/{model}.log",
    benchmark:
        "<benchmarks>/read_layers/{model}.tsv"
    retries: this_run.retries
    conda:
        ENVS / "scoring.yaml"
    threads: this_run.threads
    resources:
        **this_run.machine(),
    params:
        model=this_run.model_options,
        every=study["ewok"]["layers"]["every"],
        contents=digest_edited(this_run.own_weights),
        method=METHOD,
    message:
        "Reading the layers of {wildcards.model}"
    shell:
        "worldprobe attempt {wildcards.model:q} --tries-left {resources.tries_left} --inputs {input.weights:q} --"
        " layers {input.item_table:q} {params.model} --gpus {resources.devices} --every {params.every}"
        " --out {output.scores:q} &> {log:q}"


use rule trace_series_curves as trace_layer_series_curves with:
    """Accuracy over layers with bands, and from which layer on it exceeds a level for good."""
    input:
        score_tables=expand(
            "<ewok>/layers/scores/{model}.parquet", model=study["ewok"]["layers"]["models"]
        ),
    output:
        onset_table="<ewok>/layers/onsets.parquet",
        agreement_table="<ewok>/layers/order_agreements.parquet",
        curve_table="<ewok>/layers/curves.parquet",
    log:
        "<logs>/trace_layer_series_curves.log",
    benchmark:
        "<benchmarks>/trace_layer_series_curves.tsv"
    group:
        "analysis"
    message:
        "Tracing accuracy over layers"
