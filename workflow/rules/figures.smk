# Figures for the paper, each as PDF, SVG and PNG with the numbers it shows as CSV.


rule figure_accuracy_by_domain:
    """Figure 4: a panel per domain, a bar per model, a dot per version, the chance line, the human band where present."""
    input:
        summary_table="results/ewok/summaries.parquet",
        registry=registry_file,
        code=modules("cli/figure.py"),
    output:
        pdf="results/ewok/figures/accuracy_by_domain.pdf",
        svg=report(
            "results/ewok/figures/accuracy_by_domain.svg",
            caption="../report/accuracy_by_domain.rst",
            category="Accuracy",
            labels={"figure": "Accuracy by domain"},
        ),
        png="results/ewok/figures/accuracy_by_domain.png",
        csv="results/ewok/figures/accuracy_by_domain.csv",
    log:
        "results/logs/figure_accuracy_by_domain.log",
    benchmark:
        "results/benchmarks/figure_accuracy_by_domain.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        **SMALL,
    message:
        "Figure 4: accuracy by domain"
    shell:
        "python -m worldprobe figure accuracy_by_domain {input.summary_table} --models {input.registry}"
        " --out {output.pdf} {output.svg} {output.png} {output.csv} &> {log}"


rule figure_design_features:
    """Figure 5: accuracy by design and by surface features."""
    input:
        summary_table="results/ewok/summaries.parquet",
        correlation_table="results/ewok/correlations.parquet",
        registry=registry_file,
        code=modules("cli/figure.py"),
    output:
        pdf="results/ewok/figures/design_features.pdf",
        svg=report(
            "results/ewok/figures/design_features.svg",
            caption="../report/design_features.rst",
            category="Accuracy",
            labels={"figure": "Design features"},
        ),
        png="results/ewok/figures/design_features.png",
        csv="results/ewok/figures/design_features.csv",
    log:
        "results/logs/figure_design_features.log",
    benchmark:
        "results/benchmarks/figure_design_features.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        **SMALL,
    message:
        "Figure 5: design and surface features"
    shell:
        "python -m worldprobe figure design_features {input.summary_table} {input.correlation_table} --models {input.registry}"
        " --out {output.pdf} {output.svg} {output.png} {output.csv} &> {log}"


rule figure_surface_feature:
    """Accuracy against a surface feature, a panel per model."""
    input:
        point_table="results/ewok/feature_means.parquet",
        correlation_table="results/ewok/correlations.parquet",
        registry=registry_file,
        code=modules("cli/figure.py"),
    output:
        pdf="results/ewok/figures/{feature}.pdf",
        svg=report(
            "results/ewok/figures/{feature}.svg",
            caption="../report/surface_feature.rst",
            category="Surface features",
            labels={"figure": "{feature}"},
        ),
        png="results/ewok/figures/{feature}.png",
        csv="results/ewok/figures/{feature}.csv",
    log:
        "results/logs/figure_surface_feature/{feature}.log",
    benchmark:
        "results/benchmarks/figure_surface_feature/{feature}.tsv"
    wildcard_constraints:
        feature="word2vec|n_words|log_frequency",
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        **SMALL,
    message:
        "Accuracy against {wildcards.feature}"
    shell:
        "python -m worldprobe figure surface_feature {input.point_table} {input.correlation_table} --feature {wildcards.feature} --models {input.registry}"
        " --out {output.pdf} {output.svg} {output.png} {output.csv} &> {log}"


rule figure_paradigms:
    """Figure 6: LogProbs, Likert and Choice, model by model."""
    input:
        summary_table="results/ewok/summaries.parquet",
        registry=registry_file,
        code=modules("cli/figure.py"),
    output:
        pdf="results/ewok/figures/paradigms.pdf",
        svg=report(
            "results/ewok/figures/paradigms.svg",
            caption="../report/paradigms.rst",
            category="Prompting",
            labels={"figure": "Ways of asking"},
        ),
        png="results/ewok/figures/paradigms.png",
        csv="results/ewok/figures/paradigms.csv",
    log:
        "results/logs/figure_paradigms.log",
    benchmark:
        "results/benchmarks/figure_paradigms.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        **SMALL,
    message:
        "Figure 6: ways of asking"
    shell:
        "python -m worldprobe figure paradigms {input.summary_table} --models {input.registry}"
        " --out {output.pdf} {output.svg} {output.png} {output.csv} &> {log}"


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


rule figure_setups:
    """Every prompting set-up, by model or by domain."""
    input:
        summary_table="results/ewok/summaries.parquet",
        registry=registry_file,
        code=modules("cli/figure.py"),
    output:
        pdf="results/ewok/figures/setups_by_{by}.pdf",
        svg=report(
            "results/ewok/figures/setups_by_{by}.svg",
            caption="../report/setups.rst",
            category="Prompting",
            labels={"figure": "Set-ups by {by}"},
        ),
        png="results/ewok/figures/setups_by_{by}.png",
        csv="results/ewok/figures/setups_by_{by}.csv",
    log:
        "results/logs/figure_setups/{by}.log",
    benchmark:
        "results/benchmarks/figure_setups/{by}.tsv"
    wildcard_constraints:
        by="model|domain",
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        **SMALL,
    message:
        "Prompting set-ups by {wildcards.by}"
    shell:
        "python -m worldprobe figure setups_by_{wildcards.by} {input.summary_table} --models {input.registry}"
        " --out {output.pdf} {output.svg} {output.png} {output.csv} &> {log}"


rule figure_concepts:
    """Which concepts fail for whom: concepts against models."""
    input:
        summary_table="results/ewok/summaries.parquet",
        registry=registry_file,
        code=modules("cli/figure.py"),
    output:
        pdf="results/ewok/figures/concepts.pdf",
        svg=report(
            "results/ewok/figures/concepts.svg",
            caption="../report/concepts.rst",
            category="Accuracy",
            labels={"figure": "Concepts"},
        ),
        png="results/ewok/figures/concepts.png",
        csv="results/ewok/figures/concepts.csv",
    log:
        "results/logs/figure_concepts.log",
    benchmark:
        "results/benchmarks/figure_concepts.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        **SMALL,
    message:
        "Concepts against models"
    shell:
        "python -m worldprobe figure concepts {input.summary_table} --models {input.registry}"
        " --out {output.pdf} {output.svg} {output.png} {output.csv} &> {log}"


rule figure_scaling:
    """Accuracy against the number of parameters."""
    input:
        summary_table="results/ewok/summaries.parquet",
        trained=trained_folders(),
        registry=registry_file,
        code=modules("cli/figure.py"),
    output:
        pdf="results/ewok/figures/scaling.pdf",
        svg=report(
            "results/ewok/figures/scaling.svg",
            caption="../report/scaling.rst",
            category="Accuracy",
            labels={"figure": "Scaling"},
        ),
        png="results/ewok/figures/scaling.png",
        csv="results/ewok/figures/scaling.csv",
    log:
        "results/logs/figure_scaling.log",
    benchmark:
        "results/benchmarks/figure_scaling.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        **SMALL,
    params:
        trained=flag("--trained", trained_folders()),
    message:
        "Accuracy against the number of parameters"
    shell:
        "python -m worldprobe figure scaling {input.summary_table} --models {input.registry} {params.trained}"
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
