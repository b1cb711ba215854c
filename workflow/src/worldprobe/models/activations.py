"""The same activation function in one kernel: transformers writes GPT-2's GELU as six passes over memory, torch has it as one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn


def fuse_activations(model: nn.Module) -> Callable[[], None]:
    """Put torch's GELU (tanh) in the place of its spelled-out forms; returns how to undo it."""
    from transformers.activations import FastGELUActivation, NewGELUActivation

    places: list[tuple[nn.Module, str, Any]] = [
        (parent, name, child)
        for parent in model.modules()
        for name, child in parent.named_children()
        if isinstance(child, (NewGELUActivation, FastGELUActivation))
    ]
    for parent, name, _ in places:
        setattr(parent, name, nn.GELU(approximate="tanh"))

    def undo() -> None:
        for parent, name, child in places:
            setattr(parent, name, child)

    return undo
