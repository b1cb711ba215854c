# A finished study drawn again from its archive (--config archive=PATH): no rule here, or beside it, asks a model.


#: Tables and figures that are taken over as they were drawn: what they are drawn from is protected.
AS_DRAWN = checked(ARCHIVED.as_drawn)
#: Says where the study's folder is from; what is drawn is younger.
ARCHIVE_NOTE = [f"{STUDY.root}/{archived.NOTE}"]
#: What is put beside it.
UNPACKED = ARCHIVED.unpacked()


ruleorder: unpack_archive > print_table
ruleorder: unpack_archive > draw_figure


rule unpack_archive:
    """What the archive of a finished study holds, in its place; nothing of it is computed again."""
    input:
        archive=ARCHIVED.source,
    output:
        note=ARCHIVE_NOTE,
        files=UNPACKED,
    log:
        "<logs>/unpack_archive.log",
    benchmark:
        "<benchmarks>/unpack_archive.tsv"
    localrule: True
    conda:
        "../../envs/analysis.yaml"
    params:
        place=ARCHIVED.place,
        as_drawn=options(as_drawn=AS_DRAWN),
        code=digest_code(),
    message:
        f"Study {study['study']}, from {ARCHIVED.place}"
    shell:
        "worldprobe archive unpack {params.place:q} {params.as_drawn} --out {output.note:q} &> {log:q}"
