# Materials to templates to items (EWoK, Section 3).


rule compile_templates:
    """Templates: pairs of contexts and targets with open slots, compiled from concepts, contexts and targets."""
    input:
        materials=ewok.material_files,
    output:
        template_table="<ewok>/templates.parquet",
        filler_table="<ewok>/fillers.parquet",
    log:
        "<logs>/compile_templates.log",
    benchmark:
        "<benchmarks>/compile_templates.tsv"
    group:
        "items"
    conda:
        "../../../envs/analysis.yaml"
    params:
        source=ewok.source,
        how=ewok.compat,
        contents=digest_edited(ewok.own_materials),
        method=methods.TEMPLATES,
    message:
        "Compiling templates from {params.source}"
    shell:
        "worldprobe templates compile {params.source:q} {params.how} --fillers-out {output.filler_table:q} --out {output.template_table:q} &> {log:q}"


use rule compile_templates as compile_family_templates with:
    """Templates of the families: for each base a template per level, which differ in the level alone."""
    output:
        template_table="<ewok>/family_templates.parquet",
        filler_table="<ewok>/family_fillers.parquet",
    log:
        "<logs>/compile_family_templates.log",
    benchmark:
        "<benchmarks>/compile_family_templates.tsv"
    group:
        "items"
    params:
        how=f"{ewok.compat} --families",


rule fill_items:
    """Items of one version of one condition: templates with their slots filled."""
    input:
        template_table=ewok.templates,
        filler_table=ewok.fillers,
    output:
        item_table="<ewok>/items/{condition}/version_{version}.parquet",
    log:
        "<logs>/fill_items/{condition}/{version}.log",
    benchmark:
        "<benchmarks>/fill_items/{condition}/{version}.tsv"
    group:
        "items"
    conda:
        "../../../envs/analysis.yaml"
    params:
        filling=ewok.filling,
        method=methods.ITEMS,
    message:
        "Filling version {wildcards.version} of {wildcards.condition}"
    shell:
        "worldprobe items fill {input.template_table:q} {input.filler_table:q} {params.filling}"
        " --version {wildcards.version} --out {output.item_table:q} &> {log:q}"


rule gather_items:
    """The items of a condition: its versions together, those with the texts of another marked."""
    input:
        version_tables=ewok.versions,
    output:
        item_table="<ewok>/items/{condition}.parquet",
    log:
        "<logs>/gather_items/{condition}.log",
    benchmark:
        "<benchmarks>/gather_items/{condition}.tsv"
    group:
        "items"
    conda:
        "../../../envs/analysis.yaml"
    params:
        release_filter=ewok.release_filter,
        method=methods.ITEMS,
    message:
        "Gathering the items of {wildcards.condition}"
    shell:
        "worldprobe items gather {input.version_tables:q} {params.release_filter}"
        " --out {output.item_table:q} &> {log:q}"
