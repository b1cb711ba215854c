# Models answer the items of every benchmark that says what it asks (``Benchmark.asking``).

import json

for asked, is_served in (
    (one, is_served)
    for one in benchmarks.of_study(study)
    for is_served in (False, True)
    if one.asking
):
    asked_files = asked.asking.files(study.get(asked.name))

    rule:
        """Scores: what a model makes of every item, loaded once. Finished answers outlive their job: they are in results/.answers."""
        name:
            f"{asked.rule}_server" if is_served else asked.rule
        input:
            weights=weight_inputs,
            files=asked_files,
        output:
            scores=f"<results>/{asked.name}/scores/{{model}}.parquet",
        log:
            f"<logs>/{asked.rule}/{{model}}.log",
        benchmark:
            f"<benchmarks>/{asked.rule}/{{model}}.tsv"
        wildcard_constraints:
            model=one_of(SERVED if is_served else NOT_SERVED),
        localrule: is_served
        conda:
            engine_environment
        threads: threads_needed
        resources:
            **machine(),
        params:
            benchmark=asked.source or asked.name,
            settings=json.dumps(study.get(asked.name, {})),
            model=model_options,
            kept_since=kept_since(asked.rule),
            contents=contents(own_weights, asked_files),
            method=asked.asking.method,
        message:
            f"Asking {{wildcards.model}} ({{params.benchmark}}){REQUEST}"
        shell:
            "worldprobe ask {params.benchmark:q} --settings {params.settings:q} {params.model}"
            " --gpus {resources.devices} {params.kept_since} --out {output.scores:q} &> {log:q}"
