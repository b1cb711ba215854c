# A finished study drawn again from its archive (--config archive=PATH): no rule here, or beside it, asks a model.


ruleorder: unpack_archive > print_table
ruleorder: unpack_archive > draw_figure


rule unpack_archive:
    """What the archive of a finished study holds, in its place; nothing of it is computed again."""
    input:
        archive=this_run.archive.source,
    output:
        note=displays.note,
        files=this_run.archive.unpacked(),
    log:
        "<logs>/unpack_archive.log",
    benchmark:
        "<benchmarks>/unpack_archive.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    params:
        archive=this_run.archive.path,
        as_drawn=options(as_drawn=this_run.as_drawn),
        code=digest_code(),
    message:
        f"Study {study['study']}, from {this_run.archive.path}"
    shell:
        "worldprobe archive unpack {params.archive:q} {params.as_drawn} --out {output.note:q} &> {log:q}"
