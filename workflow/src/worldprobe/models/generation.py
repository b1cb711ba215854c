"""Continuations of many prompts at once, from keys and values that are kept, with one reading of
what all prompts begin with.

Prompts of different lengths are padded on the left where the model was seen to give the plain
pass's numbers so; otherwise only prompts of one length share a batch, and no mask is needed,
whatever the architecture's positions are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np
import torch
import transformers

from worldprobe.models.answers import Transcript
from worldprobe.models.engine import Completion, Decoding, Finish
from worldprobe.models.forward import ForwardPasses, Prefix
from worldprobe.models.prefix_trie import PackedRow, pack_sequences, row_width, shared


def shared_beginning(prompts: Sequence[Sequence[int]]) -> int:
    """Length of the beginning that all prompts share, leaving each at least one token."""
    common = shared(min(prompts, key=tuple), max(prompts, key=tuple))
    return min(common, min(len(p) for p in prompts) - 1)


class Generator:
    """Continues prompts.

    Args:
        passes: the model's passes.
        tokenizer: of transformers.
        ends: token ids that end a text.
        uses_own_head: take the model's own logits instead of body and projection.
        can_cache: the model gives the same numbers with cached keys and values.
        cut: prompts are read as tries, in passes cut by this; None: all in one pass.
    """

    def __init__(
        self,
        passes: ForwardPasses,
        tokenizer: Any,
        ends: Collection[int],
        uses_own_head: bool,
        can_cache: bool,
        cut: CutRows | None = None,
    ) -> None:
        self.passes, self.tokenizer, self.ends = passes, tokenizer, frozenset(ends)
        self.uses_own_head, self.can_cache, self.cut = uses_own_head, can_cache, cut

    @torch.inference_mode()
    def generate(
        self, prompts: Sequence[Sequence[int]], prefix: Prefix | None, decoding: Decoding
    ) -> Iterator[tuple[int, Completion]]:
        """Continuations of prompts, each with its number, as soon as it is finished; without a
        cache all must be of one length.

        Args:
            prompts: token ids.
            prefix: what all of them begin with, already read.
            decoding: how the answers are written.
        """
        batch = Batch(
            prompts,
            prefix,
            self.passes,
            self.can_cache,
            self.uses_own_head,
            self.cut,
            decoding.most_tokens,
        )
        texts = [Transcript(self.tokenizer, prompt, decoding.stops) for prompt in prompts]
        draws = (
            [_draws(decoding.seed, prompt) for prompt in prompts]
            if decoding.temperature > 0
            else []
        )
        alive = list(range(len(prompts)))
        for step in range(1, decoding.most_tokens + 1):
            logits = batch.logits()
            is_sound = torch.isfinite(logits.amax(-1)).tolist()
            chosen = _choose(
                logits, decoding.temperature, [draws[m] for m in alive] if draws else []
            )
            kept = []
            for row, (member, token) in enumerate(zip(alive, chosen, strict=True)):
                text = texts[member]
                finish: Finish | None = None
                if not is_sound[row]:
                    finish = "not_finite"
                elif token in self.ends:
                    finish = "end"
                elif text.add(token):
                    finish = "stop"
                elif step == decoding.most_tokens:
                    finish = "length"
                if finish is None:
                    kept.append(row)
                else:
                    shown = "" if finish == "not_finite" else text.text()
                    left = len(alive) - row - 1 + len(kept)
                    dropped = text.n_dropped()
                    yield (
                        member,
                        Completion(
                            shown, finish, len(text.tokens), n_dropped=dropped, n_waiting=left
                        ),
                    )
            alive = [alive[row] for row in kept]
            if not alive:
                return
            batch.go_on(kept, [texts[m].tokens for m in alive])


class Batch:
    """The model's input at each step: the tokens, the cache, and the padding.

    A row is the shared beginning, padding, then the rest of its prompt; it grows on the right.

    Args:
        prompts: token ids.
        prefix: what all of them begin with, already read.
        passes: the model's passes.
        can_cache: keys and values are kept.
        own_head: take the model's own logits.
        cut: prompts are read as tries, in passes cut by this; None: all in one pass.
        room: tokens that will be written at most.
    """

    def __init__(
        self,
        prompts: Sequence[Sequence[int]],
        prefix: Prefix | None,
        passes: ForwardPasses,
        can_cache: bool,
        own_head: bool,
        cut: CutRows | None = None,
        room: int = 1,
    ) -> None:
        self.passes, self.own_head, self.device = passes, own_head, passes.device
        self.prompts = list(prompts)
        begun = prefix.length if prefix else 0
        self.cache: Any = None
        self._states: torch.Tensor | None = None
        if can_cache and cut is not None:
            self.cache, self._states = read_prompts(passes, prompts, prefix, room, cut)
        elif can_cache:
            self.cache = prefix.cache(len(prompts)) if prefix else transformers.DynamicCache()
        longest = max(len(prompt) for prompt in prompts)
        gaps = np.array([longest - len(prompt) for prompt in prompts])
        rows = np.zeros((len(prompts), longest - begun), dtype=np.int64)
        for row, gap, prompt in zip(rows, gaps, prompts, strict=True):
            row[gap:] = prompt[begun:]
        self.step = torch.from_numpy(rows).to(self.device)
        self.mask: torch.Tensor | None = None
        self.positions: torch.Tensor | None = None
        if gaps.any():
            columns = np.arange(longest)
            is_gap = (columns >= begun) & (columns < begun + gaps[:, None])
            self.mask = torch.from_numpy((~is_gap).astype(np.int64)).to(self.device)
            self.positions = torch.from_numpy(np.maximum(columns[begun:] - gaps[:, None], 0)).to(
                self.device
            )

    def logits(self) -> torch.Tensor:
        """Logits of all tokens behind each row, float32, shape (rows, vocabulary)."""
        if self._states is not None:
            states, self._states = self._states, None
            return self.passes.logits(states)
        return self.passes.next_all(self.step, self.cache, self.own_head, self.padding())

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
        self.prompts = [self.prompts[row] for row in kept]
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
            ends = [
                [len(prompt) + len(new) - 1]
                for prompt, new in zip(self.prompts, written, strict=True)
            ]
            self.positions = torch.tensor(ends, device=self.device)


def one_by_one(rows: Sequence[PackedRow]) -> Iterator[list[PackedRow]]:
    """Every packed row in a pass of its own."""
    return ([row] for row in rows)


def _choose(
    logits: torch.Tensor, temperature: float, draws: Sequence[np.random.Generator]
) -> list[int]:
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


#: Cuts packed rows into those of one pass each.
CutRows = Callable[[Sequence[PackedRow]], Iterator[list[PackedRow]]]


class RoomyLayer(transformers.cache_utils.DynamicLayer):
    """The keys and values of one layer in buffers that have room for what is still to come.

    A layer of transformers copies all that it holds at every step; this one writes what is new into
    its place.

    Args:
        room: columns to take in addition, whenever more are needed.
    """

    def __init__(self, room: int = 64) -> None:
        super().__init__()
        self.room = room
        self._buffers: list[torch.Tensor] = []

    @classmethod
    def holding(cls, keys: torch.Tensor, values: torch.Tensor, length: int) -> RoomyLayer:
        """A layer with these buffers, whose first ``length`` columns are filled."""
        layer = cls()
        layer.lazy_initialization(keys, values)
        layer._buffers = [keys, values]
        layer._show(length)
        return layer

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Take new columns; returns all of them."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        held = self.get_seq_length()
        needed = held + key_states.shape[-2]
        if not self._buffers or needed > self._buffers[0].shape[-2]:
            self._grow(held, needed, key_states, value_states)
        for buffer, new in zip(self._buffers, (key_states, value_states), strict=True):
            buffer[:, :, held:needed] = new
        self._show(needed)
        return self.keys, self.values

    def _grow(self, held: int, needed: int, *new: torch.Tensor) -> None:
        buffers = [
            tensor.new_empty((*tensor.shape[:2], needed + self.room, tensor.shape[3]))
            for tensor in new
        ]
        for buffer, old in zip(buffers, self._buffers, strict=False):
            buffer[:, :, :held] = old[:, :, :held]
        self._buffers = buffers

    def _show(self, length: int) -> None:
        self.keys, self.values = (buffer[:, :, :length] for buffer in self._buffers)

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        """Keep some rows."""
        length = self.get_seq_length()
        self._buffers = [buffer[indices] for buffer in self._buffers]
        self._show(length)


def read_prompts(
    passes: ForwardPasses,
    prompts: Sequence[Sequence[int]],
    prefix: Prefix | None,
    room: int,
    cut: CutRows,
) -> tuple[transformers.DynamicCache, torch.Tensor]:
    """Read prompts, whatever some of them begin with in common once.

    Args:
        passes: the model's passes, whose tries were found right.
        prompts: token ids.
        prefix: what all of them begin with, already read.
        room: columns for what is still to come.
        cut: rows -> those of one pass each.

    Returns:
        The cache: a row is the shared beginning, padding, then the rest of its prompt. And the
        states behind each prompt, shape (prompts, hidden).
    """
    begun = prefix.length if prefix else 0
    rests = [prompt[begun:] for prompt in prompts]
    longest = max(map(len, rests))
    ended = [((*rest, 0), 1) for rest in rests]  # a trie does not read its last token
    layers: list[list[torch.Tensor]] = []
    states: list[Any] = [None] * len(prompts)
    for rows in cut(pack_sequences(ended, row_width(longest, passes.hidden))):
        hidden, read = passes.read_rows(rows, prefix)
        if not layers:
            for keys, values in read:
                shapes = [
                    (len(prompts), tensor.shape[1], begun + longest + room, tensor.shape[3])
                    for tensor in (keys, values)
                ]
                layers.append(
                    [
                        tensor.new_zeros(shape)
                        for tensor, shape in zip((keys, values), shapes, strict=True)
                    ]
                )
        for r, row in enumerate(rows):
            for member, path in zip(row.members, row.paths, strict=True):
                states[member] = hidden[r, path[-1]]
                nodes = torch.tensor(path, device=hidden.device) + begun
                for buffers, tensors in zip(layers, read, strict=True):
                    for buffer, tensor in zip(buffers, tensors, strict=True):
                        buffer[member, :, :begun] = tensor[r, :, :begun]
                        buffer[member, :, begun + longest - len(path) : begun + longest] = tensor[
                            r
                        ][:, nodes.to(tensor.device)]
    cache = transformers.DynamicCache()
    for keys, values in layers:
        cache.layers.append(RoomyLayer.holding(keys, values, begun + longest))
    return cache, torch.stack(states)
