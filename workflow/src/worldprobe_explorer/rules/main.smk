# The page of items (docs/extras/items.md).

from worldprobe_explorer.settings import tables

if tables(study, ALL_WITH_ANSWERS):

    rule explore:
        """Items and what models answered, one by one, on a page that opens offline."""
        input:
            tables=tables(study, ALL_WITH_ANSWERS),
        output:
            page="<results>/items.html",
        log:
            "<logs>/explore.log",
        benchmark:
            "<benchmarks>/explore.tsv"
        localrule: True
        conda:
            ENVS / "analysis.yaml"
        params:
            registry=registry_file,
            models=NAMES,
            title=f"Study {study['study']}",
            text=options(study["explorer"], ["with_protected_text"]),
            code=digest_code("worldprobe_explorer", displays=True),
        message:
            "Writing the page of items"
        shell:
            "worldprobe explore {input.tables:q} --registry {params.registry:q} --title {params.title:q} {params.text}"
            " --out {output.page:q} &> {log:q}"
