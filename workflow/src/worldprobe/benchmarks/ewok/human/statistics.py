"""What people's answers come to: accuracy with intervals over people, reliability, and Likert against Choice (Figure 7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from worldprobe.benchmarks.ewok.contracts import PREFERENCES
from worldprobe.benchmarks.ewok.vocabulary import contrast_group
from worldprobe.human.reliability import correlate, draw_people, group_people, split_half

#: In place of a model and its set-up in contracts.Agreements.
PEOPLE, SETUP = "human", "people"
_GROUPINGS = ("domain", "version", "context_type", "context_contrast", "target_contrast")


@dataclass(frozen=True)
class Sums:
    """People's answers about every target of every item, as whole numbers, so that ties and boundaries are exact.

    Attributes:
        total: Likert: sum of the ratings; Choice: how often the context was chosen. Shape (items, 2 targets, 2 contexts).
        count: Likert: how many ratings; Choice: how many choices, the same for both contexts. Same shape.
    """

    total: np.ndarray
    count: np.ndarray

    def difference(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean after context 1 minus mean after context 2, times a positive whole number, and that number (0: unknown)."""
        scale = self.count[:, :, 0] * self.count[:, :, 1]
        return self.total[:, :, 0] * self.count[:, :, 1] - self.total[:, :, 1] * self.count[:, :, 0], scale


class Adder:
    """Sums answers by item, target and context, again and again with other people.

    Args:
        items: contracts.Items.
        answers: contracts.CleanAnswers of one way of asking.
        key: contracts.ListKeys.
        eval_type: likert or choice.
    """

    def __init__(self, items: pd.DataFrame, answers: pd.DataFrame, key: pd.DataFrame, eval_type: str) -> None:
        self.is_choice = eval_type == "choice"
        self.n_items = len(items)
        asked = key[(key["kind"] == "test") & (key["eval_type"] == eval_type)]
        self.names = np.unique(answers["question"].to_numpy(str))
        question = pd.Index(self.names).get_indexer(asked["question"])
        item = pd.Index(items["item_id"]).get_indexer(asked["item_id"])
        is_known = (question >= 0) & (item >= 0)
        self.question = question[is_known]
        self.item = item[is_known]
        self.target = asked["target"].to_numpy(int)[is_known] - 1
        self.context = asked["context"].to_numpy(int)[is_known] - 1
        self.groups = group_people(answers)
        self.person = self.groups.index.get_indexer(pd.Index(answers["participant"]))
        self.asked = np.searchsorted(self.names, answers["question"].to_numpy(str))
        self.answer = answers["answer"].to_numpy(int)

    def add(self, times: np.ndarray | None = None) -> Sums:
        """The sums, each person counted so many times (once)."""
        weight = np.ones(len(self.answer), int) if times is None else times[self.person]
        n = np.bincount(self.asked, weight, len(self.names)).astype(np.int64)
        points = (self.answer == 1) if self.is_choice else self.answer
        total = np.bincount(self.asked, weight * points, len(self.names)).astype(np.int64)
        totals = np.zeros((self.n_items, 2, 2), np.int64)
        counts = np.zeros((self.n_items, 2, 2), np.int64)
        rows = self.question
        if self.is_choice:  # first shown or second shown: the chosen context gets the point, both were on offer
            np.add.at(totals, (self.item, self.target, self.context), total[rows])
            np.add.at(totals, (self.item, self.target, 1 - self.context), (n - total)[rows])
            for context in (0, 1):
                np.add.at(counts, (self.item, self.target, context), n[rows])
        else:
            np.add.at(totals, (self.item, self.target, self.context), total[rows])
            np.add.at(counts, (self.item, self.target, self.context), n[rows])
        return Sums(totals, counts)


def judge_sums(sums: Sums) -> np.ndarray:
    """Accuracy of each target, as ``judge`` finds it of mean ratings: 1, 0.5 (tie), 0; missing. Shape (items, 2)."""
    difference, scale = sums.difference()
    right = np.sign(difference) * np.array([1, -1])
    return np.where(scale > 0, (right + 1) / 2, np.nan)


def prefer(sums: Sums, eval_type: str) -> np.ndarray:
    """Which context people prefer for each target, as a position in PREFERENCES (Figure 7's caption).

    Likert: a preference is a difference of the mean ratings of 1 or more. Choice: a mean choice (1 or 2) that is 0.2 or more
    away from 1.5. Computed in whole numbers: 7 of 10 are a preference, 4 of 7 are not.

    Returns:
        Shape (items, 2).
    """
    difference, scale = sums.difference()
    # Choice: both contexts have n on offer, so the difference of the shares is difference / n^2, and 0.4 or more is meant.
    is_clear = np.abs(difference) >= scale if eval_type == "likert" else 5 * np.abs(difference) >= 2 * scale
    return np.select([scale == 0, ~is_clear, difference > 0], [3, 2, 0], 1)


def confuse(likert: Sums, choice: Sums) -> pd.DataFrame:
    """Counts and shares of every pair of preferences, Likert's and Choice's (contracts.Agreements), over items and targets.

    Targets that were asked in neither way do not count; asked in one alone, they are ``missing`` in the other.
    """
    first, second = prefer(likert, "likert").ravel(), prefer(choice, "choice").ravel()
    is_asked = (first < 3) | (second < 3)
    kinds = len(PREFERENCES)
    counts = np.bincount(first[is_asked] * kinds + second[is_asked], minlength=kinds * kinds)
    pairs = pd.MultiIndex.from_product([PREFERENCES, PREFERENCES], names=["likert", "choice"]).to_frame(index=False)
    return pairs.assign(model=PEOPLE, setup=SETUP, n=counts, share=counts / max(int(is_asked.sum()), 1))


