# Planning and pooling: only where the study asks with EWoK.

if study.get("ewok"):

    include: "planning.smk"
