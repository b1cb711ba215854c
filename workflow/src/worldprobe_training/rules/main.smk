# Models that are made here.

from worldprobe.operations.run import current_run

this_run = current_run()
study, registry = this_run.study, this_run.registry


include: "controls.smk"


if study.get("ewok"):

    include: "ewok_controls.smk"


if study.get("worldsense"):

    include: "lessons.smk"
    include: "finetuning.smk"
