# What models are compared with (EWoK, Appendix A.5): word2vec bags of words, and surface properties of the sentences.


localrules:
    train_vectors,
    judge_word2vec,
    measure_surface,


rule train_vectors:
    """Word vectors from the control models' corpus, used when no larger vectors are given."""
    input:
        corpus="<controls>/corpus",
    output:
        vectors="<controls>/vectors.kv",
    log:
        "<logs>/train_vectors.log",
    benchmark:
        "<benchmarks>/train_vectors.tsv"
    conda:
        "../../../envs/analysis.yaml"
    params:
        seed=study["controls"]["seed"],
        method=methods.VECTORS,
    message:
        "Training word vectors on the controls' corpus"
    shell:
        "worldprobe baselines train-vectors {input.corpus:q} --seed {params.seed} --out {output.vectors:q} &> {log:q}"


rule judge_word2vec:
    """Accuracy of word2vec bags of words: the cosine of target and context instead of a score."""
    input:
        item_table="<ewok>/items/{condition}.parquet",
        vectors=vectors(),
    output:
        judgement_table="<ewok>/judgements/{condition}/word2vec/word2vec.parquet",
    log:
        "<logs>/judge_word2vec/{condition}.log",
    benchmark:
        "<benchmarks>/judge_word2vec/{condition}.tsv"
    conda:
        "../../../envs/analysis.yaml"
    params:
        allow_pickle=flag("--allow-pickle", ewok["baselines"]["word2vec"]["allow_pickle"]),
        contents=contents(own_vectors),
        code=CODE,
    message:
        "Scoring items with word2vec bags of words ({input.vectors})"
    shell:
        "worldprobe baselines judge-word2vec {input.item_table:q} --vectors {input.vectors:q} {params.allow_pickle}"
        " --out {output.judgement_table:q} &> {log:q}"


rule measure_surface:
    """Number of words and mean log word frequency of every target with its contexts."""
    input:
        item_table=ewok_outputs.item_table(study),
        frequency_files=ewok["baselines"]["frequency"]["files"],
    output:
        feature_table="<ewok>/surface_features.parquet",
    log:
        "<logs>/measure_surface.log",
    benchmark:
        "<benchmarks>/measure_surface.tsv"
    conda:
        "../../../envs/analysis.yaml"
    params:
        frequency=frequency,
        contents=contents(ewok["baselines"]["frequency"]["files"]),
        code=CODE,
    message:
        "Measuring sentence length and word frequency"
    shell:
        "worldprobe baselines measure-surface {input.item_table:q} {params.frequency} --out {output.feature_table:q} &> {log:q}"
