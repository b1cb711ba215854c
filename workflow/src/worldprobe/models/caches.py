"""Keys and values of prompts that are being continued: in room that was taken once, filled from packed tries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
import transformers

from worldprobe.models.forward import Passes, Prefix
from worldprobe.models.prefix_trie import Row, pack, row_width

#: Cuts packed rows into those of one pass each.
CutRows = Callable[[Sequence[Row]], Iterator[list[Row]]]


class RoomyLayer(transformers.cache_utils.DynamicLayer):
    """The keys and values of one layer in buffers that have room for what is still to come.

    A layer of transformers copies all that it holds at every step; this one writes what is new into its place.

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
        buffers = [one.new_empty((*one.shape[:2], needed + self.room, one.shape[3])) for one in new]
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
    passes: Passes, prompts: Sequence[Sequence[int]], prefix: Prefix | None, room: int, cut: CutRows
) -> tuple[transformers.DynamicCache, torch.Tensor]:
    """Read prompts, whatever some of them begin with in common once.

    Args:
        passes: the model's passes, whose tries were found right.
        prompts: token ids.
        prefix: what all of them begin with, already read.
        room: columns for what is still to come.
        cut: rows -> those of one pass each.

    Returns:
        The cache: a row is the shared beginning, padding, then the rest of its prompt. And the states behind each prompt, shape
        (prompts, hidden).
    """
    begun = prefix.length if prefix else 0
    rests = [prompt[begun:] for prompt in prompts]
    longest = max(map(len, rests))
    ended = [((*rest, 0), 1) for rest in rests]  # a trie does not read its last token
    layers: list[list[torch.Tensor]] = []
    states: list[Any] = [None] * len(prompts)
    for rows in cut(pack(ended, row_width(longest, passes.hidden))):
        hidden, read = passes.read_rows(rows, prefix)
        if not layers:
            for keys, values in read:
                shapes = [(len(prompts), one.shape[1], begun + longest + room, one.shape[3]) for one in (keys, values)]
                layers.append([one.new_zeros(shape) for one, shape in zip((keys, values), shapes, strict=True)])
        for r, row in enumerate(rows):
            for member, path in zip(row.members, row.paths, strict=True):
                states[member] = hidden[r, path[-1]]
                nodes = torch.tensor(path, device=hidden.device) + begun
                for buffers, found in zip(layers, read, strict=True):
                    for buffer, one in zip(buffers, found, strict=True):
                        buffer[member, :, :begun] = one[r, :, :begun]
                        buffer[member, :, begun + longest - len(path) : begun + longest] = one[r][:, nodes.to(one.device)]
    cache = transformers.DynamicCache()
    for keys, values in layers:
        cache.layers.append(RoomyLayer.holding(keys, values, begun + longest))
    return cache, torch.stack(states)
