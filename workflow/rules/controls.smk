# Calibration controls: small models of known behaviour, trained on stories written from the built-in materials.


rule compile_control_templates:
    """Templates of the built-in materials: what the stories are written from, whatever the study asks about."""
    input:
        materials=builtin_files(),
        code=modules("benchmarks/ewok/materials"),
    output:
        template_table="results/controls/templates.parquet",
    log:
        "results/logs/compile_control_templates.log",
    benchmark:
        "results/benchmarks/compile_control_templates.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        **SMALL,
    params:
        source=builtin_source,
    message:
        "Compiling the templates of the control models' stories"
    shell:
        "python -m worldprobe templates compile {params.source:q} --out {output.template_table} &> {log}"


rule write_corpus:
    """The stories, and which templates and fillers they leave out."""
    input:
        template_table="results/controls/templates.parquet",
        materials=builtin_files(),
    output:
        corpus=directory("results/controls/corpus"),
    log:
        "results/logs/write_corpus.log",
    benchmark:
        "results/benchmarks/write_corpus.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        **SMALL,
    params:
        source=builtin_source,
        stories=study["controls"]["stories"],
        sentences=study["controls"]["sentences"],
        held_out_templates=study["controls"]["held_out_templates"],
        held_out_fillers=study["controls"]["held_out_fillers"],
        seed=study["controls"]["seed"],
        method=1,
    message:
        "Writing about {params.stories} stories for the control models"
    shell:
        "python -m worldprobe controls corpus {input.template_table} {params.source:q}"
        " --stories {params.stories} --sentences {params.sentences}"
        " --held-out-templates {params.held_out_templates} --held-out-fillers {params.held_out_fillers}"
        " --seed {params.seed} --out {output.corpus} &> {log}"


rule train_tokenizer:
    """A byte-level BPE tokenizer for the control models."""
    input:
        corpus="results/controls/corpus",
    output:
        tokenizer=directory("results/controls/tokenizer"),
    log:
        "results/logs/train_tokenizer.log",
    benchmark:
        "results/benchmarks/train_tokenizer.tsv"
    localrule: True
    conda:
        "../../envs/scoring.yaml"
    threads: 1
    resources:
        **SMALL,
    params:
        vocabulary=study["controls"]["vocabulary"],
        method=1,
    message:
        "Training the control models' tokenizer"
    shell:
        "python -m worldprobe controls tokenizer {input.corpus} --vocabulary {params.vocabulary}"
        " --out {output.tokenizer} &> {log}"


rule train_control:
    """A small causal language model, trained from scratch and saved as an ordinary Hugging Face folder."""
    input:
        corpus="results/controls/corpus",
        tokenizer="results/controls/tokenizer",
    output:
        checkpoint=directory("results/controls/models/{model}"),
    log:
        "results/logs/train_control/{model}.log",
    benchmark:
        "results/benchmarks/train_control/{model}.tsv"
    conda:
        "../../envs/scoring.yaml"
    threads: 1
    resources:
        gpu=0,
        mem_mb=grows(3000),
        runtime=grows(30),
    params:
        architecture=control("architecture"),
        layers=control("layers"),
        width=control("width"),
        heads=control("heads"),
        steps=control("steps"),
        batch=control("batch"),
        learning_rate=control("learning_rate"),
        seed=study["controls"]["seed"],
        method=1,
    message:
        "Training {wildcards.model} ({params.steps} steps)"
    shell:
        "python -m worldprobe controls train {input.corpus} {input.tokenizer} --architecture {params.architecture}"
        " --layers {params.layers} --width {params.width} --heads {params.heads} --steps {params.steps}"
        " --batch {params.batch} --learning-rate {params.learning_rate} --seed {params.seed} --threads 1"
        " --out {output.checkpoint} &> {log}"


rule measure_generalisation:
    """Accuracy of the control models by what their stories had shown: templates by fillers."""
    input:
        item_table="results/ewok/items.parquet",
        corpus="results/controls/corpus",
        judgement_tables=control_judgement_tables(),
    output:
        accuracy_table="results/ewok/control_accuracies.parquet",
    log:
        "results/logs/measure_generalisation.log",
    benchmark:
        "results/benchmarks/measure_generalisation.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        **SMALL,
    message:
        "Telling what the control models had seen from what is new to them"
    shell:
        "python -m worldprobe controls accuracy {input.item_table} {input.corpus} {input.judgement_tables}"
        " --out {output.accuracy_table} &> {log}"
