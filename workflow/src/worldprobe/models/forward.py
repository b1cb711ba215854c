"""Forward passes of a causal language model that return log probabilities of given tokens, in
float32.

``plain`` is the reference: one sequence, the model's own logits. ``padded`` pads on the right (a
causal model cannot look there), and ``rows`` runs packed tries. Both apply the output projection
only where a target token is predicted, in blocks of the vocabulary, so that full logits are never
in memory at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
import transformers
from torch import nn

from worldprobe.models.prefix_trie import PackedRow

#: Vocabulary columns per block of the projection.
BLOCK = 2048
#: Logits up to this size need no shift: exp(60) is far from float32's limit of exp(88).
MODERATE = 60.0

#: Token ids of a whole sequence, and the first position that is scored (at least 1).
Sequenced = tuple[Sequence[int], int]


class Prefix:
    """Keys and values of tokens that many sequences begin with, computed once.

    Args:
        layers: per layer, keys and values of shape (1, heads, length, size).
        length: tokens.
    """

    def __init__(self, layers: Sequence[tuple[torch.Tensor, torch.Tensor]], length: int) -> None:
        self.layers, self.length = layers, length

    def cache(self, batch: int) -> Any:
        """A cache of transformers that starts with this prefix in each of ``batch`` rows."""
        cache = transformers.DynamicCache()
        for layer, (keys, values) in enumerate(self.layers):
            cache.update(keys.expand(batch, -1, -1, -1), values.expand(batch, -1, -1, -1), layer)
        return cache


class ForwardPasses:
    """The passes of one loaded model.

    Args:
        model: a causal LM of transformers, in evaluation mode.
        device: where inputs go.
    """

    def __init__(self, model: Any, device: torch.device) -> None:
        self.model = model
        self.device = device
        self.body: Any = model.base_model if model.base_model is not model else None
        self.head: Any = model.get_output_embeddings()

    @property
    def hidden(self) -> int:
        """Values of a token's state, where the head is a projection of it."""
        return int(self.head.weight.shape[1])

    @torch.inference_mode()
    def plain(self, ids: Sequence[int], start: int) -> list[float]:
        """Log probabilities of ids[start:], from the whole sequence alone and the model's own
        logits.
        """
        tokens = torch.tensor([list(ids)], device=self.device)
        places = [(0, p, ids[p + 1]) for p in range(start - 1, len(ids) - 1)]
        return self.chosen(self.model(input_ids=tokens, use_cache=False).logits, places)

    @torch.inference_mode()
    def logits_behind(self, ids: Sequence[int], last: int) -> torch.Tensor:
        """The model's own logits of all tokens at the last places of one sequence, float32, shape
        (last, vocabulary).
        """
        return (
            self.model(input_ids=torch.tensor([list(ids)], device=self.device), use_cache=False)
            .logits[0, -last:]
            .float()
        )

    @torch.inference_mode()
    def padded(self, sequences: Sequence[Sequenced], own_head: bool = False) -> list[list[float]]:
        """The same for a batch, padded on the right; ``own_head`` takes the model's own logits, all
        of them.
        """
        places = [
            (r, p, ids[p + 1])
            for r, (ids, start) in enumerate(sequences)
            for p in range(start - 1, len(ids) - 1)
        ]
        inputs = self._pad([ids[:-1] for ids, _ in sequences])
        if own_head:
            values = self.chosen(self.model(input_ids=inputs, use_cache=False).logits, places)
        else:
            values = self.project(
                self.body(input_ids=inputs, use_cache=False).last_hidden_state, places
            )
        return _split(values, [len(ids) - start for ids, start in sequences])

    @torch.inference_mode()
    def rows(
        self, rows: Sequence[PackedRow], sequences: Sequence[Sequenced]
    ) -> list[tuple[int, list[float]]]:
        """Log probabilities for all members of packed rows: (member, values)."""
        places: list[tuple[int, int, int]] = []
        members, counts = [], []
        for r, row in enumerate(rows):
            for member, path in zip(row.members, row.paths, strict=True):
                ids, start = sequences[member]
                places.extend(
                    (r, node, token) for node, token in zip(path, ids[start:], strict=True)
                )
                members.append(member)
                counts.append(len(path))
        return list(
            zip(
                members,
                _split(self.project(self._row_states(rows), places), counts),
                strict=True,
            )
        )

    @torch.inference_mode()
    def next_in_rows(
        self, rows: Sequence[PackedRow], tokens: Sequence[int], prefix: Prefix | None
    ) -> list[tuple[int, list[float]]]:
        """Logits of some tokens behind each member of packed rows, whose sequences end with one
        token that is not read.
        """
        states = self._row_states(rows, prefix)
        places = [(r, path[0]) for r, row in enumerate(rows) for path in row.paths]
        members = [member for row in rows for member in row.members]
        return list(
            zip(
                members,
                self._logits_of(self._pick(states, places), tokens).tolist(),
                strict=True,
            )
        )

    @torch.inference_mode()
    def read_rows(
        self, rows: Sequence[PackedRow], prefix: Prefix | None
    ) -> tuple[torch.Tensor, list[tuple[torch.Tensor, torch.Tensor]]]:
        """Final hidden states of all nodes of packed rows, and per layer the keys and values of
        prefix and nodes.
        """
        cache = prefix.cache(len(rows)) if prefix else transformers.DynamicCache()
        states = self._row_states(rows, prefix, cache)
        return states, [(layer.keys, layer.values) for layer in cache.layers]

    @torch.inference_mode()
    def next_padded(
        self, prompts: Sequence[Sequence[int]], tokens: Sequence[int], own_head: bool
    ) -> list[list[float]]:
        """Logits of some tokens behind each prompt, padded on the right."""
        inputs = self._pad(prompts)
        places = [(r, len(prompt) - 1) for r, prompt in enumerate(prompts)]
        if own_head:
            logits = self._pick(self.model(input_ids=inputs, use_cache=False).logits, places)
            return logits[:, list(tokens)].float().tolist()
        return self._logits_of(
            self._pick(self.body(input_ids=inputs, use_cache=False).last_hidden_state, places),
            tokens,
        ).tolist()

    def next_all(
        self,
        tokens: torch.Tensor,
        cache: Any,
        own_head: bool,
        padding: tuple[torch.Tensor, torch.Tensor] | None = None,
    ) -> torch.Tensor:
        """Logits of all tokens behind the last column, float32, shape (rows, vocabulary); the cache
        grows.

        Args:
            tokens: shape (rows, columns).
            cache: keys and values of what comes before, or None.
            own_head: take the model's own logits.
            padding: where rows are padded on the left: the mask over everything read so far, and
                each token's position.
        """
        how = {"past_key_values": cache, "use_cache": cache is not None}
        if padding is not None:
            how |= {"attention_mask": padding[0], "position_ids": padding[1]}
        if own_head:
            return self.model(input_ids=tokens, **how).logits[:, -1].float()
        return self.logits(self.body(input_ids=tokens, **how).last_hidden_state[:, -1])

    def logits(self, states: torch.Tensor) -> torch.Tensor:
        """Logits of all tokens, float32, shape (states, vocabulary)."""
        logits: torch.Tensor = self.head(states.to(self.head.weight.device)).float()
        return logits

    @torch.inference_mode()
    def prefix(self, ids: Sequence[int]) -> Prefix:
        """Read a beginning once."""
        cache: Any = transformers.DynamicCache()
        self.body(
            input_ids=torch.tensor([list(ids)], device=self.device),
            past_key_values=cache,
            use_cache=True,
        )
        return Prefix([(layer.keys, layer.values) for layer in cache.layers], len(ids))

    def _row_states(
        self, rows: Sequence[PackedRow], prefix: Prefix | None = None, cache: Any = None
    ) -> torch.Tensor:
        """Final hidden states of all nodes, shape (rows, width, hidden); depths count from the end
        of ``prefix``.

        Args:
            rows: packed.
            prefix: what all begin with.
            cache: keys and values of the prefix, which grows; None: one that is thrown away.
        """
        cache = cache if cache is not None or prefix is None else prefix.cache(len(rows))
        width = max(len(row.tokens) for row in rows)
        before = prefix.length if prefix else 0
        depths = np.zeros((len(rows), width), dtype=np.int64)
        hidden = np.zeros((len(rows), 1, width, before + width), dtype=bool)
        for r, row in enumerate(rows):
            depths[r, : len(row.tokens)] = row.depths
            hidden[r, 0, :, before:] = ~row.ancestors(width)
        # A mask that is added, because every way of attention takes one, and once for all layers.
        dtype = next(
            self.model.parameters()
        ).dtype  # of the embeddings: the self-check widens them for a while
        mask = torch.zeros(hidden.shape, dtype=dtype, device=self.device)
        mask.masked_fill_(torch.from_numpy(hidden).to(self.device), torch.finfo(dtype).min)
        return self.body(
            input_ids=self._pad([row.tokens for row in rows]),
            position_ids=torch.from_numpy(depths + before).to(self.device),
            attention_mask=mask,
            past_key_values=cache,
            use_cache=cache is not None,
        ).last_hidden_state

    def chosen(self, logits: torch.Tensor, places: Sequence[tuple[int, int, int]]) -> list[Any]:
        """Log probability of each (row, position, token) by the model's own logits, shape (rows,
        width, vocabulary).
        """
        picked = self._pick(logits, [place[:2] for place in places]).float()
        wanted = torch.tensor([token for _, _, token in places], device=picked.device)
        return torch.log_softmax(picked, dim=-1).gather(1, wanted[:, None])[:, 0].tolist()

    def _pad(self, rows: Sequence[Sequence[int]]) -> torch.Tensor:
        tokens = np.zeros((len(rows), max(1, max(len(row) for row in rows))), dtype=np.int64)
        for r, row in enumerate(rows):
            tokens[r, : len(row)] = row
        return torch.from_numpy(tokens).to(self.device)

    @staticmethod
    def _pick(states: torch.Tensor, places: Sequence[tuple[int, int]]) -> torch.Tensor:
        where = torch.tensor(places, device=states.device)
        return states[where[:, 0], where[:, 1]]

    def _logits_of(self, states: torch.Tensor, tokens: Sequence[int]) -> torch.Tensor:
        """Logits of some tokens, float32, shape (states, tokens)."""
        weight, bias = self.head.weight, getattr(self.head, "bias", None)
        wanted = torch.tensor(list(tokens), device=weight.device)
        logits = states.to(weight.device).float() @ weight[wanted].float().T
        return logits if bias is None else logits + bias[wanted].float()

    def project(self, hidden: torch.Tensor, places: Sequence[tuple[int, int, int]]) -> list[Any]:
        """Log probability of each (row, position, token) by final states, shape (rows, width,
        hidden); each position computed once.
        """
        if not places:
            return []
        table = np.asarray(places, dtype=np.int64)
        flat = table[:, 0] * hidden.shape[1] + table[:, 1]
        positions, which = np.unique(flat, return_inverse=True)
        weight, bias = self.head.weight, getattr(self.head, "bias", None)
        states = hidden.reshape(-1, hidden.shape[-1])[torch.from_numpy(positions).to(hidden.device)]
        states = states.to(weight.device).float()
        total = normalisers(states, weight, bias)
        which_state = torch.from_numpy(which).to(weight.device)
        which_token = torch.from_numpy(table[:, 2]).to(weight.device)
        scores = (states[which_state] * weight[which_token].float()).sum(-1)
        if bias is not None:
            scores = scores + bias[which_token].float()
        return (scores - total[which_state]).double().tolist()


