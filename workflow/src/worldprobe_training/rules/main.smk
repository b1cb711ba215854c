# Models that are made here.


include: "controls_settings.smk"
include: "controls.smk"


if study.get("ewok"):

    include: "ewok_controls.smk"


if study.get("worldsense"):

    include: "training.smk"
    include: "lessons.smk"
    include: "finetuning.smk"
