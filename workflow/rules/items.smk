# Templates to items (EWoK, Section 3).


rule fill_items:
    """Items: templates with their slots filled, version by version."""
    input:
        template_table="results/ewok/templates.parquet",
        materials=material_files,
        code=modules("benchmarks/ewok/materials"),
    output:
        item_table="results/ewok/items.parquet",
    log:
        "results/logs/fill_items.log",
    benchmark:
        "results/benchmarks/fill_items.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        **SMALL,
    params:
        source=material_source,
        filling=filling(),
    message:
        "Filling items from {params.source}"
    shell:
        "python -m worldprobe items fill {input.template_table} {params.source:q} {params.filling}"
        " --out {output.item_table} &> {log}"
