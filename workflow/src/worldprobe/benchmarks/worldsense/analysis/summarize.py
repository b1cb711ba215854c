"""Everything that is averaged over the tuples of a set: the paper's groupings, and what the paper lacks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from worldprobe.benchmarks.worldsense.analysis.answers import Series
from worldprobe.benchmarks.worldsense.analysis.consistency import measure_consistency
from worldprobe.benchmarks.worldsense.analysis.questions import Questions
from worldprobe.benchmarks.worldsense.analysis.scoring import GOLDS, score_tuples
from worldprobe.benchmarks.worldsense.analysis.statistics import (
    Z,
    average,
    draw_means,
    find_cells,
    histogram,
    sum_in_cells,
)
from worldprobe.benchmarks.worldsense.contracts.statistics import GROUPINGS
from worldprobe.stats.bootstrap import percentile_interval
from worldprobe.stats.permutation import compare_paired, correct_for_number

#: Columns of tuples -> the groupings by them are found from cells of their own, as not all combinations matter.
FAMILIES = (
    ("problem", "size", "complexity", "query", "domain", "intraining", "condition", "ternary"),
    ("problem", "size", "skin"),
    ("problem", "size", "depth"),
    ("problem", "size", "worlds"),
    ("problem", "size", "places"),
)
#: Groupings whose many small groups have no bootstrap intervals.
WITHOUT_DRAWS = {"skin", "problem_skin", "problem_size_places"}
JOINT = "|"


def summarize(name: str, questions: Questions, series: Sequence[Series], seed: int = 0, n_draws: int = 1000) -> pd.DataFrame:
    """Rows of ``contracts.Summaries`` of one set.

    Args:
        name: of the set.
        questions: its trials.
        series: the answers to them.
        seed: of the bootstrap.
        n_draws: bootstrap samples of tuples; 0: no intervals.
    """
    labels, scores = [], []
    for one in series:
        for gold in GOLDS:
            scored = score_tuples(questions, one.answers, gold)
            measures = ("accuracy", "bias", "strict") if gold == "corrected" else ("accuracy", "bias", "strict", "invalid")
            labels += [(name, one.prompting, one.model, measure, gold) for measure in measures]
            scores += [scored[measure] for measure in measures]
    values = np.array(scores)
    blocks = [
        _block(questions.tuples, family, values, labels, seed, n_draws)
        for family in FAMILIES
        if set(family) <= set(questions.tuples.columns)
    ]
    blocks += [measure_consistency(name, questions, one) for one in series]
    table = pd.concat(blocks, ignore_index=True)
    return table.sort_values([*_KEY, "grouping", "group"], kind="stable").reset_index(drop=True)


_KEY = ["set", "prompting", "model", "measure", "gold"]


def _block(
    tuples: pd.DataFrame,
    family: Sequence[str],
    values: np.ndarray,
    labels: Sequence[tuple[str, ...]],
    seed: int,
    n_draws: int,
) -> pd.DataFrame:
    """All groupings that one family of columns has, and no earlier one."""
    cells = find_cells(tuples, family)
    moments = sum_in_cells(cells, values)
    earlier = FAMILIES[: FAMILIES.index(tuple(family))]
    mine = {
        grouping: by
        for grouping, by in GROUPINGS.items()
        if set(by) <= set(family) and not any(set(by) <= set(other) for other in earlier)
    }
    counted = histogram(cells, values) if n_draws else None
    found = []
    named = pd.DataFrame(list(labels), columns=_KEY)
    for grouping, by in mine.items():
        means = average(cells, moments, by)
        n_groups = len(means.groups)
        group = [
            JOINT.join(str(cells.values[c][code]) for c, code in zip(by, row, strict=True)) or "all"
            for row in means.groups.to_numpy()
        ]
        rows = named.iloc[np.repeat(np.arange(len(named)), n_groups)].reset_index(drop=True)
        rows["grouping"] = grouping
        rows["group"] = np.tile(np.array(group, object), len(named))
        ends = np.full((2, *means.mean.shape), np.nan)
        if counted is not None and grouping not in WITHOUT_DRAWS:
            rng = np.random.default_rng([seed, list(GROUPINGS).index(grouping)])
            drawn = draw_means(cells, counted, by, rng, n_draws)
            ends = percentile_interval(drawn.reshape(n_draws, -1)).reshape(ends.shape)
        columns = {"mean": means.mean, "sem": means.sem, "conf95": Z * means.sem, "ci_low": ends[0], "ci_high": ends[1]}
        for column, numbers in columns.items():
            rows[column] = numbers.ravel()
        rows["count"] = means.count.ravel().astype(int)
        found.append(rows[rows["count"] > 0])
    return pd.concat(found, ignore_index=True)


def compare_models(
    name: str, questions: Questions, series: Sequence[Series], seed: int = 0, n_permutations: int = 1000
) -> pd.DataFrame:
    """Rows of ``contracts.Comparisons`` of one set: every pair of models with the same prompting, tuple by tuple.

    Sizes and problems weigh equally, as in the means; a tuple is what is flipped and drawn.
    """
    rows: list[dict[str, object]] = []
    tuples = questions.tuples
    for prompting in sorted({one.prompting for one in series}):
        asked = [one for one in series if one.prompting == prompting]
        scores = {one.model: score_tuples(questions, one.answers)["accuracy"] for one in asked}
        for problem in ("all", *sorted(tuples["problem"].unique())):
            inside = np.ones(len(tuples), bool) if problem == "all" else (tuples["problem"] == problem).to_numpy()
            rows += _compare(name, prompting, problem, scores, tuples, inside, seed, n_permutations)
    columns = list(_COMPARED)
    return pd.DataFrame(rows, columns=columns) if rows else pd.DataFrame({c: pd.Series(dtype=t) for c, t in _COMPARED.items()})


_COMPARED = {
    **dict.fromkeys(("set", "prompting", "problem", "model_a", "model_b"), "str"),
    **dict.fromkeys(("mean_a", "mean_b", "difference", "ci_low", "ci_high", "p", "p_corrected"), "float64"),
    **dict.fromkeys(("n_tuples", "n_a_better", "n_b_better"), "int64"),
}


def _compare(
    name: str,
    prompting: str,
    problem: str,
    scores: dict[str, np.ndarray],
    tuples: pd.DataFrame,
    inside: np.ndarray,
    seed: int,
    n_permutations: int,
) -> list[dict[str, object]]:
    pairs = list(combinations(sorted(scores), 2))
    shared: dict[bytes, list[tuple[str, str]]] = {}  # pairs that answered the same tuples get the same flips
    for a, b in pairs:
        known = inside & ~np.isnan(scores[a]) & ~np.isnan(scores[b])
        if known.any():
            shared.setdefault(np.packbits(known).tobytes(), []).append((a, b))
    rows: list[dict[str, object]] = []
    for bits, members in shared.items():
        known = np.unpackbits(np.frombuffer(bits, np.uint8), count=len(inside)).astype(bool)
        here = tuples[known]
        # Problems weigh equally, and sizes within each problem: a stratum is a problem, a size's tuples share its weight.
        problems = here["problem"].astype(str).to_numpy()
        cell = here.groupby(["problem", "size"], observed=True)["n_trials"].transform("size").to_numpy(float)
        first = np.array([scores[a][known] for a, _ in members])
        second = np.array([scores[b][known] for _, b in members])
        compared = compare_paired(first, second, np.arange(len(here)), n_permutations, seed, problems, 1 / cell)
        for (a, b), one in zip(members, compared, strict=True):
            rows.append(
                {"set": name, "prompting": prompting, "problem": problem, "model_a": a, "model_b": b}
                | {key: getattr(one, key) for key in ("mean_a", "mean_b", "difference", "ci_low", "ci_high", "p")}
                | {"n_tuples": one.n_values, "n_a_better": one.n_a_better, "n_b_better": one.n_b_better}
            )
    if rows:
        corrected = correct_for_number(pd.Series([float(str(row["p"])) for row in rows]))
        for row, p in zip(rows, corrected, strict=True):
            row["p_corrected"] = p
    return rows
