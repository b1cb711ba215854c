# People's answers to the same items (EWoK, Section 4.4, Appendices A.1 and B.1): lists for a study, and what came back, as answers
# that a survey exported, or as simulated ones. The live survey is not part of the workflow: docs/extras/human_study.md.

from worldprobe.benchmarks.ewok.outputs import human_ratings, item_table
from worldprobe.code_digest import digest_code
from worldprobe.operations.run import digest_edited
from worldprobe.paths import ENVS
from worldprobe.settings.blocks import options
from worldprobe_survey import outputs as people_outputs

PEOPLE = study["ewok"]["human"]


rule sample_human_lists:
    """Lists of questions for people, the answer key, and how even the lists are."""
    input:
        item_table=item_table(study),
    output:
        list_table="<ewok>/human/lists.parquet",
        key="<ewok>/human/list_key.parquet",
        balance_table="<ewok>/human/list_balance.parquet",
    log:
        "<logs>/sample_human_lists.log",
    benchmark:
        "<benchmarks>/sample_human_lists.tsv"
    localrule: True
    conda:
        ENVS / "analysis.yaml"
    params:
        settings=options(PEOPLE["lists"]),
        code=digest_code("worldprobe_survey"),
    message:
        "Dealing questions to lists"
    shell:
        "worldprobe human lists {input.item_table:q} {params.settings} --key-out {output.key:q}"
        " --balance-out {output.balance_table:q} --out {output.list_table:q} &> {log:q}"


rule simulate_human_answers:
    """Answers of simulated people with known noise, in the form of an export."""
    input:
        list_table="<ewok>/human/lists.parquet",
        key="<ewok>/human/list_key.parquet",
    output:
        export=directory("<ewok>/human/export"),
    log:
        "<logs>/simulate_human_answers.log",
    benchmark:
        "<benchmarks>/simulate_human_answers.tsv"
    localrule: True
    conda:
        ENVS / "analysis.yaml"
    params:
        settings=options(PEOPLE["simulation"]),
        code=digest_code("worldprobe_survey"),
    message:
        "Simulating people's answers"
    shell:
        "worldprobe human simulate {input.list_table:q} --key {input.key:q} {params.settings}"
        " --out {output.export:q} &> {log:q}"


rule clean_human_ratings:
    """People's answers that count, step by step, and mean ratings of the items."""
    input:
        export=people_outputs.human_export(study),
        key=people_outputs.human_key(study),
    output:
        rating_table="<ewok>/human/ratings.parquet",
        step_table="<ewok>/human/cleaning_steps.parquet",
        rater_table="<ewok>/human/raters.parquet",
        sub_item_table="<ewok>/human/sub_items.parquet",
        answer_table="<ewok>/human/answers.parquet",
        people_table="<ewok>/human/people.parquet",
    log:
        "<logs>/clean_human_ratings.log",
    benchmark:
        "<benchmarks>/clean_human_ratings.tsv"
    localrule: True
    conda:
        ENVS / "analysis.yaml"
    params:
        settings=options(PEOPLE["cleaning"]),
        contents=digest_edited(people_outputs.own_answers(study)),
        code=digest_code("worldprobe_survey"),
    message:
        "Cleaning people's answers"
    shell:
        "worldprobe human clean {input.export:q} --key {input.key:q} {params.settings} --steps-out {output.step_table:q}"
        " --raters-out {output.rater_table:q} --sub-items-out {output.sub_item_table:q} --answers-out {output.answer_table:q}"
        " --people-out {output.people_table:q} --out {output.rating_table:q} &> {log:q}"


rule measure_human_agreement:
    """People's accuracy with intervals over people, reliability, and Likert against Choice (Figure 7)."""
    input:
        item_table=item_table(study),
        answer_table="<ewok>/human/answers.parquet",
        key=people_outputs.human_key(study),
    output:
        statistic_table="<ewok>/human/statistics.parquet",
        matrix="<ewok>/human/agreements.parquet",
    log:
        "<logs>/measure_human_agreement.log",
    benchmark:
        "<benchmarks>/measure_human_agreement.tsv"
    group:
        "analysis"
    conda:
        ENVS / "analysis.yaml"
    params:
        code=digest_code("worldprobe_survey"),
    message:
        "Measuring people's accuracy and agreement"
    shell:
        "worldprobe human agreement {input.item_table:q} {input.answer_table:q} --key {input.key:q}"
        " --matrix-out {output.matrix:q} --out {output.statistic_table:q} &> {log:q}"


rule measure_human_likeness:
    """Do models prefer one context to the other as clearly as people do? And what does the noise of ratings permit?"""
    input:
        item_table=item_table(study),
        rating_table=human_ratings(study),
        evidence=people_outputs.graded_evidence(this_run.asked),
    output:
        likeness_table="<ewok>/human/likeness.parquet",
    log:
        "<logs>/measure_human_likeness.log",
    benchmark:
        "<benchmarks>/measure_human_likeness.tsv"
    group:
        "analysis"
    conda:
        ENVS / "analysis.yaml"
    params:
        missing=this_run.missing_option(),
        code=digest_code("worldprobe_survey"),
    message:
        "Comparing models' preferences with people's"
    shell:
        "worldprobe attempt human --inputs {input.rating_table:q} --"
        " human likeness {input.item_table:q} {input.rating_table:q} {input.evidence:q} {params.missing}"
        " --out {output.likeness_table:q} &> {log:q}"


rule human_study:
    """All about people, without any model: lists, cleaned answers, judgements, statistics, table and figure."""
    input:
        people_outputs.human_files(study, registry),
