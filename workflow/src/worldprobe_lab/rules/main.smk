# Series of checkpoints; what is about EWoK only where the study asks it.


include: "series_settings.smk"
include: "series.smk"


if study.get("ewok"):

    include: "conditions.smk"
    include: "planning.smk"
    include: "released.smk"
