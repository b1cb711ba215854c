"""The settings of layer readouts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from worldprobe.errors import UserError, did_you_mean
from worldprobe.models.registry import CAUSAL
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
        UserError: a model is not the study's, or not causal, or not loaded by transformers.
    """
    models = study["ewok"]["layers"]["models"] if study.get("ewok") else []
    for model in models:
        card = registry.get(model, {})
        if model not in study["models"]:
            problem = f"{model} is no model of the study{did_you_mean(model, study['models'])}"
        elif (card["kind"], card["engine"]) != (CAUSAL, "transformers"):
            problem = f"{model} is no causal model of the engine transformers."
        else:
            continue
        raise UserError("ewok.layers.models", problem, "Name models whose layers can be read.")
    return {}
