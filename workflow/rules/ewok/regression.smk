# Regression on accuracy (EWoK, Appendix A.5).


rule fit_mixed_model:
    """The paper's mixed-effects logistic regression, or one with random slopes, in R's lme4."""
    input:
        judgement_tables=ewok_outputs.regressed(this_run.asked, registry),
        feature_table=ewok_outputs.surface_features(study),
    output:
        coefficient_table="<ewok>/regression/mixed_model.parquet",
    log:
        "<logs>/fit_mixed_model.log",
    benchmark:
        "<benchmarks>/fit_mixed_model.tsv"
    conda:
        "../../../envs/stats.yaml"
    resources:
        mem_mb=per_attempt(8000),
        runtime=per_attempt(120),
    params:
        missing=this_run.missing_option(),
        random_effects=study["ewok"]["mixed_model"]["random_effects"],
        code=digest_code(),
    message:
        "Fitting the mixed-effects model (lme4)"
    shell:
        "worldprobe fit mixed-model {input.judgement_tables:q} {params.missing} --surface {input.feature_table:q}"
        " --random-effects {params.random_effects} --out {output.coefficient_table:q} &> {log:q}"


rule fit_fixed_effects:
    """Cross-check of the mixed model without R: fixed effects only, with standard errors clustered by item."""
    input:
        judgement_tables=ewok_outputs.regressed(this_run.asked, registry),
        feature_table=ewok_outputs.surface_features(study),
    output:
        coefficient_table="<ewok>/regression/fixed_effects.parquet",
    log:
        "<logs>/fit_fixed_effects.log",
    benchmark:
        "<benchmarks>/fit_fixed_effects.tsv"
    group:
        "analysis"
    conda:
        "../../../envs/analysis.yaml"
    params:
        missing=this_run.missing_option(),
        code=digest_code(),
    message:
        "Fitting the fixed effects (statsmodels)"
    shell:
        "worldprobe fit fixed-effects {input.judgement_tables:q} {params.missing} --surface {input.feature_table:q}"
        " --out {output.coefficient_table:q} &> {log:q}"
