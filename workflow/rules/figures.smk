# Figures for the paper, each as PDF, SVG and PNG with the numbers it shows as CSV.


rule figure_accuracy_by_domain:
    """Figure 4: a panel per domain, a bar per model, a dot per version, the chance line, the human band where present."""
    input:
        summary_table="results/ewok/summaries.parquet",
        registry=registry_file,
        code=modules("figures"),
    output:
        pdf="results/ewok/figures/accuracy_by_domain.pdf",
        svg=report(
            "results/ewok/figures/accuracy_by_domain.svg",
            category="Accuracy",
            labels={"figure": "Accuracy by domain"},
        ),
        png="results/ewok/figures/accuracy_by_domain.png",
        csv="results/ewok/figures/accuracy_by_domain.csv",
    log:
        "results/logs/figure_accuracy_by_domain.log",
    benchmark:
        "results/benchmarks/figure_accuracy_by_domain.tsv"
    conda:
        "../../envs/analysis.yaml"
    message:
        "Figure 4: accuracy by domain"
    shell:
        "python -m worldprobe figure accuracy_by_domain {input.summary_table} --models {input.registry}"
        " --out {output.pdf} {output.svg} {output.png} {output.csv} &> {log}"


rule figures:
    """All figures."""
    input:
        expand(
            "results/ewok/figures/{figure}.{suffix}",
            figure=figure_names(),
            suffix=["pdf", "svg", "png", "csv"],
        ),
