# Accuracy after each layer of a model (docs/extras/layers.md), only where the study asks with EWoK.


if study.get("ewok"):

    include: "layers.smk"