def compare_ways(likert: Sums, choice: Sums) -> tuple[float, int]:
    """Pearson's r over items and targets of the Likert difference and the share that chose context 1; and how many there are.

    The paper reports R = 0.96 (Section 4.4) without saying what it was computed of; this is our definition.
    """
    difference, scale = likert.difference()
    n = choice.count[:, :, 0]
    is_both = (scale > 0) & (n > 0)
    if is_both.sum() < 3:
        return float("nan"), int(is_both.sum())
    return correlate(difference[is_both] / scale[is_both], choice.total[:, :, 0][is_both] / n[is_both]), int(is_both.sum())


def measure(items: pd.DataFrame, answers: pd.DataFrame, key: pd.DataFrame, n_draws: int, seed: int) -> pd.DataFrame:
    """All numbers about people (contracts.HumanStatistics).

    Intervals are over people: those of a list are drawn again with replacement. Ties become rarer or more frequent when people
    are drawn twice, so the drawn means are moved to have the estimate as their mean.

    Args:
        items: contracts.Items.
        answers: contracts.CleanAnswers.
        key: contracts.ListKeys.
        n_draws: bootstrap samples, and splits into halves.
        seed: of both.
    """
    items = items.sort_values("item_id").reset_index(drop=True)
    rows: list[dict[str, object]] = []
    sums: dict[str, Sums] = {}
    for place, way in enumerate(sorted(set(answers["eval_type"]))):
        part = answers[answers["eval_type"] == way]
        adder = Adder(items, part, key, way)
        sums[way] = adder.add()
        rows += [row | {"eval_type": way} for row in _accuracies(items, adder, sums[way], n_draws, [seed, place])]
        rows += [row | {"eval_type": way} for row in _reliabilities(part, n_draws, seed)]
        rows += [row | {"eval_type": way} for row in _labels(part)] if way == "likert" else []
    if len(sums) == 2:
        r, n = compare_ways(sums["likert"], sums["choice"])
        rows.append(_row("likert_choice_r", "overall", "overall", r, n=n) | {"eval_type": "likert"})
    return pd.DataFrame(rows)


def _accuracies(items: pd.DataFrame, adder: Adder, sums: Sums, n_draws: int, seed: list[int]) -> Iterator[dict[str, object]]:
    random = np.random.default_rng([*seed, 2])
    members = list(_groups(items))
    means = _group_means(judge_sums(sums), members)
    drawn = np.stack([_group_means(judge_sums(adder.add(draw_people(adder.groups, random))), members) for _ in range(n_draws)])
    for number, (grouping, group, is_in) in enumerate(members):
        n = int(np.isfinite(judge_sums(sums)[is_in]).sum())
        if not n:
            continue
        low, high = np.nanquantile(drawn[:, number], [0.025, 0.975]) - np.nanmean(drawn[:, number]) + means[number]
        # Where nearly all draws are alike, moving them would put an end beyond the estimate, or beyond 1.
        low, high = max(min(low, means[number]), 0.0), min(max(high, means[number]), 1.0)
        yield _row("accuracy", grouping, group, means[number], low, high, n)


def _groups(items: pd.DataFrame) -> Iterator[tuple[str, str, np.ndarray]]:
    yield "overall", "overall", np.ones(len(items), bool)
    for grouping in _GROUPINGS:
        labels = items[grouping]
        if grouping == "context_contrast":
            labels = labels.astype(object).where(labels.notna(), None).map(contrast_group)
        for group in sorted(set(labels)):
            yield grouping, str(group), (labels == group).to_numpy(bool)


def _group_means(accuracy: np.ndarray, members: list[tuple[str, str, np.ndarray]]) -> np.ndarray:
    is_known = np.isfinite(accuracy)
    total, count = np.where(is_known, accuracy, 0).sum(axis=1), is_known.sum(axis=1)
    found = [(total[is_in].sum(), count[is_in].sum()) for _, _, is_in in members]
    return np.array([top / below if below else np.nan for top, below in found])


def _reliabilities(answers: pd.DataFrame, n_splits: int, seed: int) -> Iterator[dict[str, object]]:
    found = split_half(answers, n_splits, seed)
    if found is not None:
        yield _row("split_half_r", "overall", "overall", found.r, found.low, found.high, found.n_cells)
        yield _row("noise_ceiling_r", "overall", "overall", found.ceiling, n=found.n_cells)
    yield _row("n_people", "overall", "overall", float(answers["participant"].nunique()), n=len(answers))


def _labels(answers: pd.DataFrame) -> Iterator[dict[str, object]]:
    """Correlation of mean ratings with the design's labels: as they are, and binarised as the original did (4 and 5, 1 and 2)."""
    cells = answers.groupby("cell").agg(mean=("value", "mean"), label=("expected", "first"))
    mean, label = cells["mean"].to_numpy(float), cells["label"].to_numpy(float)
    binary = np.select([mean >= 4, mean <= 2], [5.0, 1.0], mean)
    known: dict[str, Callable[[], float]] = {
        "label_r": lambda: correlate(mean, label),
        "label_r_binarised": lambda: correlate(binary, label),
    }
    for quantity, compute in known.items():
        yield _row(quantity, "overall", "overall", compute(), n=len(cells))


def _row(
    quantity: str, grouping: str, group: str, value: float, low: float = np.nan, high: float = np.nan, n: int = 0
) -> dict[str, object]:
    known = {"quantity": quantity, "grouping": grouping, "group": group}
    return known | {"value": float(value), "ci_low": float(low), "ci_high": float(high), "n": n}
