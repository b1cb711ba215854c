# WorldSense: sets of trials, from skins (docs/worldsense.md).


rule generate_set:
    """A set that is asked: every problem, size, complexity, skin and wording of it equally often."""
    input:
        skins=worldsense.skins,
    output:
        trials="<worldsense>/trials/{set}.parquet",
    log:
        "<logs>/generate_set/{set}.log",
    benchmark:
        "<benchmarks>/generate_set/{set}.tsv"
    wildcard_constraints:
        set="(?!train-)[a-z-]+",
    group:
        "items"
    conda:
        "../../../envs/analysis.yaml"
    params:
        subset=f"{worldsense.subset} {worldsense.sample}",
        contents=digest_edited(worldsense.skins),
        method=methods.TRIALS,
    message:
        "Generating WorldSense's set {wildcards.set}"
    shell:
        "worldprobe worldsense generate {wildcards.set:q} {params.subset}"
        " --out {output.trials:q} &> {log:q}"


rule sample_released:
    """A sample of a released set: whole tuples, of every problem; under the release's licence."""
    input:
        trials=worldsense.released_set,
    output:
        trials="<worldsense>/trials/{set}.jsonl.bz2",
    log:
        "<logs>/sample_released/{set}.log",
    benchmark:
        "<benchmarks>/sample_released/{set}.tsv"
    group:
        "items"
    conda:
        "../../../envs/analysis.yaml"
    params:
        sample=worldsense.sample,
        code=digest_code(),
    message:
        "Sampling WorldSense's released set {wildcards.set}"
    shell:
        "worldprobe worldsense sample {input.trials:q} {params.sample} --out {output.trials:q} &> {log:q}"


rule generate_train:
    """A training set, as a table and as dialogues; each begins with the smaller ones."""
    input:
        skins=worldsense.skins,
    output:
        trials="<worldsense>/trials/train-{samples}.parquet",
        dialogues="<worldsense>/trials/train-{samples}.jsonl.gz",
    log:
        "<logs>/generate_train/{samples}.log",
    benchmark:
        "<benchmarks>/generate_train/{samples}.tsv"
    wildcard_constraints:
        samples="10k|100k|1m",
    group:
        "items"
    conda:
        "../../../envs/analysis.yaml"
    params:
        subset=worldsense.subset,
        contents=digest_edited(worldsense.skins),
        method=methods.TRIALS,
    message:
        "Generating WorldSense's set train-{wildcards.samples}"
    shell:
        "worldprobe worldsense generate train-{wildcards.samples:q} {params.subset} --dialogues-out {output.dialogues:q}"
        " --out {output.trials:q} &> {log:q}"


rule tabulate_skins:
    """The relations and entities of all skins, for the table that shows those of the study."""
    input:
        skins=worldsense.skins,
    output:
        skin_table="<worldsense>/skins.parquet",
    log:
        "<logs>/tabulate_skins.log",
    benchmark:
        "<benchmarks>/tabulate_skins.tsv"
    localrule: True
    conda:
        "../../../envs/analysis.yaml"
    params:
        wording=worldsense.wording,
        contents=digest_edited(worldsense.skins),
        code=digest_code(),
    message:
        "Listing WorldSense's skins"
    shell:
        "worldprobe worldsense skins tabulate {params.wording} --out {output.skin_table:q} &> {log:q}"


rule tabulate_samples:
    """A trial of each problem of each set, for the table that shows them."""
    input:
        trial_tables=worldsense.trial_tables,
    output:
        samples="<worldsense>/samples.parquet",
    log:
        "<logs>/tabulate_samples.log",
    benchmark:
        "<benchmarks>/tabulate_samples.tsv"
    localrule: True
    conda:
        "../../../envs/analysis.yaml"
    params:
        code=digest_code(),
    message:
        "Samples of WorldSense's trials"
    shell:
        "worldprobe worldsense tabulate-samples {input.trial_tables:q} --out {output.samples:q} &> {log:q}"
