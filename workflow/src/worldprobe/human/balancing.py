"""Which list gets which of a unit's questions: a rotation, and exchanges that even out what shared sentences removed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

#: How much an uneven length, expected answer, version and domain count, in this order.
_WEIGHTS = (4, 16, 1, 2)
#: Passes over all units; in practice fewer than ten change anything.
_MOST_PASSES = 100


@dataclass(frozen=True)
class CellFeatures:
    """What is counted of cells.

    Attributes:
        counts: whole numbers, of shape (cells + 1, features); the last row, which -1 points at, counts nothing.
        weights: how much each feature counts.
    """

    counts: np.ndarray
    weights: np.ndarray


def rotate_units(cycles: Mapping[str, np.ndarray], units: Sequence[str], n_lists: int, random: np.random.Generator) -> np.ndarray:
    """A rotation: each list has one cell of each unit, and consecutive units are at consecutive steps of their cycles.

    Args:
        cycles: the cells of each unit, from ``order_cycles``.
        units: those that are rotated; their order is drawn.
        n_lists: lists, at least as many as any unit has cells.
        random: draws the order and the first step.

    Returns:
        Positions of cells, of shape (units, lists); -1 where a unit with fewer cells has none.
    """
    slots = np.full((len(units), n_lists), -1)
    start = int(random.integers(n_lists))
    for step, number in enumerate(random.permutation(len(units))):
        cycle = cycles[units[number]]
        # A unit with fewer cells than there are lists has its gaps spread over the cycle.
        places = (np.arange(len(cycle)) * n_lists) // len(cycle)
        slots[number, (places - step - start) % n_lists] = cycle
    return slots


def order_cycles(cells: pd.DataFrame) -> dict[str, np.ndarray]:
    """The positions of each unit's cells in ``cells`` (unit, expected, version, target, context), in the order of its cycle."""
    facts = list(zip(cells["expected"], cells["version"], cells["target"], cells["context"], strict=True))
    rows_of = pd.Series(np.arange(len(cells))).groupby(cells["unit"].to_numpy())
    return {str(unit): rows.to_numpy()[order_cycle([facts[row] for row in rows])] for unit, rows in rows_of}


def order_cycle(facts: Sequence[tuple[int, int, int, int]]) -> list[int]:
    """An order of a unit's cells in which expected answers alternate and versions take turns.

    Args:
        facts: expected answer, version, target and context of each cell.

    >>> order_cycle([(5, 0, 1, 1), (5, 0, 2, 2), (1, 0, 1, 2), (1, 0, 2, 1)])
    [0, 2, 1, 3]
    """
    rest = set(range(len(facts)))
    n_version: Counter[int] = Counter()
    n_both: Counter[tuple[int, int]] = Counter()
    n_answer: Counter[int] = Counter()
    order: list[int] = []
    # The most frequent answer first, so that none is left over at the end.
    left = Counter(fact[0] for fact in facts)
    while rest:
        answer = min((a for a in left if left[a]), key=lambda a: (n_answer[a] / (n_answer[a] + left[a]), -left[a], -a))
        alike = [cell for cell in rest if facts[cell][0] == answer]
        cell = min(alike, key=lambda c: (n_version[facts[c][1]], n_both[facts[c][:2]], facts[c][1:]))
        rest.remove(cell)
        order.append(cell)
        n_version[facts[cell][1]] += 1
        n_both[facts[cell][:2]] += 1
        n_answer[answer] += 1
        left[answer] -= 1
    return order


def balance_slots(slots: np.ndarray, features: CellFeatures) -> np.ndarray:
    """Exchange a unit's cells between two lists as long as this makes the lists more even.

    An exchange within a unit keeps every rule: each list still has one cell of the unit at most, and each cell its one list.
    The lists' lengths, expected answers, versions and domains are counted, and the sum of the squared counts falls with every
    exchange, so it ends.

    Args:
        slots: positions of cells, of shape (units, lists); -1: none.
        features: what is counted of each cell.

    Returns:
        The slots, of the same shape.
    """
    if len(slots) == 1:
        return slots  # lists of one question each: an exchange only renames them
    slots = slots.copy()
    totals = features.counts[slots].sum(axis=0)
    for _ in range(_MOST_PASSES):
        if not sum(_balance_unit(slots[unit], features.counts, totals, features.weights) for unit in range(len(slots))):
            break
    return slots


def _balance_unit(row: np.ndarray, features: np.ndarray, totals: np.ndarray, weights: np.ndarray) -> int:
    """The best exchanges of one unit, in place; ``totals`` are the lists' counts, of shape (lists, features)."""
    n_changes = 0
    while True:
        own = features[row]
        product = (totals * weights) @ own.T
        here = np.diag(product)
        pairs = (own * weights) @ own.T
        squares = np.diag(pairs)
        # Half the change of the sum of squares if lists a and b exchange: (T_a - T_b) (x_b - x_a) + |x_b - x_a|^2.
        change = product + product.T - here[:, None] - here[None, :] + squares[:, None] + squares[None, :] - 2 * pairs
        best = int(change.argmin())
        a, b = divmod(best, len(row))
        if change[a, b] >= 0:
            return n_changes
        difference = own[b] - own[a]
        totals[a] += difference
        totals[b] -= difference
        row[a], row[b] = row[b], row[a]
        n_changes += 1


def count_features(cells: pd.DataFrame) -> CellFeatures:
    """The features of cells with expected, version and domain."""
    high = np.where(cells["expected"] == cells["expected"].max(), 1, -1)
    versions = pd.get_dummies(cells["version"]).to_numpy(int)
    domains = pd.get_dummies(cells["domain"]).to_numpy(int)
    features = np.column_stack([np.ones(len(cells), int), high, versions, domains])
    length, answer, version, domain = _WEIGHTS
    weights = np.array([length, answer, *[version] * versions.shape[1], *[domain] * domains.shape[1]])
    return CellFeatures(np.vstack([features, np.zeros((1, features.shape[1]), int)]), weights)
