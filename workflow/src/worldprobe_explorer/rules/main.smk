# The page of items (docs/extras/items.md).

from worldprobe.code_digest import digest_code
from worldprobe.operations.run import current_run
from worldprobe.paths import ENVS
from worldprobe.settings.blocks import options
from worldprobe_explorer.settings import tables

this_run = current_run()

if tables(this_run.study, this_run.models):

    rule explore:
        """Items and what models answered, one by one, on a page that opens offline."""
        input:
            tables=tables(this_run.study, this_run.models),
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
            registry=this_run.registry_file,
            models=this_run.names(),
            title=f"Study {this_run.study['study']}",
            text=options(this_run.study["explorer"], ["with_protected_text"]),
            code=digest_code("worldprobe_explorer", displays=True),
        message:
            "Writing the page of items"
        shell:
            "worldprobe explore {input.tables:q} --registry {params.registry:q} --title {params.title:q} {params.text}"
            " --out {output.page:q} &> {log:q}"
