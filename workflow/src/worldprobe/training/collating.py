"""Batches: lessons in rows of one length, several short ones in a row where that saves padding.

Rows are as long as the batch's longest lesson, so packing never computes more than padding would. Positions begin anew with every
lesson, from which transformers finds where lessons end and lets none see another; so the loss is the same, packed or not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

#: Label of a token that does not count.
IGNORED = -100


@dataclass(frozen=True)
class Collator:
    """Puts lessons into the rows of a batch.

    Attributes:
        padding: token id of places without a lesson.
        is_packed: several lessons may share a row.
    """

    padding: int
    is_packed: bool = True

    def __call__(self, lessons: Sequence[Mapping[str, np.ndarray]]) -> dict[str, torch.Tensor]:
        """A batch.

        Args:
            lessons: each with ``ids`` and ``labels`` of one length.

        Returns:
            ``input_ids``, ``labels`` and ``position_ids``, each of shape (rows, longest), int64.
        """
        longest = max(len(lesson["ids"]) for lesson in lessons)
        rows = pack([len(lesson["ids"]) for lesson in lessons], longest) if self.is_packed else [[n] for n in range(len(lessons))]
        tokens = np.full((len(rows), longest), self.padding, np.int64)
        labels = np.full_like(tokens, IGNORED)
        # Padding behind a single lesson continues its positions, which leaves transformers its fastest way; behind several it
        # has positions of its own, so that each place is a lesson of one token.
        positions = np.tile(np.arange(longest), (len(rows), 1))
        for row, members in enumerate(rows):
            at = 0
            for number in members:
                ids = lessons[number]["ids"]
                here = slice(at, at + len(ids))
                tokens[row, here], labels[row, here] = ids, lessons[number]["labels"]
                labels[row, at] = IGNORED  # nothing predicts the first token of a lesson
                positions[row, here] = np.arange(len(ids))
                at += len(ids)
            if len(members) > 1:
                positions[row, at:] = 0
        arrays = {"input_ids": tokens, "labels": labels, "position_ids": positions}
        return {name: torch.from_numpy(array) for name, array in arrays.items()}


def pack(lengths: Sequence[int], room: int) -> list[list[int]]:
    """Which lessons share a row: each, longest first, goes into the first row with room for it.

    >>> pack([2, 5, 3, 4], room=5)
    [[1], [3], [2, 0]]
    """
    rows: list[list[int]] = []
    left: list[int] = []
    for number in sorted(range(len(lengths)), key=lambda number: (-lengths[number], number)):
        row = next((row for row, free in enumerate(left) if free >= lengths[number]), None)
        if row is None:
            rows.append([])
            left.append(room)
            row = len(rows) - 1
        rows[row].append(number)
        left[row] -= lengths[number]
    return rows
