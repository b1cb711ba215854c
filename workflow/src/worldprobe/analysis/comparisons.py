"""Pairs of models on the same units: difference of their means, its interval and its test."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from worldprobe.analysis.clusters import Estimates, crossed_means
from worldprobe.analysis.significance import correct_for_number
from worldprobe.analysis.summaries import Group, arrange
from worldprobe.contracts.results import Comparisons
from worldprobe.errors import UserError

#: Means of series, shape (series, units of a group), with intervals, and tests where the last argument says so.
Estimate = Callable[[np.ndarray, Group, bool], Estimates]


def compare_models(models: Sequence[str], values: np.ndarray, groups: Iterable[Group], estimate: Estimate) -> pd.DataFrame:
    """Every pair of models, on the units for which both have a value.

    Args:
        models: names.
        values: shape (models, units); missing (NaN) where a model has no score.
        groups: units that are compared together.
        estimate: how means of a group are estimated.

    Returns:
        Columns of ``contracts.results.Comparisons``, without eval_type, conditions, p_holm and sentence, and with std_error,
        n_versions and enough_versions; pairs without a common unit have no row.
    """
    pairs = list(combinations(range(len(models)), 2))
    first, second = (values[[pair[side] for pair in pairs]] for side in (0, 1))
    known = ~np.isnan(first - second)
    tables = []
    for group in groups:
        a, b, both = first[:, group.units], second[:, group.units], known[:, group.units]
        found = estimate(a - b, group, True)
        means = [estimate(np.where(both, side, np.nan), group, False).mean for side in (a, b)]
        columns = {
            "model_a": [models[pair[0]] for pair in pairs],
            "model_b": [models[pair[1]] for pair in pairs],
            "grouping": group.grouping,
            "group": group.name,
            "mean_a": np.clip(means[0], -1, 1),  # sums of rounded weights
            "mean_b": np.clip(means[1], -1, 1),
            "difference": np.clip(found.mean, -1, 1),
            "ci_low": np.clip(found.ci_low, -1, 1),
            "ci_high": np.clip(found.ci_high, -1, 1),
            "interval_over": group.interval_over,
            "p": found.p,
            "detectable": found.detectable,
            "enough_versions": found.enough_versions,
            "std_error": found.std_error,
            "status": found.status,
            "n": both.sum(axis=1),
            "n_clusters": found.n_clusters,
            "n_versions": found.n_versions,
            "n_a_better": (both & (a > b)).sum(axis=1),
            "n_b_better": (both & (a < b)).sum(axis=1),
        }
        tables.append(pd.DataFrame(columns))
    table = pd.concat(tables, ignore_index=True)
    return table[table["n"] > 0].reset_index(drop=True)


def corrected(table: pd.DataFrame, together: Sequence[str], rules: Collection[str] = ()) -> pd.DataFrame:
    """The table with p_holm, Holm's correction for the number of tests that are read together.

    Args:
        table: comparisons with p.
        together: columns; rows that agree in them are read together.
        rules: what stands beside the models; pairs with one or two of them are corrected apart, and cost those of models nothing.
    """
    n_rules = table["model_a"].isin(rules).astype(int) + table["model_b"].isin(rules)
    family = [*(table[column] for column in together), n_rules]
    return table.assign(p_holm=table.groupby(family, sort=False)["p"].transform(correct_for_number).astype(float))


def compare_scores(scores: pd.DataFrame, groupings: Sequence[str] = (), metric: str = "accuracy") -> pd.DataFrame:
    """Every pair of models of any benchmark that were asked in the same way about the same, overall and by group.

    Args:
        scores: ``contracts.results.Scores``.
        groupings: further columns of them.
        metric: which scores are compared.

    Returns:
        ``contracts.results.Comparisons``; corrected over the rows of one way of asking, condition and grouping.

    Raises:
        UserError: no two models can be compared.
    """

    def estimate(values: np.ndarray, group: Group, tested: bool) -> Estimates:
        return crossed_means(values, group.cluster, tested=tested)

    tables = []
    wanted = scores[scores["metric"] == metric]
    for (eval_type, condition), rows in wanted.groupby(["eval_type", "condition"], observed=True, sort=True):
        scored, groups = arrange(rows, groupings)
        if len(scored.series) > 1:
            found = compare_models(scored.series["model"].tolist(), scored.values[0], groups, estimate)
            tables.append(found.assign(eval_type=str(eval_type), condition_a=str(condition), condition_b=str(condition)))
    if not any(len(table) for table in tables):
        raise UserError("scores", f"no two models have {metric} of the same units.", "Give the scores of two models.")
    table = corrected(pd.concat(tables, ignore_index=True), ["eval_type", "condition_a", "grouping"])
    return table[list(Comparisons.columns)]
