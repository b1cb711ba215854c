# How control models are trained.


from worldprobe_lab.series import places_of


def training(key):
    """A function that looks up how a control model is trained."""

    def look_up(wildcards):
        return registry[wildcards.model]["control"][key]

    return look_up


def training_seed(wildcards):
    """The seed of a control model: its own, or that of the study."""
    return registry[wildcards.model]["control"].get("seed", study["controls"]["seed"])


def saved_checkpoints(wildcards):
    """After which steps a control model is also saved, as options."""
    if not registry[wildcards.model].get("series_of"):
        return ""
    places = places_of(registry[wildcards.model])
    return flags(
        flag("--save-at", [str(place.number) for place in places]),
        flag("--folders", registry[wildcards.model]["series"]["folders"]),
    )
