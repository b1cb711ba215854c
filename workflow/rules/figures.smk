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


rule figure_concepts:
    """Which concepts fail for whom: concepts against models."""
    input:
        summary_table="results/ewok/summaries.parquet",
        registry=registry_file,
        code=modules("figures"),
    output:
        pdf="results/ewok/figures/concepts.pdf",
        svg=report(
            "results/ewok/figures/concepts.svg",
            category="Accuracy",
            labels={"figure": "Concepts"},
        ),
        png="results/ewok/figures/concepts.png",
        csv="results/ewok/figures/concepts.csv",
    log:
        "results/logs/figure_concepts.log",
    benchmark:
        "results/benchmarks/figure_concepts.tsv"
    conda:
        "../../envs/analysis.yaml"
    message:
        "Concepts against models"
    shell:
        "python -m worldprobe figure concepts {input.summary_table} --models {input.registry}"
        " --out {output.pdf} {output.svg} {output.png} {output.csv} &> {log}"


rule figure_scaling:
    """Accuracy against the number of parameters."""
    input:
        summary_table="results/ewok/summaries.parquet",
        registry=registry_file,
        code=modules("figures"),
    output:
        pdf="results/ewok/figures/scaling.pdf",
        svg=report(
            "results/ewok/figures/scaling.svg",
            category="Accuracy",
            labels={"figure": "Scaling"},
        ),
        png="results/ewok/figures/scaling.png",
        csv="results/ewok/figures/scaling.csv",
    log:
        "results/logs/figure_scaling.log",
    benchmark:
        "results/benchmarks/figure_scaling.tsv"
    conda:
        "../../envs/analysis.yaml"
    message:
        "Accuracy against the number of parameters"
    shell:
        "python -m worldprobe figure scaling {input.summary_table} --models {input.registry}"
        " --out {output.pdf} {output.svg} {output.png} {output.csv} &> {log}"


rule figure_controls:
    """Control models on templates and fillers that their stories had, and on those they had not."""
    input:
        accuracy_table="results/ewok/control_accuracies.parquet",
        registry=registry_file,
        code=modules("figures"),
    output:
        pdf="results/ewok/figures/controls.pdf",
        svg=report(
            "results/ewok/figures/controls.svg",
            category="Controls",
            labels={"figure": "Seen and new"},
        ),
        png="results/ewok/figures/controls.png",
        csv="results/ewok/figures/controls.csv",
    log:
        "results/logs/figure_controls.log",
    benchmark:
        "results/benchmarks/figure_controls.tsv"
    conda:
        "../../envs/analysis.yaml"
    message:
        "Control models: seen and new"
    shell:
        "python -m worldprobe figure controls {input.accuracy_table} --models {input.registry}"
        " --out {output.pdf} {output.svg} {output.png} {output.csv} &> {log}"


rule figures:
    """All figures."""
    input:
        expand(
            "results/ewok/figures/{figure}.{suffix}",
            figure=figure_names(),
            suffix=["pdf", "svg", "png", "csv"],
        ),
