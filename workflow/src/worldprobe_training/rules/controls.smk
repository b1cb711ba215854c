# Calibration controls: small models of known behaviour, trained on stories written from the built-in materials. Their folder
# names what made them, so studies that train alike share them, and no study overwrites another's.


localrules:
    compile_control_templates,
    write_corpus,
    train_tokenizer,


rule compile_control_templates:
    """Templates of the built-in materials: the stories are written from them, whatever the study asks about."""
    input:
        materials=builtin_files(),
    output:
        template_table="<controls>/templates.parquet",
    log:
        "<logs>/compile_control_templates.log",
    benchmark:
        "<benchmarks>/compile_control_templates.tsv"
    conda:
        ENVS / "analysis.yaml"
    params:
        source=builtin_source,
        method=methods.TEMPLATES,
    message:
        "Compiling the templates of the control models' stories"
    shell:
        "worldprobe templates compile {params.source:q} --out {output.template_table:q} &> {log:q}"


rule write_corpus:
    """The stories and items, and which templates they teach."""
    input:
        template_table="<controls>/templates.parquet",
        materials=builtin_files(),
    output:
        corpus=directory("<controls>/corpus"),
    log:
        "<logs>/write_corpus.log",
    benchmark:
        "<benchmarks>/write_corpus.tsv"
    conda:
        ENVS / "analysis.yaml"
    params:
        source=builtin_source,
        taught=study["controls"]["taught"],
        fillings=study["controls"]["fillings"],
        doses=study["controls"]["doses"],
        sentences=study["controls"]["sentences"],
        seed=study["controls"]["seed"],
        method=methods.CORPUS,
    message:
        "Writing the stories of the control models"
    shell:
        "worldprobe controls write-corpus {input.template_table:q} {params.source:q}"
        " --taught {params.taught} --fillings {params.fillings} --doses {params.doses} --sentences {params.sentences}"
        " --seed {params.seed} --out {output.corpus:q} &> {log:q}"


rule train_tokenizer:
    """A byte-level BPE tokenizer for the control models."""
    input:
        corpus="<controls>/corpus",
    output:
        tokenizer=directory("<controls>/tokenizer"),
    log:
        "<logs>/train_tokenizer.log",
    benchmark:
        "<benchmarks>/train_tokenizer.tsv"
    conda:
        ENVS / "scoring.yaml"
    params:
        vocabulary=study["controls"]["vocabulary"],
        method=methods.TOKENIZER,
    message:
        "Training the control models' tokenizer"
    shell:
        "worldprobe controls train-tokenizer {input.corpus:q} --vocabulary {params.vocabulary}"
        " --out {output.tokenizer:q} &> {log:q}"


rule train_control:
    """A small causal language model, trained from scratch and saved as an ordinary Hugging Face folder."""
    input:
        corpus="<controls>/corpus",
        tokenizer="<controls>/tokenizer",
    output:
        checkpoint=directory("<controls>/models/{training}/{model}"),
    log:
        "<logs>/train_control/{training}/{model}.log",
    benchmark:
        "<benchmarks>/train_control/{training}/{model}.tsv"
    conda:
        ENVS / "scoring.yaml"
    threads: 1
    resources:
        mem_mb=per_attempt(3000),
        runtime=per_attempt(30),
    params:
        architecture=training("architecture"),
        layers=training("layers"),
        width=training("width"),
        heads=training("heads"),
        steps=training("steps"),
        batch=training("batch"),
        learning_rate=training("learning_rate"),
        reads=training("reads"),
        seed=training_seed,
        checkpoints=saved_checkpoints,
        method=methods.TRAINING,
    message:
        "Training {wildcards.model} ({params.steps} steps)"
    shell:
        "worldprobe controls train {input.corpus:q} {input.tokenizer:q} --architecture {params.architecture:q}"
        " --layers {params.layers} --width {params.width} --heads {params.heads} --steps {params.steps}"
        " --batch {params.batch} --learning-rate {params.learning_rate} --reads {params.reads} --seed {params.seed} --threads 1"
        " {params.checkpoints} --out {output.checkpoint:q} &> {log:q}"
