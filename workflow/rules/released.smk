# The results that EWoK's authors released, in the place of models of our own asking.


rule import_released:
    """Judgements from released results, after the exclusions, reversals and deduplication of the released analysis."""
    input:
        release=released(),
        code=modules("cli/importing.py"),
    output:
        feature_table="results/ewok/released/surface_features.parquet",
        judgement_table="results/ewok/judgements/released/released.parquet",
    log:
        "results/logs/import_released.log",
    benchmark:
        "results/benchmarks/import_released.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        **SMALL,
    params:
        skip=skipped_steps(),
    message:
        "Reading released results ({input.release})"
    shell:
        "python -m worldprobe import ewok-results {input.release:q} {params.skip} --surface-out {output.feature_table}"
        " --out {output.judgement_table} &> {log}"
