# Models learn WorldSense's problems (docs/worldsense.md, "Fine-tuning"). Checkpoints outlive their job: they are in results/.checkpoints.


from worldprobe.benchmarks.worldsense.finetuning import plan as tuning_plan

TRAININGS = tuning_plan.trainings(study)
TRAINING_SETS = tuning_plan.generated_sets(study)


localrules:
    generate_training_set,
    gather_trainings,


def one_of_names(names):
    """A regular expression for some names; for none, one that nothing matches."""
    return "|".join(map(re.escape, names)) or "(?!)"


def training_part(wildcards):
    """Which part of a set is generated for training, as options."""
    part = TRAINING_SETS[wildcards.key]
    return flags(
        quote(part["set"]),
        flag("--seed", str(part.get("seed", worldsense["seed"]))),
        *(flag(f"--{name.replace('_', '-')}", part.get(name)) for name in ("per_cell", "sizes", "problems", "skins")),
        flag("--skin-folder", skin_folder()),
    )


def start_of(field):
    """A function that looks up how a small model is made."""

    def look_up(wildcards):
        return tuning_plan.block(study)["start"][wildcards.base][field]

    return look_up


def start_texts(wildcards):
    """What the tokenizer of a small model learns from: training files, or nothing where it is finished."""
    how = tuning_plan.block(study)["start"][wildcards.base]
    return [] if how.get("tokenizer") else tuning_plan.training_files(study, how.get("vocabulary_from", ()))


def start_tokenizer(wildcards):
    """The finished tokenizer of a small model, if it has one."""
    named = tuning_plan.block(study)["start"][wildcards.base].get("tokenizer")
    return f"{tuning_plan.root(study)}/{named}" if named == tuning_plan.PHRASES else named or []


def tokenizer_option(wildcards):
    """The finished tokenizer of a small model, as an option."""
    return flag("--tokenizer", start_tokenizer(wildcards))


def mixed_in(wildcards):
    """What is mixed in, as an option."""
    return flag("--mix", tuning_plan.training_files(study, TRAININGS[wildcards.tuned].mix))


def trained_on(kind):
    """A function that gives the files of a training: train or mix."""

    def look_up(wildcards):
        return tuning_plan.training_files(study, getattr(TRAININGS[wildcards.tuned], kind))

    return look_up


def base_weights(wildcards):
    """What must be there before a training begins."""
    one = TRAININGS[wildcards.tuned]
    if one.before:
        return [one.before]
    entry = registry[one.base]
    if entry.get("control"):
        return [entry["checkpoint"]]
    return model_files(entry) or [f"{STUDY.models}/{one.base}/{source_key(entry)}.json"]


def base_options(wildcards):
    """The model that is trained, and what its checkpoint may do, as a command's words."""
    one = TRAININGS[wildcards.tuned]
    entry = registry[one.base]
    if one.before:
        return quote(one.before)
    revision = flag("--revision", entry.get("revision"))
    return flags(quote(entry["checkpoint"]), revision, *trust_options(entry))


def tuning_options(wildcards):
    """The settings of a training, as options."""
    found = TRAININGS[wildcards.tuned].options()
    packing = "--packing" if found.pop("packing") else "--no-packing"
    share = found.pop("share")
    return flags(
        packing,
        flag("--share", str(share) if share else None),
        *(flag(f"--{key.replace('_', '-')}", value if isinstance(value, bool) or value is None else str(value)) for key, value in found.items()),
        flag("--skin-folder", worldsense["skin_folder"]),
    )


def tuning_need(resource):
    """A function that says what a training needs of a machine: gpus, threads, and, more with each attempt, mem_mb and runtime."""

    def look_up(wildcards, attempt):
        one = TRAININGS[wildcards.tuned]
        wanted = devices.tuning_needs_of(registry[one.base], site, one.settings)
        return getattr(wanted.in_attempt(attempt, site["longest_minutes"]), resource)

    return look_up


def tuning_site(fact):
    """A function that says where a training is to run: partition, constraint, gpu_model; the last two only with GPUs."""

    def look_up(wildcards):
        one = TRAININGS[wildcards.tuned]
        if not devices.tuning_needs_of(registry[one.base], site, one.settings).gpus:
            return site["partition"] if fact == "partition" else None
        return site["gpu_partition"] or site["partition"] if fact == "partition" else site[fact]

    return look_up


def tuning_gpus(wildcards):
    """Over how many GPUs a training is spread, as an option. A resource: unlike a parameter it reruns nothing."""
    one = TRAININGS[wildcards.tuned]
    return flag("--gpus", devices.tuning_needs_of(registry[one.base], site, one.settings).gpus or None)


