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
            weights=this_run.weights,
            files=asked_files,
        output:
            scores=f"<results>/{asked.name}/scores/{{model}}.parquet",
        log:
            f"<logs>/{asked.rule}/{{model}}.log",
        benchmark:
            f"<benchmarks>/{asked.rule}/{{model}}.tsv"
        wildcard_constraints:
            model=one_of(this_run.served if is_served else this_run.not_served),
        retries: this_run.retries
        localrule: is_served
        conda:
            this_run.engine_environment
        threads: this_run.threads
        resources:
            **this_run.machine(),
        params:
            benchmark=asked.source or asked.name,
            settings=json.dumps(study.get(asked.name, {})),
            model=this_run.model_options,
            contents=digest_edited(this_run.own_weights, asked_files),
            method=asked.asking.method,
        message:
            f"Asking {{wildcards.model}} ({{params.benchmark}}){this_run.request}"
        shell:
            "worldprobe attempt {wildcards.model:q} --tries-left {resources.tries_left} --inputs {input.weights:q} --"
            " ask {params.benchmark:q} --settings {params.settings:q} {params.model}"
            " --gpus {resources.devices} --kept-since {resources.kept_since} --out {output.scores:q} &> {log:q}"
