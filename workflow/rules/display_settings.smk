# What tables and figures of every benchmark are made from: what the benchmark declares.

from difflib import get_close_matches

#: (benchmark, kind, name) -> a table or figure of this study.
DISPLAYS = {
    (benchmark.name, shown.kind, shown.name): shown
    for benchmark in benchmarks.of_study(study)
    for shown in benchmark.wanted(ANSWERED, registry)
}


def display(kind, look_up):
    """A function of the wildcards that looks something up in the declaration of a table or figure."""

    def of_display(wildcards):
        key = (wildcards.benchmark, kind, wildcards.name)
        if key not in DISPLAYS:
            refuse(
                f"{STUDY.root}/{wildcards.benchmark}/{kind}s/{wildcards.name}.{FORMATS[kind][0]}"
            )
        return look_up(DISPLAYS[key], wildcards)

    return of_display


def refuse(target):
    """Stop with the name of the file that a mistyped target may mean."""
    displays = [
        f"{STUDY.root}/{name}/{kind}s/{one}.{form}"
        for name, kind, one in DISPLAYS
        for form in FORMATS[kind]
    ]
    known = [*displays, *benchmarks.outputs(ANSWERED, registry), STUDY.report]
    near = did_you_mean(
        target, get_close_matches(target, known, cutoff=0.85)
    )  # most of every two paths is the same
    advice = f"This is study {study['study']}: another one's configuration is named by --configfile, after the targets."
    sys.exit(UserError(target, f"no rule makes this file{near}", advice).lines())


def refuse_mistyped_targets():
    """Stop where a file of the command line is in the results and nothing makes it, as Snakemake would name no other."""
    if Path(workflow.main_snakefile) not in (HOME / "Snakefile", HOME / "workflow" / "Snakefile"):
        return  # a workflow that uses this one has rules of its own
    for before, word in zip(sys.argv, sys.argv[1:]):
        if (
            word.startswith(f"{STUDY.results}/")
            and not before.startswith("-")
            and not os.path.exists(word)
        ):
            if not any(made.is_producer(word) for made in workflow.rules):
                refuse(word)


def inputs_of(shown, wildcards):
    """The tables that it is built from, in the order in which its command takes them."""
    return shown.inputs_of(study, STUDY.benchmark(wildcards.benchmark))


def section_of(shown, wildcards):
    """The chapter of Snakemake's report that shows it."""
    return (
        next(one for one in benchmarks.of_study(study) if one.name == wildcards.benchmark)
        .section(shown)
        .title
    )


def label_of(shown, wildcards):
    """What the menu of Snakemake's report calls it."""
    return {shown.kind: shown.title}


def caption_of(shown, wildcards):
    """The caption as reStructuredText: nothing in it is markup."""
    return re.sub(r"([\\*`_|])", r"\\\1", shown.caption)


def code_of(shown, wildcards):
    """What its code is."""
    return digest_code(shown.kind, shown.build.__module__, shown.draw.__module__)


def trained_of(shown, wildcards):
    """The folders of models that the pipeline trains, where a figure needs their numbers of parameters."""
    if not shown.shows_sizes:
        return []
    return [
        registry[model]["checkpoint"]
        for model in MODELS_WITH_ANSWERS
        if registry[model].get("control")
    ]


def trained_option(shown, wildcards):
    """The same as an option."""
    return options(trained=trained_of(shown, wildcards))
