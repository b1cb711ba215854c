# Tables for the paper, each as CSV, LaTeX and Markdown.


rule table_mean_accuracy:
    """Table 1: mean accuracy of every model with its range over versions."""
    input:
        summary_table="results/ewok/summaries.parquet",
        registry=registry_file,
        code=modules("cli/table.py"),
    output:
        csv=report(
            "results/ewok/tables/mean_accuracy.csv",
            caption="../report/mean_accuracy.rst",
            category="Accuracy",
            labels={"table": "Mean accuracy"},
        ),
        tex="results/ewok/tables/mean_accuracy.tex",
        md="results/ewok/tables/mean_accuracy.md",
    log:
        "results/logs/table_mean_accuracy.log",
    benchmark:
        "results/benchmarks/table_mean_accuracy.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        **SMALL,
    message:
        "Table 1: mean accuracy"
    shell:
        "python -m worldprobe table mean_accuracy {input.summary_table} --models {input.registry}"
        " --out {output.csv} {output.tex} {output.md} &> {log}"


rule table_accuracy_by_domain:
    """Table 2: mean and best model by domain, beside humans where their ratings are present."""
    input:
        summary_table="results/ewok/summaries.parquet",
        registry=registry_file,
        code=modules("cli/table.py"),
    output:
        csv=report(
            "results/ewok/tables/accuracy_by_domain.csv",
            caption="../report/accuracy_by_domain_table.rst",
            category="Accuracy",
            labels={"table": "Accuracy by domain"},
        ),
        tex="results/ewok/tables/accuracy_by_domain.tex",
        md="results/ewok/tables/accuracy_by_domain.md",
    log:
        "results/logs/table_accuracy_by_domain.log",
    benchmark:
        "results/benchmarks/table_accuracy_by_domain.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        **SMALL,
    message:
        "Table 2: accuracy by domain"
    shell:
        "python -m worldprobe table accuracy_by_domain {input.summary_table} --models {input.registry}"
        " --out {output.csv} {output.tex} {output.md} &> {log}"


rule table_accuracy_by_paradigm:
    """Every model under every way of asking."""
    input:
        summary_table="results/ewok/summaries.parquet",
        registry=registry_file,
        code=modules("cli/table.py"),
    output:
        csv=report(
            "results/ewok/tables/accuracy_by_paradigm.csv",
            caption="../report/accuracy_by_paradigm.rst",
            category="Accuracy",
            labels={"table": "Accuracy by paradigm"},
        ),
        tex="results/ewok/tables/accuracy_by_paradigm.tex",
        md="results/ewok/tables/accuracy_by_paradigm.md",
    log:
        "results/logs/table_accuracy_by_paradigm.log",
    benchmark:
        "results/benchmarks/table_accuracy_by_paradigm.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        **SMALL,
    message:
        "Accuracy by paradigm"
    shell:
        "python -m worldprobe table accuracy_by_paradigm {input.summary_table} --models {input.registry}"
        " --out {output.csv} {output.tex} {output.md} &> {log}"


rule table_correlations:
    """Correlation of accuracy with surface features (Figure 5, D to F)."""
    input:
        correlation_table="results/ewok/correlations.parquet",
        registry=registry_file,
        code=modules("cli/table.py"),
    output:
        csv=report(
            "results/ewok/tables/correlations.csv",
            caption="../report/correlations.rst",
            category="Surface features",
            labels={"table": "Correlations"},
        ),
        tex="results/ewok/tables/correlations.tex",
        md="results/ewok/tables/correlations.md",
    log:
        "results/logs/table_correlations.log",
    benchmark:
        "results/benchmarks/table_correlations.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        **SMALL,
    message:
        "Correlations with surface features"
    shell:
        "python -m worldprobe table correlations {input.correlation_table} --models {input.registry}"
        " --out {output.csv} {output.tex} {output.md} &> {log}"


