# WorldSense: all its rules.


include: "settings.smk"
include: "sets.smk"
include: "answers.smk"
include: "analysis.smk"
