# EWoK: what control models know of what their stories had shown, and what they make of the rest.


localrules:
    measure_controls,


rule measure_controls:
    """Accuracy of the control models by what their stories had shown: templates by fillers."""
    input:
        item_table=ewok_outputs.item_table(study),
        corpus="<controls>/corpus",
        judgement_tables=ewok_outputs.control_judgements(study, registry, MODELS_WITH_ANSWERS),
    output:
        accuracy_table="<ewok>/control_accuracies.parquet",
    log:
        "<logs>/measure_controls.log",
    benchmark:
        "<benchmarks>/measure_controls.tsv"
    conda:
        "../../../envs/analysis.yaml"
    params:
        code=CODE,
    message:
        "Comparing control models on seen and held-out items"
    shell:
        "worldprobe controls measure {input.item_table:q} {input.corpus:q} {input.judgement_tables:q}"
        " --out {output.accuracy_table:q} &> {log:q}"
