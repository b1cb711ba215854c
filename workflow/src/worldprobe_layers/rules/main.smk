# Accuracy after each layer of a model (docs/extras/layers.md), only where the study asks with EWoK.

from worldprobe.operations.run import current_run

this_run = current_run()
study = this_run.study

if study.get("ewok"):

    include: "layers.smk"
