# How control models are trained.


from worldprobe.settings.study import CorpusSettings, TokenizerSettings
from worldprobe_lab.series import places_of


def control_options(wildcards):
    """How a control model is trained, as options; without a seed of its own, it has the study's."""
    return options({"seed": study["controls"]["seed"]} | registry[wildcards.model]["control"])


def saved_checkpoints(wildcards):
    """After which steps a control model is also saved, as options."""
    if not registry[wildcards.model].get("series_of"):
        return ""
    card = registry[wildcards.model]
    steps = [str(place.number) for place in places_of(card)]
    return options(card["series"], ["folders"], save_at=steps)