rule table_comparisons:
    """Models compared in pairs."""
    input:
        comparison_table="results/ewok/comparisons.parquet",
        registry=registry_file,
        code=modules("cli/table.py"),
    output:
        csv=report(
            "results/ewok/tables/comparisons.csv",
            caption="../report/comparisons.rst",
            category="Accuracy",
            labels={"table": "Comparisons"},
        ),
        tex="results/ewok/tables/comparisons.tex",
        md="results/ewok/tables/comparisons.md",
    log:
        "results/logs/table_comparisons.log",
    benchmark:
        "results/benchmarks/table_comparisons.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        **SMALL,
    message:
        "Models compared in pairs"
    shell:
        "python -m worldprobe table comparisons {input.comparison_table} --models {input.registry}"
        " --out {output.csv} {output.tex} {output.md} &> {log}"


rule table_likert_strict:
    """Table 4: Likert accuracy where equal ratings are wrong."""
    input:
        summary_table="results/ewok/summaries.parquet",
        registry=registry_file,
        code=modules("cli/table.py"),
    output:
        csv=report(
            "results/ewok/tables/likert_strict.csv",
            caption="../report/likert_strict.rst",
            category="Prompting",
            labels={"table": "Likert, ties wrong"},
        ),
        tex="results/ewok/tables/likert_strict.tex",
        md="results/ewok/tables/likert_strict.md",
    log:
        "results/logs/table_likert_strict.log",
    benchmark:
        "results/benchmarks/table_likert_strict.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        **SMALL,
    message:
        "Table 4: Likert, ties wrong"
    shell:
        "python -m worldprobe table likert_strict {input.summary_table} --models {input.registry}"
        " --out {output.csv} {output.tex} {output.md} &> {log}"


rule table_dataset:
    """What the materials hold, by domain."""
    input:
        template_table="results/ewok/templates.parquet",
        item_table="results/ewok/items.parquet",
        code=modules("cli/table.py"),
    output:
        csv=report(
            "results/ewok/tables/dataset.csv",
            caption="../report/dataset.rst",
            category="Materials",
            labels={"table": "Templates and items"},
        ),
        tex="results/ewok/tables/dataset.tex",
        md="results/ewok/tables/dataset.md",
    log:
        "results/logs/table_dataset.log",
    benchmark:
        "results/benchmarks/table_dataset.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        **SMALL,
    message:
        "Templates and items by domain"
    shell:
        "python -m worldprobe table dataset {input.template_table} {input.item_table}"
        " --out {output.csv} {output.tex} {output.md} &> {log}"


rule table_regression:
    """Table 3: coefficients of the regression, from the mixed model or from its fixed-effects cross-check."""
    input:
        coefficient_table="results/ewok/regression/{fit}.parquet",
        code=modules("cli/table.py"),
    output:
        csv=report(
            "results/ewok/tables/{fit}.csv",
            caption="../report/regression.rst",
            category="Regression",
            labels={"table": "{fit}"},
        ),
        tex="results/ewok/tables/{fit}.tex",
        md="results/ewok/tables/{fit}.md",
    log:
        "results/logs/table_regression/{fit}.log",
    benchmark:
        "results/benchmarks/table_regression/{fit}.tsv"
    wildcard_constraints:
        fit="mixed_model|fixed_effects",
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        **SMALL,
    message:
        "Table 3: coefficients ({wildcards.fit})"
    shell:
        "python -m worldprobe table mixed_model {input.coefficient_table} --fit {wildcards.fit}"
        " --out {output.csv} {output.tex} {output.md} &> {log}"


rule table_reproduction:
    """Published numbers beside ours."""
    input:
        reproduction_table="results/ewok/reproduction.parquet",
        registry=registry_file,
        code=modules("cli/table.py"),
    output:
        csv=report(
            "results/ewok/tables/reproduction.csv",
            caption="../report/reproduction.rst",
            category="Published numbers",
            labels={"table": "Beside the published numbers"},
        ),
        tex="results/ewok/tables/reproduction.tex",
        md="results/ewok/tables/reproduction.md",
    log:
        "results/logs/table_reproduction.log",
    benchmark:
        "results/benchmarks/table_reproduction.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        **SMALL,
    message:
        "Published numbers beside ours"
    shell:
        "python -m worldprobe table reproduction {input.reproduction_table} --models {input.registry}"
        " --out {output.csv} {output.tex} {output.md} &> {log}"


rule tables:
    """All tables."""
    input:
        expand(
            "results/ewok/tables/{table}.{suffix}",
            table=table_names(),
            suffix=["csv", "tex", "md"],
        ),
