"""The statistics of the official layout: every mean that the paper's tables and figures need, at full precision."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from worldprobe.benchmarks.worldsense.analysis.answers import Series
from worldprobe.benchmarks.worldsense.analysis.questions import ABSENT, Questions
from worldprobe.benchmarks.worldsense.analysis.statistics import GOLDS, Z, average, find_cells, score_tuples, sum_in_cells
from worldprobe.benchmarks.worldsense.skins.skins import TRAININGS
from worldprobe.benchmarks.worldsense.skins.vocabulary import DOMAINS, PROBLEMS

ALL = "all"
#: Our column of the tuples -> the column of the statistics.
OFFICIAL = {
    "problem": "problemname",
    "size": "problemsize",
    "complexity": "complexity",
    "query": "query",
    "domain": "domain",
    "intraining": "intraining",
}
GROUPINGS: tuple[tuple[str, ...], ...] = (
    (),
    ("problem",),
    ("problem", "size"),
    ("problem", "size", "complexity", "query"),
    ("problem", "domain"),
    ("domain",),
    ("intraining",),
    ("problem", "intraining"),
)
COLUMNS = ("measure", "gold", "prompting", "model", *OFFICIAL.values(), "mean", "sem", "conf95", "count")
_ORDER = {"problem": PROBLEMS, "domain": DOMAINS, "intraining": TRAININGS}


def compute_statistics(questions: Questions, series: Sequence[Series]) -> pd.DataFrame:
    """Accuracy and bias by every grouping, with the released gold answers and with the solver's.

    Args:
        questions: of the set.
        series: the answers, sorted.

    Returns:
        ``COLUMNS``; a column that was averaged over is "all". Groups without a whole tuple have no row.
    """
    cells = find_cells(questions.tuples, list(OFFICIAL))
    labels, scores = [], []
    for gold in GOLDS:
        for one in series:
            scored = score_tuples(questions, one.answers, gold)
            for measure in ("accuracy", "bias"):
                labels.append((measure, gold, one.prompting, one.model))
                scores.append(scored[measure])
    order = sorted(range(len(labels)), key=lambda n: (labels[n][0], GOLDS.index(labels[n][1]), labels[n][2:]))
    moments = sum_in_cells(cells, np.array([scores[n] for n in order]))
    named = pd.DataFrame([labels[n] for n in order], columns=list(COLUMNS[:4]))
    blocks = []
    for by in GROUPINGS:
        means = average(cells, moments, by)
        groups = pd.DataFrame(
            {
                official: _spell(cells.values[ours], means.groups[ours]) if ours in by else ALL
                for ours, official in OFFICIAL.items()
            },
            index=means.groups.index,
        )
        ranks = [_places(cells.values[column], column, means.groups[column]) for column in reversed(by)]
        place = np.lexsort(ranks) if ranks else np.arange(len(groups))
        n_series, n_groups = len(named), len(groups)
        block = named.iloc[np.repeat(np.arange(n_series), n_groups)].reset_index(drop=True)
        here = groups.iloc[np.tile(place, n_series)].reset_index(drop=True)
        picked = {name: values[:, place].ravel() for name, values in _numbers(means.mean, means.sem, means.count)}
        blocks.append(pd.concat([block, here, pd.DataFrame(picked)], axis=1))
    table = pd.concat(blocks, ignore_index=True)
    table = table[table["count"] > 0]
    first = {key: number for number, key in enumerate(dict.fromkeys(map(tuple, named.to_numpy())))}
    which = np.array([first[key] for key in map(tuple, table[list(COLUMNS[:4])].to_numpy())])
    table = table.iloc[np.argsort(which, kind="stable")].reset_index(drop=True)
    return table.astype({"count": int})[list(COLUMNS)]


def count_answers(questions: Questions, series: Sequence[Series]) -> pd.DataFrame:
    """What was answered, left out and invalid, one row per prompting and model."""
    n_trials = questions.tuples["n_trials"].to_numpy()
    rows = []
    for one in series:
        asked = (one.answers != ABSENT).any(axis=0)
        per_tuple = np.bincount(questions.tuple_of, asked, len(n_trials))
        reasons = "; ".join(f"{reason} {number}" for reason, number in sorted(one.invalid.items()))
        rows.append(
            {
                "prompting": one.prompting,
                "model": one.model,
                "trials": int(asked.sum()),
                "tuples": int((per_tuple == n_trials).sum()),
                "incomplete_tuples": int(((per_tuple > 0) & (per_tuple < n_trials)).sum()),
                "invalid": sum(one.invalid.values()),
                "reasons": reasons,
                "not_in_set": one.n_foreign_keys,
            }
        )
    return pd.DataFrame(rows)


def _numbers(mean: np.ndarray, sem: np.ndarray, count: np.ndarray) -> list[tuple[str, np.ndarray]]:
    return [("mean", mean), ("sem", sem), ("conf95", Z * sem), ("count", count)]


def _spell(values: list[object], codes: pd.Series) -> list[str]:
    return [str(values[code]) for code in codes]


def _places(values: list[object], column: str, codes: pd.Series) -> np.ndarray:
    """Where each group belongs in the order of the paper; sizes by number, anything else by name."""
    known = _ORDER.get(column, ())
    if known:
        return np.array([known.index(str(values[code])) for code in codes])
    ranked = sorted(range(len(values)), key=lambda code: values[code])  # type: ignore[arg-type, return-value]
    rank = np.empty(len(values), int)
    rank[ranked] = np.arange(len(values))
    return rank[codes.to_numpy()]
