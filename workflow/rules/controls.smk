# Calibration controls: small models of known behaviour, trained on stories written from the built-in materials.


rule compile_control_templates:
    """Templates of the built-in materials: what the stories are written from, whatever the study asks about."""
    input:
        materials=builtin_files(),
        code=modules("ewok"),
    output:
        template_table="results/controls/templates.parquet",
    log:
        "results/logs/compile_control_templates.log",
    benchmark:
        "results/benchmarks/compile_control_templates.tsv"
    conda:
        "../../envs/analysis.yaml"
    params:
        source=builtin_source,
    message:
        "Compiling the templates of the control models' stories"
    shell:
        "python -m worldprobe templates compile {params.source} --out {output.template_table} &> {log}"
