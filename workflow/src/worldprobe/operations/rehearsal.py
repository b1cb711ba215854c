"""A rehearsal: a study from end to end with stand-ins for its models, before anything is paid for.

The same rules, commands, prompts, tables, figures and report, about fewer items; what costs hours
is cut to seconds. Results lie in a folder of their own, and every table of it says what it is.
"""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

from worldprobe import engines, extensions
from worldprobe.benchmark import Registry, Study
from worldprobe.benchmarks import all_models, of_study
from worldprobe.files import write_text
from worldprobe.paths import StudyPaths
from worldprobe.provenance import REHEARSAL_MARK

#: Optimiser steps of a training.
STEPS = 4
#: The corpus of control models.
CORPUS = {"fillings": 4, "sentences": 500}
_NOTE = "What lies below this folder was made in a rehearsal: stand-ins took the models' places.\n"


def folder_of_rehearsals(results: str) -> str:
    """The folder of the results of rehearsals, marked as such.

    Args:
        results: the folder of all studies' results.
    """
    folder = f"{results}/rehearsal"
    mark = Path(folder) / REHEARSAL_MARK
    if not mark.is_file():
        write_text(mark, _NOTE)
    return folder


def reduce(study: Study, registry: Registry) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """The study and the registry with everything small that takes long.

    Args:
        study: a validated study.
        registry: model id -> card, before models are added that depend on the study.
    """
    small: dict[str, Any] = deepcopy(dict(study))
    cards: dict[str, dict[str, Any]] = deepcopy({key: dict(card) for key, card in registry.items()})
    small["controls"] |= {key: min(small["controls"][key], most) for key, most in CORPUS.items()}
    for card in cards.values():
        if control := card.get("control"):
            control["steps"] = min(control["steps"], STEPS)
    for benchmark in of_study(small):
        if benchmark.rehearse:
            benchmark.rehearse(small[benchmark.name])
    extensions.rehearse(small, cards)
    return small, cards


def with_stand_ins(study: Study, registry: Registry) -> dict[str, dict[str, Any]]:
    """The complete registry of a rehearsal: each model that is not made here has the stand-in of
    its engine, which a rule makes, or a server that answers in its place.
    """
    folder = f"{StudyPaths.of(study).root}/stand_ins"
    bases = [model.partition("+")[0] for model in (*all_models(study), *study.get("series", ()))]
    cards = {model: dict(card) for model, card in registry.items()}
    for card in cards.values():
        if card.get("tuned"):
            card["tuned"] = "small"  # so is its base
    for model in dict.fromkeys(bases):
        card = cards[model]
        if not (card.get("control") or card.get("tuned")):
            card |= engines.of(card).stand_in(card, f"{folder}/{model}")
    return cards
