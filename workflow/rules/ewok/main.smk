# EWoK: all its rules, in the order in which they run.


include: "settings.smk"
include: "materials.smk"
include: "answers.smk"
include: "baselines.smk"
include: "accuracy.smk"
include: "regression.smk"
include: "notebooks.smk"
