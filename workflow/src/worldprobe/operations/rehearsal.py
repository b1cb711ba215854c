"""A rehearsal: a study from end to end with stand-ins for its models, before anything is paid for.

The same rules, commands, prompts, tables, figures and report, about fewer items; what costs hours
is cut to seconds. Results lie in a folder of their own, and every table of it says what it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from worldprobe import extensions
from worldprobe.benchmark import Registry, Study
from worldprobe.benchmarks import all_models, of_study
from worldprobe.errors import UserError
from worldprobe.files import write_text
from worldprobe.models.checkpoint import NO_ADAPTER, folder_of, read_object
from worldprobe.models.registry import CAUSAL, ENCODER_DECODER, MASKED
from worldprobe.paths import StudyPaths
from worldprobe.provenance import REHEARSAL_MARK
from worldprobe.settings.registry import REHEARSAL_ENDPOINT

#: Optimiser steps of a training.
STEPS = 4
#: The corpus of control models.
CORPUS = {"fillings": 4, "sentences": 500}
#: The architecture of a model whose card and checkpoint name none, where its family is none.
USUAL = {CAUSAL: "llama", MASKED: "bert", ENCODER_DECODER: "t5"}
#: Families of the registry that are named like the architecture of their models.
FAMILIES = frozenset({"gpt2", "phi", "gemma", "mpt", "falcon", "mistral", "llama", "bert", "t5"})
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
    """The complete registry of a rehearsal: each model that is neither made here nor a rule has a
    stand-in, which a rule makes, or a server that answers in its place.

    Raises:
        UserError: a model's architecture cannot be known.
    """
    folder = f"{StudyPaths.of(study).root}/stand_ins"
    bases = [model.partition("+")[0] for model in (*all_models(study), *study.get("series", ()))]
    cards = {model: dict(card) for model, card in registry.items()}
    for card in cards.values():
        if card.get("tuned"):
            card["tuned"] = "small"  # so is its base
    for model in dict.fromkeys(bases):
        card = cards[model]
        if card.get("control") or card.get("tuned") or card["engine"] == "rule":
            continue
        if card["engine"] == "openai":
            card |= {"endpoint": REHEARSAL_ENDPOINT, "tokenizer": None}
            continue
        card |= {"stand_in": architecture_of(card), "checkpoint": f"{folder}/{model}"}
        card |= {"revision": "main", "adapter": None, "engine": "transformers"}
        card |= {"tensor_parallel": None, "trust_remote_code": False, "allow_pickle": False}
    return cards


def architecture_of(card: Mapping[str, Any]) -> str:
    """The architecture of a model's stand-in: what its card states, or the config.json of a folder
    of the user's; else its family where families are named like architectures, as gpt2.

    >>> architecture_of({"architecture": "mixtral", "checkpoint": "a/b", "family": "mistral"})
    'mixtral'
    >>> architecture_of({"checkpoint": "a/b", "family": "falcon", "kind": "causal"})
    'falcon'
    """
    if card.get("architecture"):
        return str(card["architecture"])
    names = [card["checkpoint"], card.get("adapter")]
    for name in (one for one in names if one and one != NO_ADAPTER):
        folder = folder_of(name)
        if folder and (folder / "config.json").is_file():
            try:
                stated = read_object(folder / "config.json").get("model_type")
            except UserError:  # the study would say what is wrong; its rehearsal need not
                stated = None
            if isinstance(stated, str):
                return stated
    return str(card["family"]) if card["family"] in FAMILIES else USUAL[card["kind"]]
