"""Continuations of many prompts at once, from keys and values that are kept, with one reading of what all prompts begin with.

Prompts of different lengths are padded on the left where the model was seen to give the plain pass's numbers so; otherwise only
prompts of one length share a batch, and no mask is needed, whatever the architecture's positions are.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import torch

from worldprobe.models.answers import Transcript
from worldprobe.models.engine import Decoding, Finish, Written
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
    """Continues prompts.

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
    def write(self, prompts: Sequence[Sequence[int]], prefix: Prefix | None, decoding: Decoding) -> list[Written]:
        """Continuations of prompts; without a cache all must be of one length.

        Args:
            prompts: token ids.
            prefix: what all of them begin with, already read.
            decoding: how the answers are written.
        """
        batch = Batch(prompts, prefix, self.passes.device, self.can_cache)
        texts = [Transcript(self.tokenizer, prompt, decoding.stops) for prompt in prompts]
        finish: list[Finish] = ["length"] * len(prompts)
        draws = [_draws(decoding.seed, prompt) for prompt in prompts] if decoding.temperature > 0 else []
        alive = list(range(len(prompts)))
        for _ in range(decoding.most_tokens):
            logits = self.passes.next_all(batch.step, batch.cache, self.uses_own_head, batch.padding())
            is_sound = torch.isfinite(logits.amax(-1)).tolist()
            chosen = _choose(logits, decoding.temperature, [draws[m] for m in alive] if draws else [])
            kept = []
            for place, (member, token) in enumerate(zip(alive, chosen, strict=True)):
                if not is_sound[place]:
                    finish[member] = "not_finite"
                elif token in self.ends:
                    finish[member] = "end"
                elif texts[member].add(token):
                    finish[member] = "stop"
                else:
                    kept.append(place)
            alive = [alive[place] for place in kept]
            if not alive:
                break
            batch.go_on(kept, [texts[m].tokens for m in alive])
        return [
            Written("" if why == "not_finite" else text.text(), why, len(text.tokens))
            for text, why in zip(texts, finish, strict=True)
        ]


class Batch:
    """What the model reads at each step: the tokens, the cache, and the padding.

    A row is the shared beginning, padding, then the rest of its prompt; it grows on the right.
    """

    def __init__(self, prompts: Sequence[Sequence[int]], prefix: Prefix | None, device: torch.device, can_cache: bool) -> None:
        from transformers import DynamicCache

        self.device = device
        self.prompts = list(prompts)
        begun = prefix.length if prefix else 0
        self.cache: Any = (prefix.cache(len(prompts)) if prefix else DynamicCache()) if can_cache else None
        longest = max(len(prompt) for prompt in prompts)
        gaps = np.array([longest - len(prompt) for prompt in prompts])
        rows = np.zeros((len(prompts), longest - begun), dtype=np.int64)
        for row, gap, prompt in zip(rows, gaps, prompts, strict=True):
            row[gap:] = prompt[begun:]
        self.step = torch.from_numpy(rows).to(device)
        self.mask: torch.Tensor | None = None
        self.positions: torch.Tensor | None = None
        if gaps.any():
            columns = np.arange(longest)
            is_gap = (columns >= begun) & (columns < begun + gaps[:, None])
            self.mask = torch.from_numpy((~is_gap).astype(np.int64)).to(device)
            self.positions = torch.from_numpy(np.maximum(columns[begun:] - gaps[:, None], 0)).to(device)

    def padding(self) -> tuple[torch.Tensor, torch.Tensor] | None:
        """Mask and positions for the next pass, where rows are padded."""
        return None if self.mask is None or self.positions is None else (self.mask, self.positions)

    def go_on(self, kept: Sequence[int], written: Sequence[Sequence[int]]) -> None:
        """Keep some rows, each one token longer.

        Args:
            kept: places of the rows that go on.
            written: the new tokens of each of them.
        """
        was = len(self.prompts)
        self.prompts = [self.prompts[place] for place in kept]
        if self.cache is None:
            whole = [[*prompt, *new] for prompt, new in zip(self.prompts, written, strict=True)]
            self.step = torch.tensor(whole, device=self.device)
            return
        if len(kept) < was:
            rows = torch.tensor(kept, device=self.device)
            for layer in self.cache.layers:
                layer.batch_select_indices(rows.to(layer.keys.device))
            if self.mask is not None:
                self.mask = self.mask[rows]
        self.step = torch.tensor([[new[-1]] for new in written], device=self.device)
        if self.mask is not None:
            self.mask = torch.cat([self.mask, self.mask.new_ones(len(kept), 1)], dim=1)
            ends = [[len(prompt) + len(new) - 1] for prompt, new in zip(self.prompts, written, strict=True)]
            self.positions = torch.tensor(ends, device=self.device)


def padding_difference(passes: Passes, ids: Sequence[int], other: Sequence[int], own_head: bool) -> float:
    """By how much rows of unequal length differ from rows alone: next-token logits, two steps, with and without a prefix.

    Args:
        passes: the model's passes, whose cache was found right.
        ids: a probe.
        other: another one.
        own_head: take the model's own logits.

    Returns:
        The largest difference in nats; infinite where something is not finite.
    """
    third = max(len(ids) // 3, 1)
    rows = [list(ids), [*ids[:third], *other[third : 2 * third]]]
    largest = 0.0
    with torch.inference_mode():
        for prefix in (None, passes.prefix(ids[:third])):
            found = _two_steps(passes, rows, prefix, own_head)
            alone = [_two_steps(passes, [row], prefix, own_head) for row in rows]
            expected = [torch.cat(step) for step in zip(*alone, strict=True)]
            largest = max([largest, *(float((a - b).abs().max()) for a, b in zip(found, expected, strict=True))])
    return largest if math.isfinite(largest) else math.inf


def _two_steps(passes: Passes, rows: Sequence[Sequence[int]], prefix: Prefix | None, own_head: bool) -> list[torch.Tensor]:
    """Logits behind each row, and behind each row and its own first token again, shape (rows, vocabulary) each."""
    batch = Batch(rows, prefix, passes.device, can_cache=True)
    first = passes.next_all(batch.step, batch.cache, own_head, batch.padding())
    batch.go_on(range(len(rows)), [[row[0]] for row in rows])
    return [first, passes.next_all(batch.step, batch.cache, own_head, batch.padding())]


def _choose(logits: torch.Tensor, temperature: float, draws: Sequence[np.random.Generator]) -> list[int]:
    """The likeliest token of each row, or one drawn with the row's own generator."""
    if not draws:
        return logits.argmax(-1).tolist()
    shares = torch.softmax(logits.double() / temperature, dim=-1).cumsum(-1).cpu().numpy()
    return [
        int(min(np.searchsorted(row, draw.random() * row[-1], side="right"), len(row) - 1))
        for row, draw in zip(shares, draws, strict=True)
    ]


def _draws(seed: int, prompt: Sequence[int]) -> np.random.Generator:
    """Random numbers of one prompt: the same whatever is asked together with it."""
    digest = hashlib.sha256(np.asarray(prompt, dtype=np.int64).tobytes()).digest()
    return np.random.default_rng([seed, *np.frombuffer(digest, dtype=np.uint32).tolist()])
