# EWoK: what control models know of what they had read, and what they make of the rest.


from worldprobe.benchmarks.ewok.outputs import item_table
from worldprobe.code_digest import digest_code
from worldprobe.paths import ENVS
from worldprobe.settings.blocks import options
from worldprobe_training.control_displays import control_judgements, readings


rule measure_controls:
    """Accuracy of the control models by what they had read of an item."""
    input:
        item_table=item_table(study),
        corpus="<controls>/corpus",
        judgement_tables=control_judgements(this_run.asked, registry),
    output:
        accuracy_table="<ewok>/control_accuracies.parquet",
    log:
        "<logs>/measure_controls.log",
    benchmark:
        "<benchmarks>/measure_controls.tsv"
    group:
        "analysis"
    conda:
        ENVS / "analysis.yaml"
    params:
        reads=options(reads=readings(this_run.asked, registry)),
        code=digest_code("worldprobe_training"),
    message:
        "Comparing control models on what they had and had not read"
    shell:
        "worldprobe controls measure {input.item_table:q} {input.corpus:q} {input.judgement_tables:q}"
        " {params.reads} --out {output.accuracy_table:q} &> {log:q}"
