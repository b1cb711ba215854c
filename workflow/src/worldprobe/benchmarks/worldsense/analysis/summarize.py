"""Everything that is averaged over the tuples of a set: the paper's groupings, and what the paper lacks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from worldprobe.analysis.significance import correct_for_number
from worldprobe.benchmarks.worldsense.analysis.answers import Series
from worldprobe.benchmarks.worldsense.analysis.clusters import OVER, spread_of_means
from worldprobe.benchmarks.worldsense.analysis.consistency import measure_consistency
from worldprobe.benchmarks.worldsense.analysis.questions import Questions
from worldprobe.benchmarks.worldsense.analysis.scoring import score_metrics, score_tuples
from worldprobe.benchmarks.worldsense.analysis.statistics import Z, average, find_cells, sum_in_cells
from worldprobe.benchmarks.worldsense.contracts.statistics import GROUPINGS
from worldprobe.contracts.results import ALL, JOINT

#: Columns of tuples -> the groupings by them are found from cells of their own, as not all combinations matter.
FAMILIES = (
    ("problem", "size", "complexity", "query", "domain", "intraining", "variant", "ternary"),
    ("problem", "size", "skin"),
    ("problem", "size", "depth"),
    ("problem", "size", "worlds"),
    ("problem", "size", "places"),
)


def summarize(name: str, questions: Questions, series: Sequence[Series], seed: int = 0) -> pd.DataFrame:
    """Rows of ``contracts.Summaries`` of one set.

    Args:
        name: of the set.
        questions: its trials.
        series: the answers to them.
        seed: of the exchanges of answers that say what accuracy explains of consistency.
    """
    labels, scores = [], []
    for one in series:
        for metric, score in score_metrics(questions, one.answers).items():
            labels.append((name, one.prompting, one.model, metric))
            scores.append(score)
    values = np.array(scores)
    blocks = [
        _block(questions.tuples, family, values, labels) for family in FAMILIES if set(family) <= set(questions.tuples.columns)
    ]
    blocks += [measure_consistency(name, questions, one, seed) for one in series]
    table = pd.concat(blocks, ignore_index=True)
    return table.sort_values([*_KEY, "grouping", "group"], kind="stable").reset_index(drop=True)


_KEY = ["condition", "eval_type", "model", "metric"]


def _block(
    tuples: pd.DataFrame,
    family: Sequence[str],
    values: np.ndarray,
    labels: Sequence[tuple[str, ...]],
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
    found = []
    named = pd.DataFrame(list(labels), columns=_KEY)
    lowest = np.where(named["metric"].str.startswith("bias"), -1.0, 0.0)[:, None]
    for grouping, by in mine.items():
        means = average(cells, moments, by)
        n_groups = len(means.groups)
        group = [
            JOINT.join(str(cells.values[c][code]) for c, code in zip(by, row, strict=True)) or ALL
            for row in means.groups.to_numpy()
        ]
        rows = named.iloc[np.repeat(np.arange(len(named)), n_groups)].reset_index(drop=True)
        rows["grouping"], rows["interval_over"] = grouping, OVER
        rows["group"] = np.tile(np.array(group, object), len(named))
        spread = spread_of_means(tuples, values, by)
        columns = {"mean": means.mean, "sem": means.sem, "conf95": Z * means.sem, "n_clusters": spread.n_skins}
        columns |= {
            "ci_low": np.maximum(spread.ci_low, lowest),
            "ci_high": np.minimum(spread.ci_high, 1),
            "status": spread.status,
        }
        for column, numbers in columns.items():
            rows[column] = numbers.ravel()
        rows["n"] = means.count.ravel().astype(int)
        found.append(rows[rows["n"] > 0])
    return pd.concat(found, ignore_index=True)


def compare_models(name: str, questions: Questions, series: Sequence[Series]) -> pd.DataFrame:
    """Rows of ``contracts.Comparisons`` of one set: pairs of models with the same prompting, on the tuples that both answered.

    The difference is a mean over tuples like any other; its interval and its p are for other skins and abstract problems.
    """
    blocks = []
    for prompting in sorted({one.prompting for one in series}):
        scores = {one.model: score_tuples(questions, one.answers)["accuracy"] for one in series if one.prompting == prompting}
        pairs = list(combinations(sorted(scores), 2))
        if pairs:
            whole = _compare(questions.tuples, scores, pairs, ())
            blocks += [
                part.assign(eval_type=prompting) for part in (whole, _compare(questions.tuples, scores, pairs, ("problem",)))
            ]
    if not blocks:
        return pd.DataFrame({column: pd.Series(dtype=kind) for column, kind in _COMPARED.items()})
    table = pd.concat(blocks, ignore_index=True).assign(condition=name)
    table["p_holm"] = np.nan
    for _, rows in table[table["p"].notna()].groupby(["eval_type", "problem"]):
        table.loc[rows.index, "p_holm"] = correct_for_number(rows["p"])
    return table[list(_COMPARED)].astype(_COMPARED)


_COMPARED = {
    **dict.fromkeys(("condition", "eval_type", "problem", "model_a", "model_b"), "str"),
    **dict.fromkeys(("mean_a", "mean_b", "difference", "ci_low", "ci_high", "p", "p_holm"), "float64"),
    **dict.fromkeys(("n_tuples", "n_clusters", "n_a_better", "n_b_better"), "int64"),
    "status": "str",
}


def _compare(
    tuples: pd.DataFrame, scores: dict[str, np.ndarray], pairs: Sequence[tuple[str, str]], by: Sequence[str]
) -> pd.DataFrame:
    first, second = (np.array([scores[pair[side]] for pair in pairs]) for side in (0, 1))
    known = ~np.isnan(first - second)
    sides = [spread_of_means(tuples, np.where(known, one, np.nan), by).mean for one in (first, second)]
    spread = spread_of_means(tuples, first - second, by, tested=True)
    group = tuples.groupby(list(by), observed=True).ngroup().to_numpy() if by else np.zeros(len(tuples), int)
    groups = [str(tuples[by[0]].iloc[place]) if by else ALL for place in np.unique(group, return_index=True)[1]]

    def count(values: np.ndarray) -> np.ndarray:
        return np.array([np.bincount(group, row, len(groups)) for row in values]).astype(int)

    means = {"mean_a": sides[0], "mean_b": sides[1], "difference": spread.mean}
    columns = {column: np.clip(mean, -1, 1) for column, mean in means.items()} | {"p": spread.p}  # sums of rounded weights
    columns |= {"ci_low": np.maximum(spread.ci_low, -1), "ci_high": np.minimum(spread.ci_high, 1)}
    columns |= {"n_clusters": spread.n_skins, "status": spread.status, "n_tuples": count(known)}
    columns |= {"n_a_better": count(known & (first > second)), "n_b_better": count(known & (first < second))}
    rows = pd.DataFrame(np.repeat(np.array(pairs, object), len(groups), axis=0), columns=["model_a", "model_b"])
    rows["problem"] = np.tile(np.array(groups, object), len(pairs))
    for column, numbers in columns.items():
        rows[column] = numbers.ravel()
    return rows[rows["n_tuples"] > 0]
