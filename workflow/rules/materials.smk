# Materials to templates (EWoK, Section 3).


rule compile_templates:
    """Templates: pairs of contexts and targets with open slots, compiled from concepts, contexts and targets."""
    input:
        materials=material_files,
        code=modules("ewok"),
    output:
        template_table="results/ewok/templates.parquet",
    log:
        "results/logs/compile_templates.log",
    benchmark:
        "results/benchmarks/compile_templates.tsv"
    conda:
        "../../envs/analysis.yaml"
    params:
        source=material_source,
        compat=flag("--compat", study["materials"]["compat"]),
    message:
        "Compiling templates from {params.source}"
    shell:
        "python -m worldprobe templates compile {params.source} {params.compat}"
        " --out {output.template_table} &> {log}"
