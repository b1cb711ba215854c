# Tables and figures of every benchmark: one rule each, whose inputs, section and caption are those that the benchmark declares.


rule print_table:
    """A table as CSV, LaTeX, Markdown and JSON."""
    input:
        tables=displays.look_up("table", "inputs"),
        archive=displays.note,
    output:
        csv=report(
            "<results>/{benchmark}/tables/{name}.csv",
            caption="../report/display.rst",
            category=displays.look_up("table", "section"),
            labels=displays.look_up("table", "label"),
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
        registry=this_run.registry_file,
        models=this_run.names(),
        caption=displays.look_up("table", "caption"),
        options=displays.look_up("table", "options"),
        code=displays.look_up("table", "code"),
    message:
        "Table {wildcards.name}"
    shell:
        "worldprobe table {wildcards.name:q} {input.tables:q} --registry {params.registry:q}"
        " {params.options} --out {output.csv:q} {output.others:q} &> {log:q}"


rule draw_figure:
    """A figure as SVG, PDF and PNG, and its numbers as CSV."""
    input:
        tables=displays.look_up("figure", "inputs"),
        trained=displays.look_up("figure", "trained_files"),
        archive=displays.note,
    output:
        svg=report(
            "<results>/{benchmark}/figures/{name}.svg",
            caption="../report/display.rst",
            category=displays.look_up("figure", "section"),
            labels=displays.look_up("figure", "label"),
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
        trained=displays.look_up("figure", "trained_option"),
        registry=this_run.registry_file,
        models=this_run.names(colours=True),
        caption=displays.look_up("figure", "caption"),
        code=displays.look_up("figure", "code"),
    message:
        "Figure {wildcards.name}"
    shell:
        "worldprobe figure {wildcards.name:q} {input.tables:q} --registry {params.registry:q} {params.trained}"
        " --out {output.svg:q} {output.others:q} &> {log:q}"
