# Regression on accuracy (EWoK, Appendix A.5).


rule fit_mixed_model:
    """The paper's mixed-effects logistic regression, in R's lme4."""
    input:
        judgement_tables=judgement_tables(["logprobs"]),
        feature_table=surface_features(),
    output:
        coefficient_table="results/ewok/regression/mixed_model.parquet",
    log:
        "results/logs/fit_mixed_model.log",
    benchmark:
        "results/benchmarks/fit_mixed_model.tsv"
    conda:
        "../../envs/stats.yaml"
    threads: 1
    resources:
        gpu=0,
        mem_mb=grows(8000),
        runtime=grows(120),
    params:
        method=1,
    message:
        "Fitting the mixed-effects model (lme4)"
    shell:
        "python -m worldprobe fit mixed-model {input.judgement_tables} --surface {input.feature_table}"
        " --out {output.coefficient_table} &> {log}"


rule fit_fixed_effects:
    """Its fixed effects alone, with standard errors clustered by item: a cross-check that needs no R."""
    input:
        judgement_tables=judgement_tables(["logprobs"]),
        feature_table=surface_features(),
    output:
        coefficient_table="results/ewok/regression/fixed_effects.parquet",
    log:
        "results/logs/fit_fixed_effects.log",
    benchmark:
        "results/benchmarks/fit_fixed_effects.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        **SMALL,
    params:
        method=1,
    message:
        "Fitting the fixed effects (statsmodels)"
    shell:
        "python -m worldprobe fit fixed-effects {input.judgement_tables} --surface {input.feature_table}"
        " --out {output.coefficient_table} &> {log}"
