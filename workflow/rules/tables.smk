# Tables for the paper, each as CSV, LaTeX and Markdown. Many are printed by one process, as each process takes a second to begin;
# any one of them alone: `python -m worldprobe table NAME`.

# Table -> its caption (workflow/report), chapter and title in Snakemake's own report.
ACCURACY_TABLES = {
    "mean_accuracy": ("mean_accuracy", "Accuracy", "Mean accuracy"),
    "accuracy_by_domain": ("accuracy_by_domain_table", "Accuracy", "Accuracy by domain"),
    "accuracy_by_paradigm": ("accuracy_by_paradigm", "Accuracy", "Accuracy by paradigm"),
    "comparisons": ("comparisons", "Accuracy", "Comparisons"),
    "correlations": ("correlations", "Surface features", "Correlations"),
    "likert_strict": ("likert_strict", "Prompting", "Likert, ties wrong"),
}


rule tables_of_accuracy:
    """Table 1 (mean and range), Table 2 (domains), Table 4 (strict Likert), ways of asking, comparisons, and correlations."""
    input:
        summary_table="results/ewok/summaries.parquet",
        pair_tables=pair_tables(),
        registry=registry_file,
        code=modules("cli/table.py"),
    output:
        tables=in_report("table", "csv", ACCURACY_TABLES, table_names()),
        others=beside("table", ["tex", "md", "json"], ACCURACY_TABLES, table_names()),
    log:
        "results/logs/tables_of_accuracy.log",
    benchmark:
        "results/benchmarks/tables_of_accuracy.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        **SMALL,
    message:
        "Tables of accuracy"
    shell:
        "python -m worldprobe table set results/ewok --models {input.registry}" " --out {output.tables} {output.others} &> {log}"


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
        json="results/ewok/tables/dataset.json",
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
        " --out {output.csv} {output.tex} {output.md} {output.json} &> {log}"


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
        json="results/ewok/tables/{fit}.json",
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
        " --out {output.csv} {output.tex} {output.md} {output.json} &> {log}"


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
        json="results/ewok/tables/reproduction.json",
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
        " --out {output.csv} {output.tex} {output.md} {output.json} &> {log}"


rule tables:
    """All tables."""
    input:
        expand(
            "results/ewok/tables/{table}.{suffix}",
            table=table_names(),
            suffix=["csv", "tex", "md", "json"],
        ),
