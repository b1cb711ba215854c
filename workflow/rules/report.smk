# One page with everything on it: each benchmark of the study adds its part, its tables and its figures.


#: What each part is built from.
PAGES = benchmarks.page_files(study, ALL_WITH_ANSWERS)

#: Where the parts are composed.
COMPOSED = [one.page.compose.__module__ for one in benchmarks.of_study(study) if one.page]


localrules:
    build_report,
    write_paper,
    typeset_paper,


rule build_report:
    """The report: tables, figures, what they say and how they were made, as one HTML page that opens offline."""
    input:
        summary_tables=[page.summary for page in PAGES],
        registry=registry_file,
        tables=benchmarks.display_files(ANSWERED, registry, "table", "json"),
        figures=benchmarks.display_files(ANSWERED, registry, "figure", "svg"),
        notebooks=[path for page in PAGES for path in page.notebooks],
        made_from=[path for page in PAGES for path in page.made_from],
        item_tables=[page.item_text for page in PAGES if page.item_text],
        rulegraph=in_repository("resources/rulegraph.svg"),
    output:
        page="<results>/report.html",
    log:
        "<logs>/build_report.log",
    benchmark:
        "<benchmarks>/build_report.tsv"
    conda:
        "../../envs/analysis.yaml"
    params:
        headlines=flag("--headlines", [page.eval_type for page in PAGES]),
        answers=STUDY.answers,
        study=study["study"],
        jobs=STUDY.benchmarks,
        code=digest_code("report build", *COMPOSED),
    message:
        "Building the report"
    shell:
        "worldprobe report build {input.summary_tables:q} --registry {input.registry:q} --study {params.study:q}"
        " --tables {input.tables:q} --figures {input.figures:q} --made-from {input.made_from:q} --notebooks {input.notebooks:q}"
        " --benchmarks {params.jobs:q} --answers {params.answers:q} --rulegraph {input.rulegraph:q}"
        " --item-text {input.item_tables:q} {params.headlines} --out {output.page:q} &> {log:q}"


rule report:
    """The report alone, with all that it shows."""
    input:
        "<results>/report.html",


rule write_paper:
    """A short article with all tables and figures; each number in it is a macro of numbers.tex, named by what it is."""
    input:
        summary_tables=[page.summary for page in PAGES],
        registry=registry_file,
        tables=benchmarks.display_files(ANSWERED, registry, "table", "json"),
        figures=benchmarks.display_files(ANSWERED, registry, "figure", "svg"),
        made_from=[path for page in PAGES for path in page.made_from],
    output:
        paper="<results>/paper/paper.tex",
        numbers="<results>/paper/numbers.tex",
    log:
        "<logs>/write_paper.log",
    benchmark:
        "<benchmarks>/write_paper.tsv"
    conda:
        "../../envs/analysis.yaml"
    params:
        headlines=flag("--headlines", [page.eval_type for page in PAGES]),
        study=study["study"],
        code=digest_code("paper write"),
    message:
        "Writing the paper"
    shell:
        "worldprobe paper write {input.summary_tables:q} --registry {input.registry:q} --study {params.study:q}"
        " --tables {input.tables:q} --figures {input.figures:q} --made-from {input.made_from:q} {params.headlines}"
        " --out {output.paper:q} {output.numbers:q} &> {log:q}"


rule typeset_paper:
    """The article as a PDF, by Debian's TeX."""
    input:
        paper="<results>/paper/paper.tex",
        numbers="<results>/paper/numbers.tex",
        figures=benchmarks.display_files(ANSWERED, registry, "figure", "pdf"),
    output:
        pdf="<results>/paper/paper.pdf",
    log:
        "<logs>/typeset_paper.log",
    benchmark:
        "<benchmarks>/typeset_paper.tsv"
    conda:
        "../../envs/analysis.yaml"
    params:
        code=digest_code("paper typeset"),
    message:
        "Typesetting the paper"
    shell:
        "worldprobe paper typeset {input.paper:q} --out {output.pdf:q} &> {log:q}"


rule paper:
    """The article and its numbers; the PDF where latexmk is installed."""
    input:
        "<results>/paper/paper.tex",
        "<results>/paper/numbers.tex",
        ["<results>/paper/paper.pdf"] if shutil.which("latexmk") else [],


rule tables:
    """All tables."""
    input:
        benchmarks.display_files(ANSWERED, registry, "table"),


rule figures:
    """All figures."""
    input:
        benchmarks.display_files(ANSWERED, registry, "figure"),
