# People's answers to the same items (EWoK, Section 4), where their ratings are at hand.


rule import_human_ratings:
    """Mean plausibility ratings from a CSV, matched to the items."""
    input:
        item_table="results/ewok/items.parquet",
        ratings=human_ratings(),
        code=modules("benchmarks/ewok/ratings.py"),
    output:
        rating_table="results/ewok/ratings.parquet",
    log:
        "results/logs/import_human_ratings.log",
    benchmark:
        "results/benchmarks/import_human_ratings.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        **SMALL,
    message:
        "Reading people's ratings ({input.ratings})"
    shell:
        "python -m worldprobe import human-ratings {input.item_table} {input.ratings:q} --out {output.rating_table} &> {log}"


rule judge_human:
    """Accuracy of people's ratings, judged as a model's Likert answers are."""
    input:
        item_table="results/ewok/items.parquet",
        rating_table="results/ewok/ratings.parquet",
        code=modules("cli/judge.py"),
    output:
        judgement_table="results/ewok/judgements/human_likert/human.parquet",
    log:
        "results/logs/judge_human.log",
    benchmark:
        "results/benchmarks/judge_human.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        **SMALL,
    message:
        "Judging people's ratings"
    shell:
        "python -m worldprobe judge {input.item_table} {input.rating_table} --out {output.judgement_table} &> {log}"
