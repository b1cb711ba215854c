# What tables and figures of every benchmark are made from: what the benchmark declares.


#: (benchmark, kind, name) -> a table or figure of this study.
DISPLAYS = {
    (benchmark.name, shown.kind, shown.name): shown
    for benchmark in benchmarks.of_study(study)
    for shown in benchmark.wanted(ANSWERED, registry)
}


def display(kind, look_up):
    """A function of the wildcards that looks something up in the declaration of a table or figure."""

    @asked_often
    def of_display(wildcards):
        return look_up(DISPLAYS[wildcards.benchmark, kind, wildcards.name], wildcards)

    return of_display


def inputs_of(shown, wildcards):
    """The tables that it is built from, in the order in which its command takes them."""
    return shown.inputs_of(study, STUDY.benchmark(wildcards.benchmark))


def section_of(shown, wildcards):
    """The chapter of Snakemake's report that shows it."""
    return next(one for one in benchmarks.of_study(study) if one.name == wildcards.benchmark).section(shown).title


def label_of(shown, wildcards):
    """What the menu of Snakemake's report calls it."""
    return {shown.kind: shown.title}


def caption_of(shown, wildcards):
    """The caption as reStructuredText: nothing in it is markup."""
    return re.sub(r"([\\*`_|])", r"\\\1", shown.caption)


def trained_of(shown, wildcards):
    """The folders of models that the pipeline trains, where a figure needs their numbers of parameters."""
    if not shown.shows_sizes:
        return []
    return [registry[model]["checkpoint"] for model in MODELS_WITH_ANSWERS if registry[model].get("control")]


def trained_option(shown, wildcards):
    """The same as an option."""
    return flag("--trained", trained_of(shown, wildcards))
