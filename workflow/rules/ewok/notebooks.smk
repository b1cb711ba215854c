# Notebooks that read a finished study.


rule run_notebook:
    """A notebook, run over the finished study, as a part of the report."""
    input:
        notebook=notebook_file,
        summary_table="<ewok>/summaries.parquet",
        judgement_tables=ewok_outputs.judged_for_means(this_run.asked),
        materials=this_run.builtin_files,
    output:
        fragment="<results>/notebooks/{notebook}.html",
    log:
        "<logs>/run_notebook/{notebook}.log",
    benchmark:
        "<benchmarks>/run_notebook/{notebook}.tsv"
    localrule: True
    conda:
        "../../../envs/analysis.yaml"
    params:
        folder=subpath(input.summary_table, parent=True),
        condition=ewok_outputs.reference(study),
        materials=without_wildcards(this_run.builtin),
        registry=this_run.registry_file,
        models=this_run.names(),
        contents=digest_edited(notebook_file),
        code=digest_code(displays=True),
    message:
        "Running the notebook {wildcards.notebook}"
    shell:
        "worldprobe notebook run {input.notebook:q} --results {params.folder:q} --registry {params.registry:q}"
        " --condition {params.condition:q}"
        " --materials {params.materials:q} --out {output.fragment:q} &> {log:q}"
