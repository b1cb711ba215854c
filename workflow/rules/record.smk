# What a study is, beside its results: with it, they can be drawn again elsewhere (archive.smk).

import json

#: The tables that anything shown is made from.
SHOWN_TABLES = sorted(
    {
        path
        for benchmark, shown in DISPLAYS.values()
        for path in shown.inputs_of(study, STUDY.benchmark(benchmark.name))
    }.union(COMPARED, (path for page in PAGES for path in (page.summary, *page.made_from)))
)
#: Control models whose size a figure shows.
TRAINED = sorted(
    {path for key in DISPLAYS for path in declared(*key)["trained"]},
)


rule record_study:
    """What the study is: its settings, its models' cards, who is missing, and how long all of it took."""
    input:
        tables=SHOWN_TABLES,
        trained=TRAINED,
        notebooks=[path for page in PAGES for path in page.notebooks],
        shown=benchmarks.display_files(ANSWERED, registry, "table", "json")
        + benchmarks.display_files(ANSWERED, registry, "figure", "svg"),
    output:
        record=STUDY.record,
    log:
        "<logs>/record_study.log",
    benchmark:
        "<benchmarks>/record_study.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    params:
        settings=json.dumps(record.recorded_settings(study)),
        registry=registry_file,
        models=NAMES_AND_COLOURS,
        missing=options(missing=[f"{model}={why}" for model, why in MISSING.items()]),
        trained=options(trained=TRAINED),
        answers=STUDY.answers,
        jobs=STUDY.benchmarks,
        code=digest_code(),
    message:
        "Recording what the study is"
    shell:
        "worldprobe archive record-study {input.tables:q} --settings {params.settings:q} --registry {params.registry:q}"
        " {params.missing} {params.trained} --benchmarks {params.jobs:q} --answers {params.answers:q}"
        " --out {output.record:q} &> {log:q}"
