# One page with everything on it: each benchmark of the study adds its part, its tables and its figures.


#: The modules that compose them.
CODE_OF_PAGE = [CORE] + [
    one.page.compose.__module__ for one in benchmarks.of_study(study) if one.page
]


rule build_report:
    """The report: tables, figures, what they say and how they were made, as one HTML page that opens offline."""
    input:
        summary_tables=[page.summary for page in PAGES],
        tables=benchmarks.display_files(ANSWERED, registry, "table", "json"),
        figures=benchmarks.display_files(ANSWERED, registry, "figure", "svg"),
        notebooks=[path for page in PAGES for path in page.notebooks],
        made_from=[path for page in PAGES for path in page.made_from],
        comparison_tables=COMPARED,
        item_tables=[page.item_text for page in PAGES if page.item_text],
        record=STUDY.record,
        archive=ARCHIVE_NOTE,
        rulegraph=in_repository("resources/rulegraph.svg"),
    output:
        page="<results>/report.html",
    log:
        "<logs>/build_report.log",
    benchmark:
        "<benchmarks>/build_report.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    params:
        registry=registry_file,
        models=NAMES,
        headlines=options(headlines=[page.eval_type for page in PAGES]),
        study=study["study"],
        code=[digest_code(name, displays=True) for name in CODE_OF_PAGE],
        beside=options(beside=extensions.pages_of(study, STUDY.root)),
    message:
        "Building the report"
    shell:
        "worldprobe report build {input.summary_tables:q} --registry {params.registry:q} --study {params.study:q}"
        " --tables {input.tables:q} --figures {input.figures:q} --made-from {input.made_from:q} --comparisons {input.comparison_tables:q} --notebooks {input.notebooks:q}"
        " --record {input.record:q} --rulegraph {input.rulegraph:q}"
        " --item-text {input.item_tables:q} {params.headlines} {params.beside} --out {output.page:q} &> {log:q}"


rule report:
    """The report alone, with all that it shows."""
    input:
        "<results>/report.html",


rule tables:
    """All tables."""
    input:
        benchmarks.display_files(ANSWERED, registry, "table"),


rule figures:
    """All figures."""
    input:
        benchmarks.display_files(ANSWERED, registry, "figure"),
