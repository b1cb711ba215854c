# Calibration controls: small models of known behaviour, trained on stories written from the built-in materials. Their folder
# names what made them, so studies that train alike share them, and no study overwrites another's.

from worldprobe import methods
from worldprobe.operations.rule_functions import per_attempt, without_wildcards
from worldprobe.paths import ENVS
from worldprobe.settings.blocks import options
from worldprobe.settings.study import CorpusSettings, TokenizerSettings
from worldprobe_training.training_rules import ControlRules

controls = ControlRules(study, registry)


rule compile_control_templates:
    """Templates of the built-in materials: the stories are written from them, whatever the study asks about."""
    input:
        materials=this_run.builtin_files,
    output:
        template_table="<controls>/templates.parquet",
    log:
        "<logs>/compile_control_templates.log",
    benchmark:
        "<benchmarks>/compile_control_templates.tsv"
    localrule: True
    conda:
        ENVS / "analysis.yaml"
    params:
        source=without_wildcards(this_run.builtin),
        method=methods.TEMPLATES,
    message:
        "Compiling the templates of the control models' stories"
    shell:
        "worldprobe templates compile {params.source:q} --out {output.template_table:q} &> {log:q}"


rule write_corpus:
    """The stories and items, and which templates they teach."""
    input:
        template_table="<controls>/templates.parquet",
        materials=this_run.builtin_files,
    output:
        corpus=directory("<controls>/corpus"),
    log:
        "<logs>/write_corpus.log",
    benchmark:
        "<benchmarks>/write_corpus.tsv"
    localrule: True
    conda:
        ENVS / "analysis.yaml"
    params:
        source=without_wildcards(this_run.builtin),
        settings=options(study["controls"], CorpusSettings.model_fields),
        method=methods.CORPUS,
    message:
        "Writing the stories of the control models"
    shell:
        "worldprobe controls write-corpus {input.template_table:q} {params.source:q} {params.settings}"
        " --out {output.corpus:q} &> {log:q}"


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
    localrule: True
    conda:
        ENVS / "scoring.yaml"
    params:
        settings=options(study["controls"], TokenizerSettings.model_fields),
        method=methods.TOKENIZER,
    message:
        "Training the control models' tokenizer"
    shell:
        "worldprobe controls train-tokenizer {input.corpus:q} {params.settings}"
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
    retries: this_run.retries
    conda:
        ENVS / "scoring.yaml"
    resources:
        **this_run.patience(),
        mem_mb=per_attempt(3000),
        runtime=per_attempt(30),
    params:
        settings=controls.stated,
        checkpoints=controls.checkpoints,
        method=methods.TRAINING,
    message:
        "Training {wildcards.model}"
    shell:
        "worldprobe attempt {wildcards.model:q} --tries-left {resources.tries_left} --as-folder --"
        " controls train {input.corpus:q} {input.tokenizer:q} {params.settings} --threads 1"
        " {params.checkpoints} --out {output.checkpoint:q} &> {log:q}"
