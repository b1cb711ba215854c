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
        threads: need("threads")
        resources:
            **model_job,
        params:
            benchmark=asked.source or asked.name,
            settings=json.dumps(study.get(asked.name, {})),
            checkpoint=card("checkpoint"),
            loading=loading,
            kept_since=kept_since(asked.rule),
            answers=STUDY.answers,
            contents=contents(own_weights, asked_files),
            method=asked.asking.method,
        message:
            "Asking {wildcards.model} ({params.benchmark})"
        shell:
            "worldprobe ask {params.benchmark:q} --settings {params.settings:q} --model {wildcards.model:q}"
            " --checkpoint {params.checkpoint:q} {params.loading} --gpus {resources.devices} {params.kept_since}"
            " --answers {params.answers:q} --out {output.scores:q} &> {log:q}"
