# Which labels of the items models and people contradict; only where the study asks EWoK.

from worldprobe.benchmarks.ewok.outputs import item_table
from worldprobe.code_digest import digest_code
from worldprobe.operations.run import current_run
from worldprobe.paths import ENVS
from worldprobe_authoring.labels import audited

this_run = current_run()

if this_run.study.get("ewok"):

    rule audit_labels:
        """How many models and people contradict the label of each item?"""
        input:
            judgement_tables=audited(this_run.asked, this_run.registry),
            item_table=item_table(this_run.study),
        output:
            audit_table="<ewok>/label_audit.parquet",
        log:
            "<logs>/audit_labels.log",
        benchmark:
            "<benchmarks>/audit_labels.tsv"
        group:
            "analysis"
        conda:
            ENVS / "analysis.yaml"
        params:
            missing=this_run.missing_option(),
            code=digest_code("worldprobe_authoring"),
        message:
            "Comparing the items' labels with answers"
        shell:
            "worldprobe materials audit-labels {input.judgement_tables:q} --items {input.item_table:q} {params.missing}"
            " --out {output.audit_table:q} &> {log:q}"
