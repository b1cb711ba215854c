# Models learn WorldSense's problems (docs/extras/worldsense_training.md). Checkpoints outlive their job: they are in results/.checkpoints.

from worldprobe.code_digest import digest_code
from worldprobe.operations.rule_functions import one_of
from worldprobe.settings.blocks import options
from worldprobe_training.trainings import external_answers, model_folder


rule generate_training_set:
    """A part of a training set, for fine-tuning."""
    input:
        skins=trials.skins,
    output:
        trials="<worldsense>/finetuning/sets/{key}.parquet",
    log:
        "<logs>/generate_training_set/{key}.log",
    benchmark:
        "<benchmarks>/generate_training_set/{key}.tsv"
    wildcard_constraints:
        key=one_of(tuning.sets),
    group:
        "items"
    conda:
        ENVS / "analysis.yaml"
    params:
        part=tuning.part,
        contents=digest_edited(trials.skins),
        method=methods.TRIALS,
    message:
        "Generating {wildcards.key} for fine-tuning"
    shell:
        "worldprobe worldsense generate {params.part} --out {output.trials:q} &> {log:q}"


rule start_model:
    """A small untrained model that knows the words of its training files."""
    input:
        texts=tuning.start_texts,
        tokenizer=tuning.start_tokenizer,
    output:
        checkpoint=directory("<worldsense>/finetuning/start/{base}"),
    log:
        "<logs>/start_model/{base}.log",
    benchmark:
        "<benchmarks>/start_model/{base}.tsv"
    wildcard_constraints:
        base=one_of(tuning.starts),
    localrule: True
    conda:
        ENVS / "scoring.yaml"
    params:
        how=tuning.start,
        method=methods.START_MODEL,
    message:
        "Making {wildcards.base}, untrained"
    shell:
        "worldprobe worldsense start-model {input.texts:q} {params.how} --out {output.checkpoint:q} &> {log:q}"


rule finetune:
    """A model that has learned WorldSense's problems, or a stage on the way; continued from its last checkpoint after preemption."""
    input:
        base=tuning.base,
        train=tuning.files("train"),
        mix=tuning.files("mix"),
        tests=ancient(tuning.forbidden),
    output:
        checkpoint=directory("<worldsense>/finetuning/models/{tuned}"),
    log:
        "<logs>/finetune/{tuned}.log",
    benchmark:
        "<benchmarks>/finetune/{tuned}.tsv"
    wildcard_constraints:
        tuned=one_of(tuning.trainings),
    retries: this_run.retries
    conda:
        ENVS / "scoring.yaml"
    threads: tuning.threads
    resources:
        **this_run.machine(needed=tuning.needed),
    params:
        base=tuning.base_words,
        settings=tuning.stated,
        mix=tuning.mix,
        tests=options(tests=tuning.forbidden),
        checkpoints=f"{this_run.paths.results}/.checkpoints",
        contents=digest_edited(tuning.own_files),
        method=methods.FINETUNING,
    message:
        "Fine-tuning {wildcards.tuned}"
    shell:
        "worldprobe attempt {wildcards.tuned:q} --tries-left {resources.tries_left} --inputs {input.base:q} --as-folder --"
        " worldsense finetune {params.base} {input.train:q} {params.mix} {params.settings} {params.tests}"
        " --gpus {resources.devices} --checkpoints {params.checkpoints:q} --out {output.checkpoint:q} &> {log:q}"


rule gather_trainings:
    """Loss and learning rate at each step of every training."""
    input:
        models=[model_folder(study, name) for name in tuning.trainings],
    output:
        training_table="<worldsense>/finetuning/training.parquet",
    log:
        "<logs>/gather_trainings.log",
    benchmark:
        "<benchmarks>/gather_trainings.tsv"
    localrule: True
    conda:
        ENVS / "analysis.yaml"
    params:
        code=digest_code("worldprobe_training"),
    message:
        "Gathering what was noted of each training"
    shell:
        "worldprobe worldsense gather-trainings {input.models:q} --out {output.training_table:q} &> {log:q}"


rule ask_external:
    """Other benchmarks, asked by lm-evaluation-harness, where it and its data are here."""
    input:
        weights=this_run.weights,
    output:
        answers="<worldsense>/external/{model}.csv",
    log:
        "<logs>/ask_external/{model}.log",
    benchmark:
        "<benchmarks>/ask_external/{model}.tsv"
    retries: this_run.retries
    conda:
        ENVS / "scoring.yaml"
    threads: this_run.threads
    resources:
        **this_run.machine(),
    params:
        asking=tuning.external,
        contents=digest_edited(this_run.own_weights),
        method=methods.ASK_EXTERNAL,
    message:
        "Asking {wildcards.model} other benchmarks"
    shell:
        "worldprobe attempt {wildcards.model:q} --tries-left {resources.tries_left} --inputs {input.weights:q} --"
        " worldsense ask-external {params.asking} --model {wildcards.model:q} --out {output.answers:q} &> {log:q}"


rule gather_external:
    """Other benchmarks of bases and fine-tuned models next to the paper's Table 7; made only where it is asked for."""
    input:
        answers=external_answers(study),
    output:
        table="<worldsense>/external.csv",
    log:
        "<logs>/gather_external.log",
    benchmark:
        "<benchmarks>/gather_external.tsv"
    localrule: True
    conda:
        ENVS / "analysis.yaml"
    params:
        code=digest_code("worldprobe_training"),
    message:
        "Gathering other benchmarks"
    shell:
        "worldprobe worldsense gather-external {input.answers:q} --out {output.table:q} &> {log:q}"
