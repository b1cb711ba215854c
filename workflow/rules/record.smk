# What a study is, beside its results: with it, they can be drawn again elsewhere (archive.smk).

import json

from worldprobe.operations.record import recorded_settings


rule record_study:
    """What the study is: its settings, its models' cards, who is missing, and how long all of it took."""
    input:
        tables=displays.made_from,
        trained=displays.trained,
        notebooks=displays.of_pages("notebooks"),
        shown=displays.files("table", "json") + displays.files("figure", "svg"),
    output:
        record=paths.record,
    log:
        "<logs>/record_study.log",
    benchmark:
        "<benchmarks>/record_study.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    params:
        settings=json.dumps(recorded_settings(study)),
        registry=this_run.registry_file,
        models=this_run.names(colours=True),
        missing=this_run.missing_option(this_run.missing),
        trained=options(trained=displays.trained),
        answers=paths.answers,
        jobs=paths.benchmarks,
        code=digest_code(),
    message:
        "Recording what the study is"
    shell:
        "worldprobe archive record-study {input.tables:q} --settings {params.settings:q} --registry {params.registry:q}"
        " {params.missing} {params.trained} --benchmarks {params.jobs:q} --answers {params.answers:q}"
        " --out {output.record:q} &> {log:q}"
