# One page with everything on it: each benchmark of the study adds its part, its tables and its figures.


rule build_report:
    """The report: tables, figures, what they say and how they were made, as one HTML page that opens offline."""
    input:
        summary_tables=displays.of_pages("summary"),
        tables=displays.files("table", "json"),
        figures=displays.files("figure", "svg"),
        notebooks=displays.of_pages("notebooks"),
        made_from=displays.of_pages("made_from"),
        comparison_tables=displays.compared,
        item_tables=displays.of_pages("item_text"),
        record=paths.record,
        archive=displays.note,
        rulegraph=from_here("resources/rulegraph.svg"),
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
        registry=this_run.registry_file,
        models=this_run.names(),
        headlines=options(headlines=displays.of_pages("eval_type")),
        study=study["study"],
        code=displays.code_of_page,
        beside=options(beside=extensions.pages_of(study, paths.root)),
    message:
        "Building the report"
    shell:
        "worldprobe report build {input.summary_tables:q} --registry {params.registry:q} --study {params.study:q}"
        " --tables {input.tables:q} --figures {input.figures:q} --made-from {input.made_from:q} --comparisons {input.comparison_tables:q} --notebooks {input.notebooks:q}"
        " --record {input.record:q} --rulegraph {input.rulegraph:q}"
        " --item-text {input.item_tables:q} {params.headlines} {params.beside} --out {output.page:q} &> {log:q}"


rule draft_report:
    """The draft of a results section: the sentences that hold, each number with the cell of the table that it is from."""
    input:
        summary_tables=displays.of_pages("summary"),
        tables=displays.files("table", "json"),
        cells=displays.files("table", "csv"),
        made_from=displays.of_pages("made_from"),
        comparison_tables=displays.compared,
    output:
        drafts=paths.drafts,
    log:
        "<logs>/draft_report.log",
    benchmark:
        "<benchmarks>/draft_report.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    params:
        registry=this_run.registry_file,
        models=this_run.names(),
        headlines=options(headlines=displays.of_pages("eval_type")),
        study=study["study"],
        code=displays.code_of_page,
    message:
        "Drafting a results section"
    shell:
        "worldprobe report draft {input.summary_tables:q} --registry {params.registry:q} --study {params.study:q}"
        " --tables {input.tables:q} --made-from {input.made_from:q} --comparisons {input.comparison_tables:q}"
        " {params.headlines} --out {output.drafts:q} &> {log:q}"


rule report:
    """The report alone, with all that it shows."""
    input:
        "<results>/report.html",


rule tables:
    """All tables."""
    input:
        displays.files("table"),


rule figures:
    """All figures."""
    input:
        displays.files("figure"),
