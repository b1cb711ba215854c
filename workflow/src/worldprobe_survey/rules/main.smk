# Studies with people: only where the study asks with EWoK.

from worldprobe.operations.run import current_run

this_run = current_run()
study, registry = this_run.study, this_run.registry

if study.get("ewok"):

    include: "ratings.smk"
    include: "people.smk"