def forbidden_sets():
    """The sets none of whose tuples may be trained on: all that are asked but the one that is training data by design."""
    return [worldsense_targets.trial_table(study, name) for name in worldsense_targets.asked_sets(study) if name != "memorisation"]


rule generate_training_set:
    """A part of a training set, for fine-tuning."""
    input:
        skins=skin_files(),
    output:
        trials="<worldsense>/finetuning/sets/{key}.parquet",
    log:
        "<logs>/generate_training_set/{key}.log",
    benchmark:
        "<benchmarks>/generate_training_set/{key}.tsv"
    wildcard_constraints:
        key=one_of_names(TRAINING_SETS),
    conda:
        "../../../envs/analysis.yaml"
    params:
        part=training_part,
        contents=contents(skin_files()),
        code=code("cli/worldsense.py"),
    message:
        "Generating {wildcards.key} for fine-tuning"
    shell:
        "python -m worldprobe worldsense generate {params.part} --out {output.trials:q} &> {log:q}"


rule start_model:
    """A small untrained model that knows the words of its training files."""
    input:
        texts=start_texts,
        tokenizer=start_tokenizer,
    output:
        checkpoint=directory("<worldsense>/finetuning/start/{base}"),
    log:
        "<logs>/start_model/{base}.log",
    benchmark:
        "<benchmarks>/start_model/{base}.tsv"
    wildcard_constraints:
        base=one_of_names(tuning_plan.block(study)["start"]),
    conda:
        "../../../envs/scoring.yaml"
    threads: 1
    resources:
        mem_mb=per_attempt(3000),
        runtime=per_attempt(30),
    params:
        architecture=start_of("architecture"),
        layers=start_of("layers"),
        width=start_of("width"),
        heads=start_of("heads"),
        positions=start_of("positions"),
        vocabulary=start_of("vocabulary"),
        seed=start_of("seed"),
        tokenizer=tokenizer_option,
        method=method_of("cli/worldsense_finetuning.py", "START_METHOD"),
    message:
        "Making {wildcards.base}, untrained"
    shell:
        "python -m worldprobe worldsense start-model {input.texts:q} {params.tokenizer} --architecture {params.architecture:q}"
        " --layers {params.layers} --width {params.width} --heads {params.heads} --positions {params.positions}"
        " --vocabulary {params.vocabulary} --seed {params.seed} --out {output.checkpoint:q} &> {log:q}"


rule finetune:
    """A model that has learned WorldSense's problems, or a stage on the way; continued from its last checkpoint after preemption."""
    input:
        base=base_weights,
        train=trained_on("train"),
        mix=trained_on("mix"),
        tests=ancient(forbidden_sets()),
    output:
        checkpoint=directory("<worldsense>/finetuning/models/{tuned}"),
    log:
        "<logs>/finetune/{tuned}.log",
    benchmark:
        "<benchmarks>/finetune/{tuned}.tsv"
    wildcard_constraints:
        tuned=one_of_names(TRAININGS),
    conda:
        "../../../envs/scoring.yaml"
    threads: tuning_need("threads")
    resources:
        gpu=tuning_need("gpus"),
        gpu_model=tuning_site("gpu_model"),
        constraint=tuning_site("constraint"),
        slurm_partition=tuning_site("partition"),
        mem_mb=tuning_need("mem_mb"),
        runtime=tuning_need("runtime"),
        spread=tuning_gpus,
    params:
        base=base_options,
        settings=tuning_options,
        mix=mixed_in,
        tests=flag("--tests", forbidden_sets()),
        checkpoints=f"{STUDY.results}/.checkpoints",
        method=method_of("cli/worldsense_finetuning.py", "METHOD"),
    message:
        "Fine-tuning {wildcards.tuned}"
    shell:
        "python -m worldprobe worldsense finetune {params.base} {input.train:q} {params.mix} {params.settings} {params.tests}"
        " {resources.spread} --checkpoints {params.checkpoints:q} --out {output.checkpoint:q} &> {log:q}"


rule gather_trainings:
    """Loss and learning rate at each step of every training."""
    input:
        models=[tuning_plan.model_folder(study, name) for name in TRAININGS],
    output:
        training_table="<worldsense>/finetuning/training.parquet",
    log:
        "<logs>/gather_trainings.log",
    benchmark:
        "<benchmarks>/gather_trainings.tsv"
    conda:
        "../../../envs/analysis.yaml"
    params:
        code=code("cli/worldsense_finetuning.py"),
    message:
        "Gathering what was noted of each training"
    shell:
        "python -m worldprobe worldsense gather-trainings {input.models:q} --out {output.training_table:q} &> {log:q}"
