# People's finished ratings of the items, as means in a CSV (EWoK, Section 4).

from worldprobe.benchmarks.ewok.outputs import fetch_note, human_ratings, item_table, reference
from worldprobe.code_digest import digest_code
from worldprobe.operations.run import digest_edited
from worldprobe.paths import ENVS

RATINGS = study["ewok"]["human"]["ratings"] or ""
NOTE = fetch_note(study, RATINGS)


rule import_human_ratings:
    """Mean plausibility ratings from a CSV, matched to the items."""
    input:
        item_table=item_table(study),
        ratings=NOTE or RATINGS or [],
    output:
        rating_table="<ewok>/ratings.parquet",
    log:
        "<logs>/import_human_ratings.log",
    benchmark:
        "<benchmarks>/import_human_ratings.tsv"
    localrule: True
    conda:
        ENVS / "analysis.yaml"
    params:
        ratings=RATINGS,
        contents=digest_edited([] if NOTE else [RATINGS]),
        code=digest_code("worldprobe_survey"),
    message:
        "Reading people's ratings ({params.ratings})"
    shell:
        "worldprobe attempt human --inputs {input.ratings:q} --"
        " import human-ratings {input.item_table:q} {params.ratings:q} --out {output.rating_table:q} &> {log:q}"


rule judge_human:
    """Accuracy of people's ratings, judged as a model's Likert answers are."""
    input:
        item_table=item_table(study),
        rating_table=human_ratings(study),
    output:
        judgement_table=f"<ewok>/judgements/{reference(study)}/human_likert/human.parquet",
    log:
        "<logs>/judge_human.log",
    benchmark:
        "<benchmarks>/judge_human.tsv"
    group:
        "judging"
    conda:
        ENVS / "analysis.yaml"
    params:
        code=digest_code(),
    message:
        "Judging people's ratings"
    shell:
        "worldprobe attempt human --inputs {input.rating_table:q} --"
        " judge {input.item_table:q} {input.rating_table:q} --out {output.judgement_table:q} &> {log:q}"
