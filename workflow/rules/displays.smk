# Tables and figures of every benchmark: one rule each, whose inputs, section and caption are those that the benchmark declares.


rule print_table:
    """A table as CSV, LaTeX, Markdown and JSON."""
    input:
        tables=display("table", "inputs"),
        archive=ARCHIVE_NOTE,
    output:
        csv=report(
            "<results>/{benchmark}/tables/{name}.csv",
            caption="../report/display.rst",
            category=display("table", "section"),
            labels=display("table", "label"),
        ),
        others=expand("<results>/{{benchmark}}/tables/{{name}}.{form}", form=FORMATS["table"][1:]),
    log:
        "<logs>/print_table/{benchmark}/{name}.log",
    benchmark:
        "<benchmarks>/print_table/{benchmark}/{name}.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    params:
        registry=registry_file,
        models=NAMES,
        caption=display("table", "caption"),
        code=display("table", "code"),
    message:
        "Table {wildcards.name}"
    shell:
        "worldprobe table {wildcards.name:q} {input.tables:q} --registry {params.registry:q}"
        " --out {output.csv:q} {output.others:q} &> {log:q}"


rule draw_figure:
    """A figure as SVG, PDF and PNG, and its numbers as CSV."""
    input:
        tables=display("figure", "inputs"),
        trained=display("figure", "trained_files"),
        archive=ARCHIVE_NOTE,
    output:
        svg=report(
            "<results>/{benchmark}/figures/{name}.svg",
            caption="../report/display.rst",
            category=display("figure", "section"),
            labels=display("figure", "label"),
        ),
        others=expand("<results>/{{benchmark}}/figures/{{name}}.{form}", form=FORMATS["figure"][1:]),
    log:
        "<logs>/draw_figure/{benchmark}/{name}.log",
    benchmark:
        "<benchmarks>/draw_figure/{benchmark}/{name}.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    params:
        trained=display("figure", "trained_option"),
        registry=registry_file,
        models=NAMES_AND_COLOURS,
        caption=display("figure", "caption"),
        code=display("figure", "code"),
    message:
        "Figure {wildcards.name}"
    shell:
        "worldprobe figure {wildcards.name:q} {input.tables:q} --registry {params.registry:q} {params.trained}"
        " --out {output.svg:q} {output.others:q} &> {log:q}"
