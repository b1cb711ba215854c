# From evidence to accuracy (EWoK, Sections 4 and 5).


rule judge:
    """Accuracy of every target of a condition, asked in every way: 1 if its own context wins, 0.5 on an exact tie, else 0."""
    input:
        item_table="<ewok>/items/{condition}.parquet",
        evidence=ewok_outputs.evidence(study, "{model}", "{condition}"),
    output:
        judgement_tables=expand(
            "<ewok>/judgements/{{condition}}/{eval_type}/{{model}}.parquet",
            eval_type=ewok.block["eval_types"],
        ),
    log:
        "<logs>/judge/{condition}/{model}.log",
    benchmark:
        "<benchmarks>/judge/{condition}/{model}.tsv"
    group:
        "judging"
    conda:
        "../../../envs/analysis.yaml"
    params:
        code=digest_code(),
    message:
        "Judging {wildcards.model} ({wildcards.condition})"
    shell:
        "worldprobe attempt {wildcards.model:q} --inputs {input.evidence:q} --"
        " judge {input.item_table:q} {input.evidence:q} --model {wildcards.model:q}"
        " --out {output.judgement_tables:q} &> {log:q}"


rule agree:
    """Choice against the choice that Likert ratings imply: confusion matrices."""
    input:
        judgement_tables=ewok_outputs.prompted_judgements(this_run.asked),
        people=ewok_outputs.human_matrix(study),
    output:
        agreement_table="<ewok>/agreements.parquet",
    log:
        "<logs>/agree.log",
    benchmark:
        "<benchmarks>/agree.tsv"
    group:
        "analysis"
    conda:
        "../../../envs/analysis.yaml"
    params:
        people=options(people=ewok_outputs.human_matrix(study)),
        missing=this_run.missing_option(),
        code=digest_code(),
    message:
        "Comparing choices with ratings"
    shell:
        "worldprobe agree {input.judgement_tables:q} {params.people} {params.missing} --out {output.agreement_table:q} &> {log:q}"


rule correlate:
    """Correlation of accuracy with that of baselines, sentence length and word frequency, model by model."""
    input:
        judgement_tables=ewok_outputs.judgements(this_run.asked, ["logprobs"])
        + ewok_outputs.judgements_besides(study),
        feature_table=ewok_outputs.surface_features(study),
    output:
        point_table="<ewok>/feature_means.parquet",
        correlation_table="<ewok>/correlations.parquet",
    log:
        "<logs>/correlate.log",
    benchmark:
        "<benchmarks>/correlate.tsv"
    group:
        "analysis"
    conda:
        "../../../envs/analysis.yaml"
    params:
        missing=this_run.missing_option(),
        code=digest_code(),
    message:
        "Correlating accuracy with surface features"
    shell:
        "worldprobe correlate {input.judgement_tables:q} {params.missing} --surface {input.feature_table:q}"
        " --points-out {output.point_table:q} --out {output.correlation_table:q} &> {log:q}"


rule check_reproduction:
    """Every published number next to ours."""
    input:
        summary_table="<ewok>/summaries.parquet",
        item_table=ewok_outputs.item_table(study),
        coefficients=ewok_outputs.coefficients(study),
        published=from_here("resources/published/ewok.csv"),
        sources=from_here("resources/published/sources.yaml"),
        materials=ewok.material_files,
    output:
        reproduction_table="<ewok>/reproduction.parquet",
    log:
        "<logs>/check_reproduction.log",
    benchmark:
        "<benchmarks>/check_reproduction.tsv"
    group:
        "analysis"
    conda:
        "../../../envs/analysis.yaml"
    params:
        coefficients=options(coefficients=ewok_outputs.coefficients(study)),
        published=subpath(input.published, parent=True),
        source=ewok.source,
        contents=digest_edited(ewok.own_materials),
        code=digest_code(),
    message:
        "Comparing our numbers with the published ones"
    shell:
        "worldprobe reproduction check {input.summary_table:q} --items {input.item_table:q} {params.coefficients}"
        " --materials {params.source:q} --published {params.published:q} --out {output.reproduction_table:q} &> {log:q}"
