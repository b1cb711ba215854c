# Figures for the paper, each as PDF, SVG and PNG with the numbers it shows as CSV. Many are drawn by one process, as each
# process takes a second to begin; any one of them alone: `python -m worldprobe figure NAME`.

# Figure -> its caption (workflow/report), chapter and title in Snakemake's own report.
ACCURACY_FIGURES = {
    "accuracy_by_domain": ("accuracy_by_domain", "Accuracy", "Accuracy by domain"),
    "concepts": ("concepts", "Accuracy", "Concepts"),
    "scaling": ("scaling", "Accuracy", "Scaling"),
    "paradigms": ("paradigms", "Prompting", "Ways of asking"),
    "setups_by_model": ("setups", "Prompting", "Set-ups by model"),
    "setups_by_domain": ("setups", "Prompting", "Set-ups by domain"),
}
FEATURE_FIGURES = {
    "design_features": ("design_features", "Accuracy", "Design features"),
    "word2vec": ("surface_feature", "Surface features", "word2vec"),
    "n_words": ("surface_feature", "Surface features", "Number of words"),
    "log_frequency": ("surface_feature", "Surface features", "Word frequency"),
}


rule figures_of_accuracy:
    """Figure 4 (domains), Figure 6 (ways of asking), prompting set-ups, the map of concepts, and accuracy against size."""
    input:
        summary_table="results/ewok/summaries.parquet",
        trained=trained_folders(),
        registry=registry_file,
        code=modules("cli/figure.py"),
    output:
        figures=in_report("figure", "svg", ACCURACY_FIGURES, figure_names()),
        others=beside("figure", ["pdf", "png", "csv"], ACCURACY_FIGURES, figure_names()),
    log:
        "results/logs/figures_of_accuracy.log",
    benchmark:
        "results/benchmarks/figures_of_accuracy.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        **SMALL,
    params:
        trained=flag("--trained", trained_folders()),
    message:
        "Figures of accuracy"
    shell:
        "python -m worldprobe figure set results/ewok --models {input.registry} {params.trained}"
        " --out {output.figures} {output.others} &> {log}"


rule figures_of_features:
    """Figure 5 (design and surface features), and accuracy against each surface feature, a panel per model."""
    input:
        summary_table="results/ewok/summaries.parquet",
        point_table="results/ewok/feature_means.parquet",
        correlation_table="results/ewok/correlations.parquet",
        registry=registry_file,
        code=modules("cli/figure.py"),
    output:
        figures=in_report("figure", "svg", FEATURE_FIGURES, figure_names()),
        others=beside("figure", ["pdf", "png", "csv"], FEATURE_FIGURES, figure_names()),
    log:
        "results/logs/figures_of_features.log",
    benchmark:
        "results/benchmarks/figures_of_features.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        **SMALL,
    message:
        "Figures of design and surface features"
    shell:
        "python -m worldprobe figure set results/ewok --models {input.registry}"
        " --out {output.figures} {output.others} &> {log}"


rule figure_agreement:
    """Figure 7: Choice against the choice that Likert ratings imply."""
    input:
        agreement_table="results/ewok/agreements.parquet",
        registry=registry_file,
        code=modules("cli/figure.py"),
    output:
        pdf="results/ewok/figures/agreement.pdf",
        svg=report(
            "results/ewok/figures/agreement.svg",
            caption="../report/agreement.rst",
            category="Prompting",
            labels={"figure": "Agreement"},
        ),
        png="results/ewok/figures/agreement.png",
        csv="results/ewok/figures/agreement.csv",
    log:
        "results/logs/figure_agreement.log",
    benchmark:
        "results/benchmarks/figure_agreement.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        **SMALL,
    message:
        "Figure 7: choices and ratings"
    shell:
        "python -m worldprobe figure agreement {input.agreement_table} --models {input.registry}"
        " --out {output.pdf} {output.svg} {output.png} {output.csv} &> {log}"


rule figure_controls:
    """Control models on templates and fillers that their stories had, and on those they had not."""
    input:
        accuracy_table="results/ewok/control_accuracies.parquet",
        registry=registry_file,
        code=modules("cli/figure.py"),
    output:
        pdf="results/ewok/figures/controls.pdf",
        svg=report(
            "results/ewok/figures/controls.svg",
            caption="../report/controls.rst",
            category="Controls",
            labels={"figure": "Seen and new"},
        ),
        png="results/ewok/figures/controls.png",
        csv="results/ewok/figures/controls.csv",
    log:
        "results/logs/figure_controls.log",
    benchmark:
        "results/benchmarks/figure_controls.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        **SMALL,
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
