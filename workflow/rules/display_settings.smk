# What tables, figures and report of every benchmark are made from: what the benchmark declares.

from difflib import get_close_matches

#: (benchmark, kind, name) -> a table or figure of this study, and its benchmark.
DISPLAYS = {
    (benchmark.name, shown.kind, shown.name): (benchmark, shown)
    for benchmark in benchmarks.of_study(study)
    for shown in benchmark.wanted(ANSWERED, registry)
}
#: What each part of the report is built from.
PAGES = benchmarks.page_files(study, ALL_WITH_ANSWERS)
#: Tables of pairs of models, for its first sentences; archives of earlier releases lack some.
COMPARED = [
    page.comparisons
    for page in PAGES
    if page.comparisons and (ARCHIVED is None or ARCHIVED.has(page.comparisons))
]
#: Where an archive's tables are from, if they are: what is drawn is drawn anew.
ARCHIVE_NOTE = []


@cache
def declared(home, kind, name):
    """What the declaration of a table or figure says: its inputs, its place in Snakemake's report, what its code is."""
    if (home, kind, name) not in DISPLAYS:
        refuse(f"{STUDY.root}/{home}/{kind}s/{name}.{FORMATS[kind][0]}")
    benchmark, shown = DISPLAYS[home, kind, name]
    trained = [
        card["checkpoint"]
        for card in map(registry.get, ANSWERED["models"])
        if shown.shows_sizes and card.get("control")
    ]
    return {
        "inputs": shown.inputs_of(study, STUDY.benchmark(home)),
        "section": benchmark.section(shown).title,
        "label": {kind: shown.title},
        "caption": re.sub(r"([\\*`_|])", r"\\\1", shown.caption),  # nothing in it is markup
        "code": digest_code(shown.build.__module__, displays=True),
        "trained": trained,
        # of an archive the very file, as no rule makes the folder
        "trained_files": [f"{one}/provenance.json" for one in trained] if ARCHIVED else trained,
        "trained_option": options(trained=trained),
    }


def display(kind, what):
    """A function of the wildcards that looks something up in the declaration of a table or figure."""

    def look_up(wildcards):
        return declared(wildcards.benchmark, kind, wildcards.name)[what]

    return look_up


def refuse(target):
    """Stop with the name of the file that a mistyped target may mean."""
    known = [*benchmarks.outputs(ANSWERED, registry), STUDY.report]
    near = get_close_matches(target, known, cutoff=0.85)  # most of every two paths is the same
    advice = f"This is study {study['study']}: another one's configuration is named by --configfile, after the targets."
    sys.exit(
        UserError(target, f"no rule makes this file{did_you_mean(target, near)}", advice).lines()
    )


def refuse_mistyped_targets():
    """Stop where a file of the command line is in the results and nothing makes it, as Snakemake would name no other."""
    if Path(workflow.main_snakefile) not in (HOME / "Snakefile", HOME / "workflow" / "Snakefile"):
        return  # a workflow that uses this one has rules of its own
    for before, word in zip(sys.argv, sys.argv[1:]):
        is_target = word.startswith(f"{STUDY.results}/") and not before.startswith("-")
        is_made = os.path.exists(word) or any(made.is_producer(word) for made in workflow.rules)
        if is_target and not is_made:
            refuse(word)
