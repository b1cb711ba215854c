# Which checkpoints of a study's series are scored, by which job, and how.


from worldprobe_lab.series import places_of, trainings, with_series

#: The benchmarks in which series are scored, and how.
LEARNING = with_series(study)
#: Training -> its checkpoints, in as many parts as there are jobs.
PARTS = {
    model: [places[start : start + size] for start in range(0, len(places), size)]
    for model in (trainings(study, registry) if LEARNING else [])
    for places in [places_of(registry[model])]
    for size in [site["checkpoints_per_job"] or len(places)]
}
limit_resources(PARTS)


def items_of_series(wildcards):
    """The items that checkpoints are asked about."""
    return LEARNING[wildcards.benchmark].items(study)


def checkpoint_files(wildcards):
    """What must be there before a part of a series is scored: the folder of a control model, or the checkpoints' files."""
    entry = registry[wildcards.model]
    if entry.get("control"):
        return [entry["checkpoint"]]
    return [
        path
        for place in PARTS[wildcards.model][int(wildcards.part)]
        if place.revision is None
        for path in model_files({**entry, "checkpoint": place.checkpoint})
    ]


def series_options(wildcards):
    """Which checkpoints are scored, and how they are asked, as options."""
    entry, part = registry[wildcards.model], PARTS[wildcards.model][int(wildcards.part)]
    series = entry["series"]
    return options(
        series,
        ("revisions", "folders", "factor", "unit"),
        series=entry["series_of"],
        training_seed=entry["seed"],
        numbers=[str(place.number) for place in part],
        part=len(PARTS[wildcards.model]) > 1,
        fetch=series["revisions"] is not None,
        keep_weights=series["keep"],
        prompting=LEARNING[wildcards.benchmark].options(study),
    )


def series_method(wildcards):
    """The version of what checkpoints are asked."""
    return LEARNING[wildcards.benchmark].method


def scored_parts(wildcards):
    """The scores of all checkpoints of a study in one benchmark."""
    return [
        f"{STUDY.root}/{wildcards.benchmark}/series/{model}/{part}.parquet"
        for model, parts in PARTS.items()
        for part in range(len(parts))
    ]
