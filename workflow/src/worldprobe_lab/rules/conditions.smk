# Conditions of a study, and levels of families.

from worldprobe.code_digest import digest_code
from worldprobe.paths import ENVS
from worldprobe.settings.blocks import options
from worldprobe_lab.conditions import condition_options, judgements_of_conditions
from worldprobe_lab.families import family_items, family_judgements


rule compare_conditions:
    """Is a model better under one condition than under another? The reference against each other condition."""
    input:
        judgement_tables=judgements_of_conditions(this_run.asked),
    output:
        comparison_table="<ewok>/conditions.parquet",
    log:
        "<logs>/compare_conditions.log",
    benchmark:
        "<benchmarks>/compare_conditions.tsv"
    group:
        "analysis"
    conda:
        ENVS / "analysis.yaml"
    params:
        conditions=options(condition_options(this_run.asked)),
        missing=this_run.missing_option(),
        code=digest_code("worldprobe_lab"),
    message:
        "Comparing conditions"
    shell:
        "worldprobe compare-conditions {params.conditions} {params.missing}"
        " --out {output.comparison_table:q} &> {log:q}"


rule measure_families:
    """Accuracy at each level of each family of items, and its slope over levels within bases."""
    input:
        item_table=family_items(study),
        judgement_tables=family_judgements(this_run.asked),
    output:
        level_table="<ewok>/families.parquet",
    log:
        "<logs>/measure_families.log",
    benchmark:
        "<benchmarks>/measure_families.tsv"
    group:
        "analysis"
    conda:
        ENVS / "analysis.yaml"
    params:
        missing=this_run.missing_option(),
        code=digest_code("worldprobe_lab"),
    message:
        "Measuring accuracy by level of families"
    shell:
        "worldprobe families {input.item_table:q} {input.judgement_tables:q} {params.missing}"
        " --out {output.level_table:q} &> {log:q}"
