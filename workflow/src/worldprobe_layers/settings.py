"""The settings of layer readouts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from worldprobe import engines
from worldprobe.errors import UserError, did_you_mean
from worldprobe.settings.blocks import Block, Count, Distinct

#: Version of the computation of ``layers``: a higher number reads again.
METHOD = 1


class Layers(Block):
    """Models whose answers are read after their layers (docs/extras/layers.md)."""

    models: Distinct[str] = []
    """Models of the study whose layers are read: causal ones of the engine transformers."""

    every: Count = 3
    """Distance between layers that are read, counted from the last one; 1 reads each."""


def check_models(
    study: Mapping[str, Any], registry: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """No card is added; models whose layers cannot be read are refused before anything is asked.

    Raises:
        UserError: a model is not the study's, or has no layers that can be read.
    """
    models = study["ewok"]["layers"]["models"] if study.get("ewok") else []
    for model in models:
        card = registry.get(model, {})
        if model not in study["models"]:
            problem = f"{model} is no model of the study{did_you_mean(model, study['models'])}"
        elif not engines.of(card).has_layers:
            problem = (
                f"the layers of {model} cannot be read ({card['kind']}, engine {card['engine']})."
            )
        else:
            continue
        raise UserError(
            "ewok.layers.models", problem, "Name causal models, and leave out their engine."
        )
    return {}
