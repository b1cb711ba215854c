"""Next-token predictions of a causal language model after each of its layers: the state there
through the model's own final norm and output projection (the logit lens, nostalgebraist 2020).

One pass reads all layers. The last layer's values are those of plain scoring, to the last bit. What
the lens shows, and what not: docs/extras/layers.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn

from worldprobe.errors import UserError
from worldprobe.log import Progress
from worldprobe.models.answers import add_up
from worldprobe.models.engine import Engine, Loglikelihood, Scored
from worldprobe.models.forward import ForwardPasses
from worldprobe.models.loading import has_plain_head
from worldprobe.models.transformers_engine import TransformersEngine

#: What families call their layers and the norm behind the last one: GPT-2's, Llama's and Gemma's,
#: NeoX's, MPT's, Phi's.
BLOCKS = ("layers", "h", "blocks")
NORMS = ("norm", "ln_f", "final_layer_norm", "norm_f", "final_layernorm")
#: Largest difference of logits from the model's own, as a share of the largest logit: what half
#: precision rounds is less, and a norm or a factor that is missing is more.
TOLERANCE = 0.02


def layers_and_norm(
    passes: ForwardPasses, checkpoint: str
) -> tuple[Sequence[nn.Module], nn.Module]:
    """A model's layers, and the norm behind the last one.

    Raises:
        UserError: they are not where the families that can be read have them.
    """
    modules = [
        next((part for name in names if (part := getattr(passes.body, name, None))), None)
        for names in (BLOCKS, NORMS)
    ]
    if not isinstance(modules[0], nn.ModuleList) or not isinstance(modules[1], nn.Module):
        raise unreadable_layers(
            checkpoint, "its layers or its final norm are not where they are known"
        )
    return modules[0], modules[1]


def unreadable_layers(checkpoint: str, why: str) -> UserError:
    """That a model's layers cannot be read."""
    fix = "Layers of models like Llama, GPT-2, GPT-NeoX and Gemma can be read, by transformers."
    return UserError(checkpoint, f"cannot be read after its layers: {why}.", fix)


class LayerPasses(ForwardPasses):
    """Passes that give, of each token, a tuple with a value for each of some layers.

    Args:
        passes: the model's.
        layers: numbers of layers, counted from 1, ascending; the last of them is the model's.
        checkpoint: for messages.

    Raises:
        UserError: the model's layers cannot be read.
    """

    def __init__(self, passes: ForwardPasses, layers: Sequence[int], checkpoint: str) -> None:
        super().__init__(passes.model, passes.device)
        self.blocks, self.norm = layers_and_norm(passes, checkpoint)
        self.layers = list(layers)
        config = passes.model.config.get_text_config()
        self.cap: float | None = getattr(config, "final_logit_softcapping", None)
        self.is_plain = has_plain_head(config)
        self.states: dict[int, torch.Tensor] = {}
        self._check(checkpoint)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Keep the states of layers as long as the block runs."""
        hooks = [
            self.blocks[number - 1].register_forward_hook(partial(self._keep, number))
            for number in self.layers
        ]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()
            self.states.clear()

    def _keep(self, number: int, _module: nn.Module, _inputs: Any, output: Any) -> None:
        self.states[number] = output[0] if isinstance(output, tuple) else output

    @torch.inference_mode()
    def _check(self, checkpoint: str) -> None:
        """Refuse a model whose last layer, read in this way, is not what the model says."""
        tokens = torch.arange(2, 14, device=self.device)[None] % len(self.head.weight)
        with self.reading():
            logits = self.model(input_ids=tokens, use_cache=False).logits.float()
            read = self._logits(self.states[self.layers[-1]])
        if not bool((logits - read).abs().max() <= TOLERANCE * logits.abs().max()):
            raise unreadable_layers(
                checkpoint, "its logits are not its head's of its normed last state"
            )

    def _logits(self, states: torch.Tensor) -> torch.Tensor:
        """Logits of states of any shape, float32."""
        normed = self.norm(states).to(self.head.weight.device, self.head.weight.dtype)
        logits: torch.Tensor = self.head(normed).float()
        return logits if self.cap is None else self.cap * torch.tanh(logits / self.cap)

    def _picked(self, positions: Sequence[tuple[int, int, int]]) -> tuple[torch.Tensor, Any]:
        """States after all layers but the last, shape (layers, positions, hidden), and the place of
        each of ``positions`` among all.
        """
        *earlier, last = (self.states[number] for number in self.layers)
        table = np.asarray(positions)
        flat, which = np.unique(table[:, 0] * last.shape[1] + table[:, 1], return_inverse=True)
        states = [
            layer.reshape(-1, layer.shape[-1])[torch.from_numpy(flat).to(layer.device)].to(
                last.device
            )
            for layer in earlier
        ]
        return torch.stack(states), which

    def project(self, hidden: torch.Tensor, places: Sequence[tuple[int, int, int]]) -> list[Any]:
        """See ``ForwardPasses.project``."""
        return self._beside(super().project(hidden, places), places)

    def chosen(self, logits: torch.Tensor, places: Sequence[tuple[int, int, int]]) -> list[Any]:
        """See ``ForwardPasses.chosen``."""
        return self._beside(super().chosen(logits, places), places)

    def _beside(self, last: list[Any], positions: Sequence[tuple[int, int, int]]) -> list[Any]:
        """The earlier layers' values next to the last one's."""
        if len(self.layers) == 1 or not positions:
            return [(value,) for value in last]
        states, which = self._picked(positions)
        tokens = [token for *_, token in positions]
        values = []
        for state in states:
            of_layer = [(0, int(at), token) for at, token in zip(which, tokens, strict=True)]
            values.append(
                super().project(self.norm(state)[None], of_layer)
                if self.is_plain
                else super().chosen(self._logits(state)[None], of_layer)
            )
        return list(zip(*values, last, strict=True))


def chosen_layers(n_layers: int, every: int) -> list[int]:
    """Numbers of layers, counted from 1: the last one, and each so many before it.

    >>> chosen_layers(12, 5)
    [2, 7, 12]
    """
    return list(range(n_layers, 0, -every))[::-1]


def score_layers(
    engine: Engine, queries: Sequence[Loglikelihood], every: int = 1
) -> Mapping[int, list[Scored]]:
    """The answers of a model after some of its layers.

    Args:
        engine: a causal model of transformers.
        queries: the questions.
        every: distance between layers.

    Returns:
        Number of a layer, from 1 -> an answer to each query; the last layer's are the engine's own.

    Raises:
        UserError: the model's layers cannot be read.
    """
    checkpoint = engine.facts.checkpoint
    if not isinstance(engine, TransformersEngine):
        raise unreadable_layers(
            checkpoint, f"it is no causal model of transformers ({engine.facts.kind})"
        )
    before, encoded = engine.passes, engine.encoder.encode(queries)
    layers = chosen_layers(len(layers_and_norm(before, checkpoint)[0]), every)
    passes = LayerPasses(before, layers, checkpoint)
    scores: dict[int, list[Any]] = {number: [None] * len(queries) for number in layers}
    what = f"Reading {len(layers)} layers"
    with passes.reading(), Progress(what, len(queries), "questions") as progress:
        engine.passes = passes
        try:
            for i, values in engine.token_values([(query.ids, query.start) for query in encoded]):
                by_layer = zip(*values, strict=True) if values else [()] * len(layers)
                for number, of_layer in zip(layers, by_layer, strict=True):
                    flags, n_read = encoded[i].flags, len(encoded[i].ids)
                    scores[number][i] = add_up(of_layer, flags, None, n_read)
                progress.advance(1)
        finally:
            engine.passes = before
    return scores
