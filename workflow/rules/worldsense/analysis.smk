# WorldSense's published numbers (docs/worldsense.md); its means and comparisons are made by the shared rules.


rule check_worldsense_reproduction:
    """The numbers that the paper's tables print, next to ours."""
    input:
        summary_table="<worldsense>/summaries.parquet",
        published=from_here("resources/published/worldsense.csv"),
    output:
        reproduction_table="<worldsense>/reproduction.parquet",
    log:
        "<logs>/check_worldsense_reproduction.log",
    benchmark:
        "<benchmarks>/check_worldsense_reproduction.tsv"
    group:
        "analysis"
    conda:
        "../../../envs/analysis.yaml"
    params:
        published=subpath(input.published, parent=True),
        code=digest_code(),
    message:
        "WorldSense's published numbers next to ours"
    shell:
        "worldprobe reproduction check {input.summary_table:q} --published {params.published:q}"
        " --out {output.reproduction_table:q} &> {log:q}"
