# Models learn WorldSense's problems (docs/extras/worldsense_training.md). Checkpoints outlive their job: they are in results/.checkpoints.


rule generate_training_set:
    """A part of a training set, for fine-tuning."""
    input:
        skins=SKIN_FILES,
    output:
        trials="<worldsense>/finetuning/sets/{key}.parquet",
    log:
        "<logs>/generate_training_set/{key}.log",
    benchmark:
        "<benchmarks>/generate_training_set/{key}.tsv"
    wildcard_constraints:
        key=one_of(TRAINING_SETS),
    localrule: True
    conda:
        ENVS / "analysis.yaml"
    params:
        part=training_part,
        contents=contents(SKIN_FILES),
        method=methods.TRIALS,
    message:
        "Generating {wildcards.key} for fine-tuning"
    shell:
        "worldprobe worldsense generate {params.part} --out {output.trials:q} &> {log:q}"


rule start_model:
    """A small untrained model that knows the words of its training files."""
    input:
        texts=by_wildcard("base", partial(tunings.tokenizer_texts, study)),
        tokenizer=by_wildcard("base", start_tokenizer),
    output:
        checkpoint=directory("<worldsense>/finetuning/start/{base}"),
    log:
        "<logs>/start_model/{base}.log",
    benchmark:
        "<benchmarks>/start_model/{base}.tsv"
    wildcard_constraints:
        base=one_of(STARTS),
    localrule: True
    conda:
        ENVS / "scoring.yaml"
    params:
        how=start_options,
        method=methods.START_MODEL,
    message:
        "Making {wildcards.base}, untrained"
    shell:
        "worldprobe worldsense start-model {input.texts:q} {params.how} --out {output.checkpoint:q} &> {log:q}"


rule finetune:
    """A model that has learned WorldSense's problems, or a stage on the way; continued from its last checkpoint after preemption."""
    input:
        base=base_weights,
        train=trained_on("train"),
        mix=trained_on("mix"),
        tests=ancient(FORBIDDEN_SETS),
    output:
        checkpoint=directory("<worldsense>/finetuning/models/{tuned}"),
    log:
        "<logs>/finetune/{tuned}.log",
    benchmark:
        "<benchmarks>/finetune/{tuned}.tsv"
    wildcard_constraints:
        tuned=one_of(TRAININGS),
    conda:
        ENVS / "scoring.yaml"
    threads: tuning_threads
    resources:
        **machine(tuning_needed),
    params:
        base=base_options,
        settings=tuning_options,
        mix=mix_options,
        tests=options(tests=FORBIDDEN_SETS),
        checkpoints=f"{STUDY.results}/.checkpoints",
        contents=contents(training_files_of_users),
        method=methods.FINETUNING,
    message:
        "Fine-tuning {wildcards.tuned}"
    shell:
        "worldprobe worldsense finetune {params.base} {input.train:q} {params.mix} {params.settings} {params.tests}"
        " --gpus {resources.devices} --checkpoints {params.checkpoints:q} --out {output.checkpoint:q} &> {log:q}"


rule gather_trainings:
    """Loss and learning rate at each step of every training."""
    input:
        models=[tunings.model_folder(study, name) for name in TRAININGS],
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
        weights=weight_inputs,
    output:
        answers="<worldsense>/external/{model}.csv",
    log:
        "<logs>/ask_external/{model}.log",
    benchmark:
        "<benchmarks>/ask_external/{model}.tsv"
    conda:
        ENVS / "scoring.yaml"
    threads: threads_needed
    resources:
        **machine(),
    params:
        asking=external_options,
        contents=contents(own_weights),
        method=methods.ASK_EXTERNAL,
    message:
        "Asking {wildcards.model} other benchmarks"
    shell:
        "worldprobe worldsense ask-external {params.asking} --model {wildcards.model:q} --out {output.answers:q} &> {log:q}"


rule gather_external:
    """Other benchmarks of bases and fine-tuned models next to the paper's Table 7; made only where it is asked for."""
    input:
        answers=tunings.external_answers(study),
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
