"""Sequences packed so that every shared prefix is computed once: token tries in rows, with an
ancestor mask.

A row contains one or more tries in depth-first order. Its nodes are tokens; a node attends to its
ancestors and itself, and its position is its depth. The last token of a sequence is never fed to
the model: nothing follows it. Sorting the sequences puts those with a common beginning side by
side, so one comparison with the neighbour before finds all that is shared.

This module is plain Python and NumPy, and knows nothing of models.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

#: Nodes per packed row: room for several of the longest sequences, so that little is left empty;
#: the mask's square stays cheap.
ROW_WIDTH = (128, 512)
SEQUENCES_PER_ROW = 4
#: Nodes of a row per value of a state: at twice its width, attention takes as long as all else in a
#: layer, as measured.
WIDTHS_PER_ROW = 2
#: Sequences that share at most this many tokens may be packed into different rows.
LITTLE_SHARED = 2


@dataclass
class PackedRow:
    """One packed row.

    Attributes:
        members: indexes of the sequences in it, in packing order.
        tokens: token id of each node.
        depths: position of each node in its sequence.
        parents: node before it, -1 at a root.
        paths: for each member, the nodes whose next token is scored.
    """

    members: list[int] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    paths: list[list[int]] = field(default_factory=list)
    _last_ids: Sequence[int] = ()
    _last_path: list[int] = field(default_factory=list)

    def add(self, index: int, ids: Sequence[int], start: int) -> None:
        """Put a sequence in; sequences must come in sorted order."""
        kept = min(shared(self._last_ids, ids), len(ids) - 1, len(self._last_path))
        path = self._last_path[:kept]
        for depth in range(kept, len(ids) - 1):
            self.parents.append(path[-1] if path else -1)
            path.append(len(self.tokens))
            self.tokens.append(ids[depth])
            self.depths.append(depth)
        self.members.append(index)
        self.paths.append(path[start - 1 :])
        self._last_ids, self._last_path = ids, path

    def ancestors(self, width: int) -> np.ndarray:
        """Boolean mask, width x width: may the node (row) attend to the node (column)? Padding
        attends to itself.

        In depth-first order a node's descendants follow it without a gap: each node needs to know
        the last one only.
        """
        ends = list(range(width))
        for node in range(len(self.parents) - 1, -1, -1):
            parent = self.parents[node]
            if parent >= 0 and ends[node] > ends[parent]:
                ends[parent] = ends[node]
        nodes = np.arange(width)
        mask: np.ndarray = (nodes[:, None] >= nodes) & (nodes[:, None] <= np.array(ends))
        return mask


def shared(one: Sequence[int], other: Sequence[int]) -> int:
    """Length of the common beginning.

    >>> shared((1, 2, 3), (1, 2, 4, 5))
    2
    """
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count


def pack_sequences(sequences: Sequence[tuple[Sequence[int], int]], width: int) -> list[PackedRow]:
    """Pack (ids, start) sequences into rows of at most ``width`` nodes; a longer sequence gets a
    row of its own.

    Args:
        sequences: token ids, at least one, and the first scored position, at least 1.
        width: nodes per row.

    Returns:
        Rows, longest first; the same for the same sequences in any order, up to the members'
        numbers.
    """
    order = sorted(range(len(sequences)), key=lambda i: tuple(sequences[i][0]))
    groups: list[list[int]] = []
    sizes: list[int] = []
    before: Sequence[int] = ()
    for index in order:
        ids = sequences[index][0]
        common = min(shared(before, ids), len(ids) - 1, max(len(before) - 1, 0))
        new = len(ids) - 1 - common
        if groups and common > LITTLE_SHARED and sizes[-1] + new <= width:
            groups[-1].append(index)
            sizes[-1] += new
        else:
            groups.append([index])
            sizes.append(len(ids) - 1)
        before = ids
    bins = _fit(sizes, width)
    rows = []
    for chosen in bins:
        row = PackedRow()
        for index in sorted(
            (i for g in chosen for i in groups[g]), key=lambda i: tuple(sequences[i][0])
        ):
            row.add(index, *sequences[index])
        rows.append(row)
    return sorted(rows, key=lambda row: -len(row.tokens))


def _fit(sizes: Sequence[int], width: int) -> list[list[int]]:
    """First fit, largest first: groups -> bins of at most ``width``."""
    bins: list[list[int]] = []
    room: list[int] = []
    first_open = 0
    for group in sorted(range(len(sizes)), key=lambda g: -sizes[g]):
        for i in range(first_open, len(bins)):
            if room[i] >= sizes[group]:
                bins[i].append(group)
                room[i] -= sizes[group]
                break
        else:
            bins.append([group])
            room.append(width - sizes[group])
        while first_open < len(bins) and room[first_open] <= 0:
            first_open += 1
    return bins


def row_width(longest: int, hidden: int) -> int:
    """Nodes per row for sequences of up to ``longest`` tokens in a model whose states have
    ``hidden`` values.

    The narrower a model, the larger the share of attention, which grows with the row; wide rows pay
    where the rest is large.

    >>> [row_width(longest, 768) for longest in (20, 60, 300, 900)]
    [128, 240, 512, 900]
    >>> [row_width(longest, 64) for longest in (20, 60, 300)]
    [128, 128, 300]
    """
    low, high = ROW_WIDTH
    return max(low, min(high, SEQUENCES_PER_ROW * longest, WIDTHS_PER_ROW * hidden), longest)
