# The results that EWoK's authors released, instead of answers of our own.


rule import_released:
    """Judgements from released results, after the exclusions, reversals and deduplication of the released analysis."""
    input:
        release=ewok["released"]["results"] or [],
    output:
        feature_table="<ewok>/released/surface_features.parquet",
        judgement_table=f"<ewok>/judgements/{ewok_outputs.reference(study)}/released/released.parquet",
    log:
        "<logs>/import_released.log",
    benchmark:
        "<benchmarks>/import_released.tsv"
    localrule: True
    conda:
        ENVS / "analysis.yaml"
    params:
        skip=options(ewok["released"], ["skip"]),
        contents=contents([ewok["released"]["results"]] if ewok["released"]["results"] else []),
        code=digest_code("worldprobe_lab"),
    message:
        "Reading released results ({input.release})"
    shell:
        "worldprobe import released {input.release:q} {params.skip} --surface-out {output.feature_table:q}"
        " --out {output.judgement_table:q} &> {log:q}"
