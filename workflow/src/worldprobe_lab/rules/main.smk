# Series of checkpoints; planning and pooling only where the study asks with EWoK.


include: "series_settings.smk"
include: "series.smk"


if study.get("ewok"):

    include: "planning.smk"
