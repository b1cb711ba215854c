# Models answer the items of every benchmark that says what it asks (``Benchmark.asking``).

import json

for asked in (one for one in benchmarks.of_study(study) if one.asking):
    asked_files = asked.asking.files(study.get(asked.name))

    rule:
        """Scores: what a model makes of every item, loaded once. Finished answers outlive their job: they are in results/.answers."""
        name:
            asked.rule
        input:
            weights=weight_inputs,
            files=asked_files,
        output:
            scores=f"<results>/{asked.name}/scores/{{model}}.parquet",
        log:
            f"<logs>/{asked.rule}/{{model}}.log",
        benchmark:
            f"<benchmarks>/{asked.rule}/{{model}}.tsv"
        conda:
            engine_environment
        threads: lambda wildcards: needed(wildcards).threads
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
            "Asking {wildcards.model} ({params.benchmark})"
        shell:
            "worldprobe ask {params.benchmark:q} --settings {params.settings:q} {params.model}"
            " --gpus {resources.devices} {params.kept_since} --out {output.scores:q} &> {log:q}"
