# Which labels of the items models and people contradict; only where the study asks EWoK.

from worldprobe_authoring.labels import audited

if study.get("ewok"):

    rule audit_labels:
        """How many models and people contradict the label of each item?"""
        input:
            judgement_tables=audited(ANSWERED, registry),
            item_table=ewok_outputs.item_table(study),
        output:
            audit_table="<ewok>/label_audit.parquet",
        log:
            "<logs>/audit_labels.log",
        benchmark:
            "<benchmarks>/audit_labels.tsv"
        localrule: True
        conda:
            ENVS / "analysis.yaml"
        params:
            missing=missing,
            code=digest_code("worldprobe_authoring"),
        message:
            "Comparing the items' labels with answers"
        shell:
            "worldprobe materials audit-labels {input.judgement_tables:q} --items {input.item_table:q} {params.missing}"
            " --out {output.audit_table:q} &> {log:q}"
