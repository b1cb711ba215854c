# WorldSense: all its rules.


include: "settings.smk"
include: "sets.smk"
