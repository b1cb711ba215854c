"""GELU as one operation of torch, where transformers writes it as eight: each reads and writes a layer's widest states once more.

It is the same function, rounded a little differently. Used only where the self-check finds the numbers of the model's own code.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn


def fuse_gelu(model: nn.Module) -> Callable[[], None]:
    """Put torch's operation in the place of every GELU that is approximated by tanh (``gelu_new``, ``gelu_fast``).

    In half precision the model's own code is left: it rounds after each of its operations, and the numbers would move visibly.

    Args:
        model: any model of transformers.

    Returns:
        What puts the model's own modules back.
    """
    from worldprobe.models.library import transformers

    own = (transformers.activations.NewGELUActivation, transformers.activations.FastGELUActivation)
    places = [(parent, *child) for parent in model.modules() for child in parent.named_children() if isinstance(child[1], own)]
    if any(parameter.dtype != torch.float32 for parameter in model.parameters()):
        places = []

    def put_back() -> None:
        for parent, name, module in places:
            setattr(parent, name, module)

    for parent, name, _ in places:
        setattr(parent, name, nn.GELU(approximate="tanh"))
    return put_back
