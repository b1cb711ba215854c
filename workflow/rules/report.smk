# One page with everything on it.


rule run_notebook:
    """A notebook, run over the finished study, as a part of the report."""
    input:
        notebook=ours("notebooks/{notebook}.ipynb"),
        summary_table="results/ewok/summaries.parquet",
        judgement_tables=judgement_tables(),
        registry=registry_file,
        materials=builtin_files(),
        code=modules(
            "cli/report.py",
            "benchmarks/ewok/analysis/compare.py",
            "benchmarks/ewok/figures/concepts.py",
            "present/drawing.py",
            "benchmarks/ewok/materials",
        ),
    output:
        fragment="results/notebooks/{notebook}.html",
    log:
        "results/logs/run_notebook/{notebook}.log",
    benchmark:
        "results/benchmarks/run_notebook/{notebook}.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        **SMALL,
    params:
        materials=builtin_source,
    message:
        "Running the notebook {wildcards.notebook}"
    shell:
        "python -m worldprobe report notebook {input.notebook} --study results/ewok --models {input.registry}"
        " --materials {params.materials:q} --out {output.fragment} &> {log}"


rule build_report:
    """The report: tables, figures, what they say and how they were made, as one HTML page that opens offline."""
    input:
        summary_table="results/ewok/summaries.parquet",
        registry=registry_file,
        tables=expand("results/ewok/tables/{table}.json", table=table_names()),
        figures=expand("results/ewok/figures/{figure}.svg", figure=figure_names()),
        notebooks=expand("results/notebooks/{notebook}.html", notebook=notebook_names()),
        made_from=made_from(),
        item_text=item_text(),
        rulegraph=ours("resources/rulegraph.svg"),
        code=modules("cli/report.py", "present/assets"),
    output:
        page="results/report.html",
    log:
        "results/logs/build_report.log",
    benchmark:
        "results/benchmarks/build_report.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        **SMALL,
    params:
        item_text=flag("--item-text", item_text()),
        notebooks=notebooks,
        gpus=gpus_asked_for,
    message:
        "Building the report"
    shell:
        "python -m worldprobe report build {input.summary_table} --models {input.registry}"
        " --tables {input.tables} --figures {input.figures} --made-from {input.made_from}"
        " --benchmarks results/benchmarks {params.gpus} --rulegraph {input.rulegraph} {params.notebooks} {params.item_text}"
        " --out {output.page} &> {log}"


rule report:
    """The report, and, for the official materials, our numbers beside the published ones."""
    input:
        "results/report.html",
        [] if is_builtin() else "results/ewok/reproduction.parquet",
