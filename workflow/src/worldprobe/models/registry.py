"""The model registry, read: which checkpoint a name stands for, and whether it lies on this machine. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from worldprobe.errors import UserError, did_you_mean


def card(registry: Mapping[str, Mapping[str, Any]], model: str, registry_name: object = "the registry") -> Mapping[str, Any]:
    """A model's entry.

    Raises:
        UserError: the registry does not know it.
    """
    if model not in registry:
        raise UserError(
            f"model {model}",
            f"is not in {registry_name}{did_you_mean(model, registry)}",
            "Add an entry for it, or choose one of: " + ", ".join(registry) + ".",
        )
    return registry[model]


def select(registry: Mapping[str, Mapping[str, Any]], models: Iterable[str] | None) -> list[str]:
    """The named models, or all of the registry.

    Raises:
        UserError: one of them is unknown.
    """
    chosen = list(registry) if models is None else [m.strip() for m in models if m.strip()]
    for model in chosen:
        card(registry, model)
    return chosen


def state(entry: Mapping[str, Any]) -> str:
    """Where a model stands: trained here, in a folder, fetched, or still to come."""
    if Path(entry["checkpoint"]).is_dir():
        return "here"
    if "control" in entry:
        return "to be trained"
    from worldprobe.models.checkpoint import locate

    try:
        locate(
            entry["checkpoint"], entry.get("revision"), entry.get("allow_pickle", False), entry.get("trust_remote_code", False)
        )
    except UserError:
        return "to be fetched"
    return "fetched"
