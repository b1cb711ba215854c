"""Greedy continuation of many prompts at once, without padding: prompts of one length share a batch, all share their beginning.

Without padding no mask can be wrong, whatever the architecture's positions are.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import torch

from worldprobe.models.answers import continuation
from worldprobe.models.passes import Passes, Prefix


def shared_beginning(prompts: Sequence[Sequence[int]]) -> int:
    """Length of the beginning that all prompts share, leaving each at least one token."""
    first, last = min(prompts, key=tuple), max(prompts, key=tuple)
    count = 0
    for a, b in zip(first, last, strict=False):
        if a != b:
            break
        count += 1
    return min(count, min(len(p) for p in prompts) - 1)


class Writer:
    """Writes on greedily.

    Args:
        passes: the model's passes.
        tokenizer: of transformers.
        ends: token ids that end a text.
        uses_own_head: take the model's own logits instead of body and projection.
        can_cache: the model gives the same numbers with cached keys and values.
    """

    def __init__(self, passes: Passes, tokenizer: Any, ends: Collection[int], uses_own_head: bool, can_cache: bool) -> None:
        self.passes, self.tokenizer, self.ends = passes, tokenizer, frozenset(ends)
        self.uses_own_head, self.can_cache = uses_own_head, can_cache

    @torch.inference_mode()
    def write(self, prompts: Sequence[Sequence[int]], prefix: Prefix | None, max_new_tokens: int, stop: str) -> list[str]:
        """Texts that follow prompts of one length, up to ``stop``, an end token or ``max_new_tokens``."""
        from transformers import DynamicCache

        skipped = prefix.length if prefix else 0
        cache: Any = (prefix.cache(len(prompts)) if prefix else DynamicCache()) if self.can_cache else None
        whole = torch.tensor([list(p) for p in prompts], device=self.passes.device)
        step = whole[:, skipped:]
        new: list[list[int]] = [[] for _ in prompts]
        texts = [""] * len(prompts)
        alive = list(range(len(prompts)))
        for _ in range(max_new_tokens):
            chosen = self.passes.next_all(step, cache, self.uses_own_head).argmax(-1).tolist()
            kept = []
            for place, (member, token) in enumerate(zip(alive, chosen, strict=True)):
                if token in self.ends:
                    continue
                new[member].append(token)
                texts[member] = continuation(self.tokenizer, prompts[member], new[member])
                if stop not in texts[member]:
                    kept.append(place)
            alive = [alive[place] for place in kept]
            if not alive:
                break
            if cache is None:
                step = torch.tensor([[*prompts[m], *new[m]] for m in alive], device=self.passes.device)
                continue
            if len(kept) < len(chosen):
                chosen_rows = torch.tensor(kept, device=self.passes.device)
                for layer in cache.layers:
                    layer.batch_select_indices(chosen_rows.to(layer.keys.device))
            step = torch.tensor([[new[m][-1]] for m in alive], device=self.passes.device)
        return [text.split(stop, 1)[0] for text in texts]
