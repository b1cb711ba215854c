# People's finished ratings of the items, as means in a CSV (EWoK, Section 4).


rule import_human_ratings:
    """Mean plausibility ratings from a CSV, matched to the items."""
    input:
        item_table=ewok_outputs.item_table(study),
        ratings=ewok["human"]["ratings"] or [],
    output:
        rating_table="<ewok>/ratings.parquet",
    log:
        "<logs>/import_human_ratings.log",
    benchmark:
        "<benchmarks>/import_human_ratings.tsv"
    localrule: True
    conda:
        "../../../envs/analysis.yaml"
    params:
        contents=contents([ewok["human"]["ratings"]] if ewok["human"]["ratings"] else []),
        code=digest_code(),
    message:
        "Reading people's ratings ({input.ratings})"
    shell:
        "worldprobe import human-ratings {input.item_table:q} {input.ratings:q} --out {output.rating_table:q} &> {log:q}"


rule judge_human:
    """Accuracy of people's ratings, judged as a model's Likert answers are."""
    input:
        item_table=ewok_outputs.item_table(study),
        rating_table=ewok_outputs.human_ratings(study),
    output:
        judgement_table=f"<ewok>/judgements/{ewok_outputs.reference(study)}/human_likert/human.parquet",
    log:
        "<logs>/judge_human.log",
    benchmark:
        "<benchmarks>/judge_human.tsv"
    localrule: True
    conda:
        "../../../envs/analysis.yaml"
    params:
        code=digest_code(),
    message:
        "Judging people's ratings"
    shell:
        "worldprobe judge {input.item_table:q} {input.rating_table:q} --out {output.judgement_table:q} &> {log:q}"
