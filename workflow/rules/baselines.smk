# Yardsticks beside the models (EWoK, Appendix A.5): word2vec bags of words, and surface properties of the sentences.


rule train_vectors:
    """Word vectors from the control models' corpus, for want of larger ones."""
    input:
        corpus="results/controls/corpus",
    output:
        vectors="results/controls/vectors.kv",
    log:
        "results/logs/train_vectors.log",
    benchmark:
        "results/benchmarks/train_vectors.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        **SMALL,
    params:
        seed=study["controls"]["seed"],
        method=1,
    message:
        "Training word vectors on the controls' corpus"
    shell:
        "python -m worldprobe baselines vectors {input.corpus} --seed {params.seed} --out {output.vectors} &> {log}"


rule judge_word2vec:
    """Accuracy of word2vec bags of words: the cosine of target and context in the place of a score."""
    input:
        item_table="results/ewok/items.parquet",
        vectors=vectors(),
    output:
        judgement_table="results/ewok/judgements/word2vec/word2vec.parquet",
    log:
        "results/logs/judge_word2vec.log",
    benchmark:
        "results/benchmarks/judge_word2vec.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        **SMALL,
    params:
        method=1,
    message:
        "Scoring items with word2vec bags of words ({input.vectors})"
    shell:
        "python -m worldprobe baselines word2vec {input.item_table} --vectors {input.vectors}"
        " --out {output.judgement_table} &> {log}"


rule measure_surface:
    """Number of words and mean log word frequency of every target with its contexts."""
    input:
        item_table="results/ewok/items.parquet",
        frequency_files=study["baselines"]["frequency"]["files"],
        code=modules("benchmarks/ewok/baselines/surface.py"),
    output:
        feature_table="results/ewok/surface_features.parquet",
    log:
        "results/logs/measure_surface.log",
    benchmark:
        "results/benchmarks/measure_surface.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        **SMALL,
    params:
        frequency=frequency(),
    message:
        "Measuring sentence length and word frequency"
    shell:
        "python -m worldprobe baselines surface {input.item_table} {params.frequency}" " --out {output.feature_table} &> {log}"
