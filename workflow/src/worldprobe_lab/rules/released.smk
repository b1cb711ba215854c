# The results that EWoK's authors released, instead of answers of our own.

from worldprobe.benchmarks.ewok.outputs import reference
from worldprobe.code_digest import digest_code
from worldprobe.operations.run import digest_edited
from worldprobe.paths import ENVS
from worldprobe.settings.blocks import options

RELEASE = study["ewok"]["released"]


rule import_released:
    """Judgements from released results, after the exclusions, reversals and deduplication of the released analysis."""
    input:
        release=RELEASE["results"] or [],
    output:
        feature_table="<ewok>/released/surface_features.parquet",
        judgement_table=f"<ewok>/judgements/{reference(study)}/released/released.parquet",
    log:
        "<logs>/import_released.log",
    benchmark:
        "<benchmarks>/import_released.tsv"
    localrule: True
    conda:
        ENVS / "analysis.yaml"
    params:
        skip=options(RELEASE, ["skip"]),
        contents=digest_edited([RELEASE["results"]] if RELEASE["results"] else []),
        code=digest_code("worldprobe_lab"),
    message:
        "Reading released results ({input.release})"
    shell:
        "worldprobe import released {input.release:q} {params.skip} --surface-out {output.feature_table:q}"
        " --out {output.judgement_table:q} &> {log:q}"
