"""GELU piece by piece: transformers writes it as eight operations, and each reads and writes a layer's widest states once more.

The model's own code computes each piece while it is in the processor's cache. Every number is the one that it gives for the
whole: torch's own single operation rounds the last few numbers of each thread's share otherwise, so that scores would depend on
the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import transformers
from torch import nn

#: Numbers of a piece, for each thread: with what is computed from them they fit into a core's cache.
PIECE = 1 << 16


class Piecewise(nn.Module):
    """An activation that treats each number alone, on a piece of its input at a time.

    Args:
        own: the model's module.
    """

    def __init__(self, own: nn.Module) -> None:
        super().__init__()
        self.own = own

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """As the model's module, number by number."""
        size = PIECE * torch.get_num_threads()
        if states.device.type != "cpu" or states.numel() <= size or torch.is_grad_enabled():
            found: torch.Tensor = self.own(states)
            return found
        flat = states.reshape(-1)
        whole = torch.empty_like(flat)
        for piece, place in zip(flat.split(size), whole.split(size), strict=True):
            place.copy_(self.own(piece))
        return whole.view(states.shape)


def split_gelu(model: nn.Module) -> Callable[[], None]:
    """Compute every GELU that is approximated by tanh (``gelu_new``, ``gelu_fast``) piece by piece, by the model's own code.

    Args:
        model: any model of transformers.

    Returns:
        What puts the model's own modules back.
    """
    own = (transformers.activations.NewGELUActivation, transformers.activations.FastGELUActivation)
    # The very classes: one that is derived from them may compute something else.
    places = [(parent, *child) for parent in model.modules() for child in parent.named_children() if type(child[1]) in own]

    def put_back() -> None:
        for parent, name, module in places:
            setattr(parent, name, module)

    for parent, name, module in places:
        setattr(parent, name, Piecewise(module))
    return put_back
