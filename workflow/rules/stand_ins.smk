# Models of a rehearsal are made, not fetched.


from worldprobe.models.stand_ins import described


rule make_stand_ins:
    """Tiny models with random weights in the place of all models that a rehearsal would load."""
    output:
        folders=[directory(card["checkpoint"]) for card in this_run.stand_ins.values()],
    log:
        "<logs>/make_stand_ins.log",
    benchmark:
        "<benchmarks>/make_stand_ins.tsv"
    localrule: True
    conda:
        "../../envs/scoring.yaml"
    params:
        models=[described(card) for card in this_run.stand_ins.values()],
        code=digest_code(),
    message:
        "Making tiny models that stand in for those of the study"
    shell:
        "worldprobe models stand-in {params.models:q} --out {output.folders:q} &> {log:q}"
