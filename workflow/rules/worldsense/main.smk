# WorldSense: all its rules.


include: "settings.smk"
include: "sets.smk"
include: "answers.smk"
include: "lessons.smk"
include: "training.smk"
include: "finetuning.smk"
include: "analysis.smk"
