# Series of checkpoints; what is about EWoK only where the study asks it.

from worldprobe.operations.run import current_run

this_run = current_run()
study, registry = this_run.study, this_run.registry


include: "series.smk"


if study.get("ewok"):

    include: "conditions.smk"
    include: "planning.smk"
    include: "released.smk"
