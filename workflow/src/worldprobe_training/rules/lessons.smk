# What small models read before they are fine-tuned (docs/extras/worldsense_training.md).

from worldprobe import methods
from worldprobe.benchmarks.worldsense.rules import WorldsenseRules
from worldprobe.operations.run import digest_edited
from worldprobe.paths import ENVS
from worldprobe_training.training_rules import TrainingRules

trials = WorldsenseRules(study, registry)
tuning = TrainingRules(this_run, trials.wording)


rule write_phrases:
    """A tokenizer for small models: a token for each entity and phrase of the skins."""
    input:
        skins=trials.skins,
    output:
        tokenizer=directory("<worldsense>/finetuning/phrases"),
    log:
        "<logs>/write_phrases.log",
    benchmark:
        "<benchmarks>/write_phrases.tsv"
    localrule: True
    conda:
        ENVS / "scoring.yaml"
    params:
        skins=trials.wording,
        contents=digest_edited(trials.skins),
        method=methods.PHRASES,
    message:
        "Writing the phrases of WorldSense's skins as tokens"
    shell:
        "worldprobe worldsense write-phrases {params.skins} --out {output.tokenizer:q} &> {log:q}"


rule write_lessons:
    """Lessons in reading, on which a small model is trained before it is fine-tuned."""
    input:
        skins=trials.skins,
    output:
        lessons="<worldsense>/finetuning/lessons/{name}.jsonl.gz",
    log:
        "<logs>/write_lessons/{name}.log",
    benchmark:
        "<benchmarks>/write_lessons/{name}.tsv"
    wildcard_constraints:
        name="[A-Za-z0-9][A-Za-z0-9_-]*",
    localrule: True
    conda:
        ENVS / "analysis.yaml"
    params:
        lessons=tuning.lesson,
        skins=trials.wording,
        contents=digest_edited(trials.skins),
        method=methods.LESSONS,
    message:
        "Writing the lessons {wildcards.name}"
    shell:
        "worldprobe worldsense write-lessons {params.lessons} {params.skins} --out {output.lessons:q} &> {log:q}"
