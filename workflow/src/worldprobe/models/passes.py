"""Forward passes of a causal language model that return log probabilities of given tokens, in float32.

``plain`` is the yardstick: one sequence, the model's own logits. ``padded`` pads on the right (a causal model cannot look
there), and ``rows`` runs packed tries. Both apply the output projection only where a target token is predicted, in blocks of the
vocabulary, so that full logits never stand in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from worldprobe.models.tries import Row

#: Vocabulary columns per block of the projection.
BLOCK = 2048


class Passes:
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

    @torch.inference_mode()
    def plain(self, ids: Sequence[int], start: int) -> list[float]:
        """Log probabilities of ids[start:], from the whole sequence alone and the model's own logits."""
        tokens = torch.tensor([list(ids)], device=self.device)
        logits = self.model(input_ids=tokens, use_cache=False).logits[0, start - 1 : -1].float()
        chosen = torch.log_softmax(logits, dim=-1).gather(1, tokens[0, start:, None].to(logits.device))
        return chosen[:, 0].tolist()

    @torch.inference_mode()
    def padded(self, sequences: Sequence[tuple[Sequence[int], int]], own_head: bool = False) -> list[list[float]]:
        """The same for a batch, padded on the right; ``own_head`` takes the model's own logits, all of them."""
        width = max(len(ids) for ids, _ in sequences) - 1
        tokens = np.zeros((len(sequences), max(width, 1)), dtype=np.int64)
        for r, (ids, _) in enumerate(sequences):
            tokens[r, : len(ids) - 1] = ids[:-1]
        inputs = torch.from_numpy(tokens).to(self.device)
        places = [(r, p, ids[p + 1]) for r, (ids, start) in enumerate(sequences) for p in range(start - 1, len(ids) - 1)]
        if own_head:
            rows, columns, wanted = (torch.tensor(x) for x in zip(*places, strict=True))
            logits = self.model(input_ids=inputs, use_cache=False).logits
            logits = logits[rows.to(logits.device), columns.to(logits.device)].float()
            values = torch.log_softmax(logits, dim=-1).gather(1, wanted.to(logits.device)[:, None])[:, 0].tolist()
        else:
            hidden = self.body(input_ids=inputs, use_cache=False).last_hidden_state
            values = self._project(hidden, places)
        return _split(values, [len(ids) - start for ids, start in sequences])

    @torch.inference_mode()
    def rows(self, rows: Sequence[Row], sequences: Sequence[tuple[Sequence[int], int]]) -> list[tuple[int, list[float]]]:
        """Log probabilities for all members of packed rows: (member, values)."""
        width = max(len(row.tokens) for row in rows)
        tokens = np.zeros((len(rows), width), dtype=np.int64)
        depths = np.zeros((len(rows), width), dtype=np.int64)
        mask = np.zeros((len(rows), 1, width, width), dtype=bool)
        for r, row in enumerate(rows):
            tokens[r, : len(row.tokens)] = row.tokens
            depths[r, : len(row.tokens)] = row.depths
            mask[r, 0] = row.ancestors(width)
        hidden = self.body(
            input_ids=torch.from_numpy(tokens).to(self.device),
            position_ids=torch.from_numpy(depths).to(self.device),
            attention_mask=torch.from_numpy(mask).to(self.device),
            use_cache=False,
        ).last_hidden_state
        places: list[tuple[int, int, int]] = []
        members, counts = [], []
        for r, row in enumerate(rows):
            for member, path in zip(row.members, row.paths, strict=True):
                ids, start = sequences[member]
                places.extend((r, node, token) for node, token in zip(path, ids[start:], strict=True))
                members.append(member)
                counts.append(len(path))
        return list(zip(members, _split(self._project(hidden, places), counts), strict=True))

    def _project(self, hidden: torch.Tensor, places: Sequence[tuple[int, int, int]]) -> list[float]:
        """Log probability of each (row, position, token), each position and token computed once."""
        if not places:
            return []
        table = np.asarray(places, dtype=np.int64)
        flat = table[:, 0] * hidden.shape[1] + table[:, 1]
        positions, which = np.unique(flat, return_inverse=True)
        pairs, back = np.unique(np.stack([which, table[:, 2]]), axis=1, return_inverse=True)
        weight, bias = self.head.weight, getattr(self.head, "bias", None)
        states = hidden.reshape(-1, hidden.shape[-1])[torch.from_numpy(positions).to(hidden.device)]
        states = states.to(weight.device).float()
        total = self.normalisers(states, weight, bias)
        which_state = torch.from_numpy(pairs[0]).to(weight.device)
        which_token = torch.from_numpy(pairs[1]).to(weight.device)
        scores = (states[which_state] * weight[which_token].float()).sum(-1)
        if bias is not None:
            scores = scores + bias[which_token].float()
        return (scores - total[which_state]).double().cpu().numpy()[back.reshape(-1)].tolist()

    @staticmethod
    def normalisers(states: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        """Log of the sum of exponentials over the vocabulary, block by block, shape (positions,), float32."""
        parts = []
        for low in range(0, weight.shape[0], BLOCK):
            block = states @ weight[low : low + BLOCK].float().T
            if bias is not None:
                block += bias[low : low + BLOCK].float()
            parts.append(torch.logsumexp(block, dim=-1))
        return torch.logsumexp(torch.stack(parts), dim=0)


def _split(values: Sequence[float], counts: Sequence[int]) -> list[list[float]]:
    pieces, at = [], 0
    for count in counts:
        pieces.append(list(values[at : at + count]))
        at += count
    return pieces
