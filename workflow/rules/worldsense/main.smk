# WorldSense: all its rules.


include: "settings.smk"
include: "sets.smk"
include: "answers.smk"
include: "analysis.smk"


localrules:
    generate_set,
    generate_train,
    generate_examples,
    summarize_trials,
    compare_tuples,
    check_worldsense_reproduction,
