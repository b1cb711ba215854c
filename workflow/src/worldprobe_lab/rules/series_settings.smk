# Which checkpoints of a study's series are scored, by which job, and how.


from worldprobe_lab.series import parts_of, with_series

#: The benchmarks in which series are scored, and how; training -> its checkpoints, in parts.
LEARNING = with_series(study)
PARTS = parts_of(study, registry, site["checkpoints_per_job"])
limit_resources(PARTS)


def series_items(benchmark):
    """What the checkpoints of a series are asked."""
    return LEARNING[benchmark].items(study)


def series_method(benchmark):
    """The version of how they are asked."""
    return LEARNING[benchmark].method


def checkpoint_files(wildcards):
    """What must be there before a part of a series is scored: the folder of a control model, or the checkpoints' files."""
    card = registry[wildcards.model]
    if card.get("control"):
        return [card["checkpoint"]]
    return [
        path
        for place in PARTS[wildcards.model][int(wildcards.part)]
        if place.revision is None
        for path in settings.model_files({**card, "checkpoint": place.checkpoint})
    ]


def series_options(wildcards):
    """Which checkpoints are scored, and how they are asked, as options."""
    card, parts = registry[wildcards.model], PARTS[wildcards.model]
    return options(
        card["series"],
        ("revisions", "folders", "factor", "unit"),
        series=card["series_of"],
        training_seed=card["seed"],
        numbers=[str(place.number) for place in parts[int(wildcards.part)]],
        part=len(parts) > 1,
        fetch=card["series"]["revisions"] is not None,
        keep_weights=card["series"]["keep"],
        prompting=LEARNING[wildcards.benchmark].options(study),
    )


def scored_parts(wildcards):
    """The scores of all checkpoints of a study in one benchmark."""
    folder = f"{STUDY.root}/{wildcards.benchmark}/series"
    return [
        f"{folder}/{model}/{part}.parquet"
        for model, parts in PARTS.items()
        for part in range(len(parts))
    ]
