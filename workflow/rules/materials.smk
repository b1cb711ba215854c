# Materials to templates (EWoK, Section 3).


rule fetch_materials:
    """The official materials, from the authors' repository; read their terms of use first (README.md)."""
    input:
        listing=ours("resources/sources.yaml"),
    output:
        archive="resources/downloads/ewok-config.zip",
    log:
        "results/logs/fetch_materials.log",
    benchmark:
        "results/benchmarks/fetch_materials.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        **SMALL,
    message:
        "Downloading the official EWoK materials"
    shell:
        "python -m worldprobe fetch ewok_config --sources {input.listing} --out {output.archive} &> {log}"


rule compile_templates:
    """Templates: pairs of contexts and targets with open slots, compiled from concepts, contexts and targets."""
    input:
        materials=material_files,
        code=modules("benchmarks/ewok/materials"),
    output:
        template_table="results/ewok/templates.parquet",
    log:
        "results/logs/compile_templates.log",
    benchmark:
        "results/benchmarks/compile_templates.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        **SMALL,
    params:
        source=material_source,
        compat=flag("--compat", study["materials"]["compat"]),
    message:
        "Compiling templates from {params.source}"
    shell:
        "python -m worldprobe templates compile {params.source:q} {params.compat}" " --out {output.template_table} &> {log}"
