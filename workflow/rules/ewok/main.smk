# EWoK: all its rules, in the order in which they run.


include: "settings.smk"
include: "materials.smk"
include: "answers.smk"
include: "baselines.smk"
include: "human.smk"
include: "accuracy.smk"
include: "regression.smk"
include: "notebooks.smk"


localrules:
    fetch_ewok_config,
    compile_templates,
    compile_family_templates,
    fill_items,
    gather_items,
    train_vectors,
    fetch_baseline,
    judge_baseline,
    measure_surface,
    import_human_ratings,
    judge_human,
    judge,
    summarize,
    compare,
    agree,
    correlate,
    check_reproduction,
    fit_fixed_effects,
    run_notebook,
