# How large a study must be, and domains by partial pooling.

from worldprobe.benchmarks.ewok.outputs import judgements
from worldprobe.code_digest import digest_code
from worldprobe.paths import ENVS


rule plan_studies:
    """How many versions and pairs of concepts find a difference of two models? From the variances of this study's."""
    input:
        judgement_tables=judgements(this_run.asked, ["logprobs"]),
    output:
        plan_table="<ewok>/plans.parquet",
    log:
        "<logs>/plan_studies.log",
    benchmark:
        "<benchmarks>/plan_studies.tsv"
    group:
        "analysis"
    conda:
        ENVS / "analysis.yaml"
    params:
        missing=this_run.missing_option(),
        code=digest_code("worldprobe_lab"),
    message:
        "Planning studies of other sizes"
    shell:
        "worldprobe plan {input.judgement_tables:q} {params.missing} --out {output.plan_table:q} &> {log:q}"


rule pool_domains:
    """Domains and pairs of concepts by partial pooling, and which orders of domains are sure."""
    input:
        judgement_tables=judgements(this_run.asked),
    output:
        order_table="<ewok>/orders.parquet",
        mean_table="<ewok>/pooled_means.parquet",
    log:
        "<logs>/pool_domains.log",
    benchmark:
        "<benchmarks>/pool_domains.tsv"
    group:
        "analysis"
    conda:
        ENVS / "analysis.yaml"
    params:
        missing=this_run.missing_option(),
        code=digest_code("worldprobe_lab"),
    message:
        "Pooling domains"
    shell:
        "worldprobe pool {input.judgement_tables:q} {params.missing} --orders-out {output.order_table:q}"
        " --out {output.mean_table:q} &> {log:q}"
