"""The same functions in fewer passes over memory; used only where the self-check finds the same numbers.

transformers writes GPT-2's GELU as six operations, torch has it as one. On a CPU in float32, oneDNN adds the bias and applies the
activation while it multiplies; not for GPT-2's own layers, whose weights lie the other way round and would have to be copied.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

#: Class of a feed-forward block -> its first linear layer, and the activation that alone follows it.
ACTIVATED = {
    "PhiMLP": ("fc1", "activation_fn"),
    "FalconMLP": ("dense_h_to_4h", "act"),
    "MptMLP": ("up_proj", "act"),
    "GPTNeoXMLP": ("dense_h_to_4h", "act"),
}


class FusedLinear(nn.Module):
    """A linear layer with its bias and activation in one call of oneDNN, CPU, float32.

    Args:
        weight: shape (outputs, inputs), contiguous.
        bias: shape (outputs,), or None.
        gelu: none, tanh or erf: the activation that follows.
    """

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor | None, gelu: str) -> None:
        super().__init__()
        self.weight, self.bias = weight, bias
        self.how: tuple[str, list[float], str] = {
            "none": ("none", [], ""),
            "tanh": ("gelu", [], "tanh"),
            "erf": ("gelu", [], "none"),
        }[gelu]

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Shape (..., inputs) -> (..., outputs)."""
        return torch.ops.mkldnn._linear_pointwise(states.contiguous(), self.weight, self.bias, *self.how)


def quicken(model: nn.Module) -> Callable[[], None]:
    """Put faster forms of the same functions into a model; returns how to undo it."""
    undone: list[Callable[[], None]] = []
    first = next(model.parameters())
    if first.device.type == "cpu" and first.dtype == torch.float32 and hasattr(torch.ops.mkldnn, "_linear_pointwise"):
        _fuse_linear(model, undone)
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if _gelu(child) == "tanh" and not isinstance(child, nn.GELU):
                _replace(parent, name, nn.GELU(approximate="tanh"), undone)

    def undo() -> None:
        for step in reversed(undone):
            step()

    return undo


def _fuse_linear(model: nn.Module, undone: list[Callable[[], None]]) -> None:
    body = getattr(model, "base_model", model)
    for parent in list(body.modules()):
        linear, act = ACTIVATED.get(type(parent).__name__, ("", ""))
        gelu = _gelu(getattr(parent, act, None))
        for name, child in list(parent.named_children()):
            if not isinstance(child, nn.Linear) or child.bias is None:
                continue
            fuses = name == linear and gelu != "none"
            _replace(parent, name, FusedLinear(child.weight.data, child.bias.data, gelu if fuses else "none"), undone)
            if fuses:
                _replace(parent, act, nn.Identity(), undone)


def _gelu(module: Any) -> str:
    """Which GELU a module computes: none, tanh or erf."""
    from transformers.activations import FastGELUActivation, GELUActivation, GELUTanh, NewGELUActivation

    if isinstance(module, (NewGELUActivation, FastGELUActivation, GELUTanh)):
        return "tanh"
    if isinstance(module, nn.GELU):
        return "tanh" if module.approximate == "tanh" else "erf"
    return "erf" if isinstance(module, GELUActivation) else "none"


def _replace(parent: nn.Module, name: str, new: nn.Module, undone: list[Callable[[], None]]) -> None:
    old = getattr(parent, name)
    setattr(parent, name, new)
    undone.append(lambda: setattr(parent, name, old))