def normalisers(
    states: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None
) -> torch.Tensor:
    """Log of the sum of exponentials of all logits, shape (states,), float32; one block of the
    vocabulary at a time.

    The first block's largest logits say which shift keeps the sum in range: none where they are
    moderate, as they nearly always are. Should the sum run out of range nevertheless, each block's
    exact shift is used.
    """
    total = shift = None
    for block in _blocks(states, weight, bias):
        if total is None:
            largest = block.amax(-1, keepdim=True)
            shift = None if largest.abs().max() < MODERATE else largest
        if shift is not None:
            block.sub_(shift)
        part = block.exp_().sum(-1)
        total = part if total is None else total.add_(part)
    assert total is not None
    result = total.log() if shift is None else total.log() + shift[:, 0]
    if torch.isfinite(result).all():
        return result
    return torch.logsumexp(
        torch.stack([torch.logsumexp(b, dim=-1) for b in _blocks(states, weight, bias)]), dim=0
    )


def _blocks(states: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> Any:
    for low in range(0, weight.shape[0], BLOCK):
        block = states @ weight[low : low + BLOCK].float().T
        yield block if bias is None else block.add_(bias[low : low + BLOCK].float())


def _split(values: Sequence[Any], counts: Sequence[int]) -> list[list[Any]]:
    pieces, at = [], 0
    for count in counts:
        pieces.append(list(values[at : at + count]))
        at += count
    return pieces


#: Numbers of a piece, for each thread: with what is computed from them they fit into a core's
#: cache.
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
            activations: torch.Tensor = self.own(states)
            return activations
        flat = states.reshape(-1)
        whole = torch.empty_like(flat)
        for piece, output in zip(flat.split(size), whole.split(size), strict=True):
            output.copy_(self.own(piece))
        return whole.view(states.shape)


def split_gelu(model: nn.Module) -> Callable[[], None]:
    """Compute every GELU that is approximated by tanh (``gelu_new``, ``gelu_fast``) piece by piece,
    by the model's own code.

    Args:
        model: any model of transformers.

    Returns:
        What puts the model's own modules back.
    """
    classes = (
        transformers.activations.NewGELUActivation,
        transformers.activations.FastGELUActivation,
    )
    # The very classes: one that is derived from them may compute something else.
    gelus = [
        (parent, *child)
        for parent in model.modules()
        for child in parent.named_children()
        if type(child[1]) in classes
    ]

    def put_back() -> None:
        for parent, name, module in gelus:
            setattr(parent, name, module)

    for parent, name, module in gelus:
        setattr(parent, name, Piecewise(module))
    return put_back
