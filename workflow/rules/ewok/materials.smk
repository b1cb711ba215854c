# Materials to templates to items (EWoK, Section 3).


rule compile_templates:
    """Templates: pairs of contexts and targets with open slots, compiled from concepts, contexts and targets."""
    input:
        materials=material_files,
    output:
        template_table="<ewok>/templates.parquet",
    log:
        "<logs>/compile_templates.log",
    benchmark:
        "<benchmarks>/compile_templates.tsv"
    localrule: True
    conda:
        "../../../envs/analysis.yaml"
    params:
        source=MATERIAL_SOURCE,
        how=COMPAT,
        contents=contents(OWN_MATERIALS),
        method=methods.TEMPLATES,
    message:
        "Compiling templates from {params.source}"
    shell:
        "worldprobe templates compile {params.source:q} {params.how} --out {output.template_table:q} &> {log:q}"


use rule compile_templates as compile_family_templates with:
    """Templates of the families: for each base a template per level, which differ in the level alone."""
    output:
        template_table="<ewok>/family_templates.parquet",
    log:
        "<logs>/compile_family_templates.log",
    benchmark:
        "<benchmarks>/compile_family_templates.tsv"
    localrule: True
    params:
        how=f"{COMPAT} --families",


rule fill_items:
    """Items of one version of one condition: templates with their slots filled."""
    input:
        template_table=by_wildcard("condition", partial(ewok_outputs.template_table, study)),
        materials=material_files,
    output:
        item_table="<ewok>/items/{condition}/version_{version}.parquet",
    log:
        "<logs>/fill_items/{condition}/{version}.log",
    benchmark:
        "<benchmarks>/fill_items/{condition}/{version}.tsv"
    localrule: True
    conda:
        "../../../envs/analysis.yaml"
    params:
        source=MATERIAL_SOURCE,
        filling=filling,
        contents=contents(OWN_MATERIALS),
        method=methods.ITEMS,
    message:
        "Filling version {wildcards.version} of {wildcards.condition}"
    shell:
        "worldprobe items fill {input.template_table:q} {params.source:q} {params.filling}"
        " --version {wildcards.version} --out {output.item_table:q} &> {log:q}"


rule gather_items:
    """The items of a condition: its versions together, those with the texts of another marked."""
    input:
        version_tables=by_wildcard("condition", partial(ewok_outputs.version_tables, study)),
    output:
        item_table="<ewok>/items/{condition}.parquet",
    log:
        "<logs>/gather_items/{condition}.log",
    benchmark:
        "<benchmarks>/gather_items/{condition}.tsv"
    localrule: True
    conda:
        "../../../envs/analysis.yaml"
    params:
        release_filter=RELEASE_FILTER,
        method=methods.ITEMS,
    message:
        "Gathering the items of {wildcards.condition}"
    shell:
        "worldprobe items gather {input.version_tables:q} {params.release_filter}"
        " --out {output.item_table:q} &> {log:q}"
