"""What a study has of people. Imports nothing heavy."""

from __future__ import annotations

from worldprobe.benchmark import Study

SIMULATED = "simulated"


def has_responses(study: Study) -> bool:
    """Whether people's answers are cleaned."""
    return bool(study["ewok"]["human"]["responses"])


def is_simulated(study: Study) -> bool:
    """Whether the people are simulated."""
    return bool(study["ewok"]["human"]["responses"] == SIMULATED)


def has_both_ways(study: Study) -> bool:
    """Whether people are asked by Likert and by Choice."""
    return has_responses(study) and len(study["ewok"]["human"]["lists"]["paradigms"]) == 2


def has_people_rated(study: Study) -> bool:
    """Whether people's ratings of the items are there: averaged by somebody else, or cleaned here."""
    by_likert = has_responses(study) and "likert" in study["ewok"]["human"]["lists"]["paradigms"]
    return bool(study["ewok"]["human"]["ratings"]) or by_likert
