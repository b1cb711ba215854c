"""How a study's people are asked and their answers cleaned, ours or as in the paper. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from worldprobe.benchmark import Study

#: What the paper did (Appendix A.1), and what it did not do.
PAPER: Mapping[str, Mapping[str, Any]] = {
    "lists": {"unit": "template", "per_domain": True, "shortest": 1, "longest": 10_000, "catch": 0, "rounds": 1},
    "cleaning": {
        "skip": [],
        "failed_catch": 0,
        "too_fast_ms": 0,
        "isc": 0.3,
        "passes": 0,
        "minimum": 5,
        "below_minimum": "keep",
    },
}
SIMULATED = "simulated"


def human_settings(study: Study, block: str) -> dict[str, Any]:
    """One block of ``ewok.human``; with ``study: paper`` its values are the paper's.

    Args:
        study: a validated study.
        block: lists or cleaning.
    """
    settings = study["ewok"]["human"]
    return dict(settings[block]) | (dict(PAPER[block]) if settings["study"] == "paper" else {})


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
