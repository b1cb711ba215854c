# One page with everything on it.


localrules:
    run_notebook,
    build_report,


rule run_notebook:
    """A notebook, run over the finished study, as a part of the report."""
    input:
        notebook=in_repository("notebooks/{notebook}.ipynb"),
        summary_table="<ewok>/summaries.parquet",
        judgement_tables=targets.judgements(study, MODELS_WITH_ANSWERS) + targets.yardsticks(study),
        registry=registry_file,
        materials=builtin_files(),
    output:
        fragment="<results>/notebooks/{notebook}.html",
    log:
        "<logs>/run_notebook/{notebook}.log",
    benchmark:
        "<benchmarks>/run_notebook/{notebook}.tsv"
    conda:
        "../../../envs/analysis.yaml"
    params:
        folder=subpath(input.summary_table, parent=True),
        condition=targets.reference(study),
        materials=builtin_source,
        code=code(
            "cli/report.py",
            "present/notebooks.py",
            "present/drawing.py",
            "benchmarks/ewok/analysis/compare.py",
            "benchmarks/ewok/figures/concepts.py",
            "benchmarks/ewok/materials",
        ),
    message:
        "Running the notebook {wildcards.notebook}"
    shell:
        "python -m worldprobe report notebook {input.notebook:q} --study {params.folder:q} --registry {input.registry:q}"
        " --condition {params.condition:q}"
        " --materials {params.materials:q} --out {output.fragment:q} &> {log:q}"


rule build_report:
    """The report: tables, figures, what they say and how they were made, as one HTML page that opens offline."""
    input:
        summary_table="<ewok>/summaries.parquet",
        registry=registry_file,
        tables=targets.files_of(study, "table", targets.tables(study, registry), ["json"]),
        figures=targets.files_of(study, "figure", targets.figures(study, registry), ["svg"]),
        notebooks=[STUDY.notebook(name) for name in targets.notebooks(study, MODELS_WITH_ANSWERS)],
        made_from=targets.made_from(study, MODELS_WITH_ANSWERS),
        item_text=item_text(),
        rulegraph=in_repository("resources/rulegraph.svg"),
    output:
        page="<results>/report.html",
    log:
        "<logs>/build_report.log",
    benchmark:
        "<benchmarks>/build_report.tsv"
    conda:
        "../../../envs/analysis.yaml"
    params:
        item_text=flag("--item-text", item_text()),
        notebooks=run_notebooks,
        answers=ANSWERS,
        eval_type=ewok["eval_types"][0],
        study=study["study"],
        jobs=STUDY.benchmarks,
        code=code("cli/report.py", "present/assets"),
    message:
        "Building the report"
    shell:
        "python -m worldprobe report build {input.summary_table:q} --registry {input.registry:q} --study {params.study:q}"
        " --tables {input.tables:q} --figures {input.figures:q} --made-from {input.made_from:q}"
        " --benchmarks {params.jobs:q} --answers {params.answers:q} --rulegraph {input.rulegraph:q} {params.notebooks} {params.item_text}"
        " --eval-type {params.eval_type:q} --out {output.page:q} &> {log:q}"


rule report:
    """The report, and, for the official materials, our numbers next to the published ones."""
    input:
        "<results>/report.html",
        [] if targets.is_builtin(study) else "<ewok>/reproduction.parquet",
