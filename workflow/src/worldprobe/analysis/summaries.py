"""Means of scores with intervals: overall and by group, in each condition and over all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from worldprobe.analysis.clusters import crossed_means, sum_by_code
from worldprobe.contracts.results import ALL, OVERALL, Summaries, over_in_words
from worldprobe.errors import UserError

#: What the intervals of a benchmark's scores are over, where it does not say more.
CLUSTERS = "clusters"


@dataclass(frozen=True)
class ScoreArrays:
    """Scores as arrays.

    Attributes:
        series: columns model and eval_type, one row per series.
        metrics: names.
        values: shape (metrics, series, units); missing (NaN) where a series has no score.
        condition: label of each unit's condition, shape (units,).
        counts: column of the summaries -> what is summed for it, shape (series, units); ``n`` says
            which units a series has.
    """

    series: pd.DataFrame
    metrics: Sequence[str]
    values: np.ndarray
    condition: np.ndarray
    counts: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Group:
    """Units that are averaged together.

    Attributes:
        grouping: what units are grouped by.
        name: of the group.
        units: their positions.
        cluster: label of the cluster of each of them, which is a random factor.
        interval_over: what the interval takes as random factors besides versions, in words.
        by_condition: whether each condition has a row too.
        alike: label of what weighs equally within a condition, of each unit, whatever the number of
            its units that have a score; None: units do.
    """

    grouping: str
    name: str
    units: np.ndarray
    cluster: np.ndarray
    interval_over: str
    by_condition: bool = True
    alike: np.ndarray | None = None


def means_by_group(
    scored: ScoreArrays, groups: Iterable[Group], are_random: bool = True
) -> pd.DataFrame:
    """Means over the units of each condition, and their mean over conditions with its interval and
    range.

    Args:
        scored: the scores.
        groups: which units are averaged.
        are_random: whether conditions are a random factor that all units of one share, as versions
            with one set of fillings are.

    Returns:
        ``contracts.results.Summaries`` with the range of conditions (low, high), the p that these
        do not differ (p_versions) and the columns of ``scored.counts``; groups without any unit of
        a series have no row.
    """
    lowest = np.where(
        (scored.values < 0).any(axis=(1, 2)), -1.0, 0.0
    )  # what a mean of each metric can be at the least
    blocks = [block for group in groups for block in _blocks(scored, group, are_random, lowest)]
    table = pd.DataFrame(
        {column: np.concatenate([block[column] for block in blocks]) for column in blocks[0]}
    )
    return table[table["n"] > 0].reset_index(drop=True)


def _blocks(
    scored: ScoreArrays, group: Group, are_random: bool, lowest: np.ndarray
) -> Iterable[dict[str, np.ndarray]]:
    """The rows of a group, by column: over conditions, then of each.

    Arrays, as a data frame for each of some thousand groups took nine tenths of the time.
    """
    labels = scored.condition[group.units]
    conditions, code = np.unique(labels, return_inverse=True)
    values = scored.values[:, :, group.units].reshape(-1, len(labels)).astype(float)
    is_known = ~np.isnan(values)
    weight = np.ones(values.shape)
    if group.alike is not None:
        cell = pd.DataFrame({"condition": code, "alike": group.alike})
        cells = cell.groupby(["condition", "alike"]).ngroup().to_numpy()
        weight /= np.maximum(sum_by_code(is_known.astype(float), cells), 1)[:, cells]
    known_weight = is_known * weight
    with np.errstate(invalid="ignore", divide="ignore"):
        means = sum_by_code(np.nan_to_num(values) * known_weight, code) / sum_by_code(
            known_weight, code
        )
        has_mean = ~np.isnan(means)
        mean = np.where(has_mean, means, 0).sum(axis=1) / has_mean.sum(axis=1)
    counts = {
        name: sum_by_code(count[:, group.units], code).astype(int)
        for name, count in scored.counts.items()
    }
    n_metrics, n_series = len(scored.metrics), len(scored.series)
    bounds = (np.repeat(lowest, n_series), 1.0)
    is_random = None if are_random else np.zeros(len(values), bool)
    estimates = crossed_means(
        values,
        group.cluster,
        labels,
        weight=weight,
        tested=False,
        bounds=bounds,
        is_random=is_random,
    )
    shared = {
        str(name): np.tile(column.to_numpy(object), n_metrics)
        for name, column in scored.series.items()
    }
    shared |= {"metric": np.repeat(np.array(scored.metrics, object), n_series)}
    same = {"grouping": group.grouping, "group": group.name}
    shared |= {name: np.full(len(values), text, object) for name, text in same.items()}
    yield shared | {
        "condition": np.full(len(values), ALL, object),
        "mean": mean,
        "low": np.fmin.reduce(means, axis=1),
        "high": np.fmax.reduce(means, axis=1),
        "std_error": estimates.std_error,
        "ci_low": estimates.ci_low,
        "ci_high": estimates.ci_high,
        "interval_over": np.array(
            [over_in_words(group.interval_over, is_over) for is_over in estimates.over_versions],
            object,
        ),
        "status": estimates.status,
        "n_clusters": estimates.n_clusters,
        "p_versions": estimates.p_versions,
        **{name: np.tile(count.sum(axis=1), n_metrics) for name, count in counts.items()},
    }
    if group.by_condition:
        nothing, number = np.full(len(values), np.nan), np.zeros(len(values), int)
        no_interval = dict.fromkeys(("low", "high", "std_error", "ci_low", "ci_high"), nothing)
        words = {"interval_over": "", "status": "none"}
        absent = {name: np.full(len(values), text, object) for name, text in words.items()}
        for index, condition in enumerate(conditions):
            yield shared | {
                "condition": np.full(len(values), str(condition), object),
                "mean": means[:, index],
                **no_interval,
                **absent,
                "n_clusters": number,
                "p_versions": nothing,
                **{name: np.tile(count[:, index], n_metrics) for name, count in counts.items()},
            }


def arrange(scores: pd.DataFrame, groupings: Sequence[str] = ()) -> tuple[ScoreArrays, list[Group]]:
    """Scores of one condition as arrays, and the groups that their means are taken by.

    Args:
        scores: ``contracts.results.Scores`` of one condition.
        groupings: further columns; a unit has one value in each.

    Raises:
        UserError: a unit has two clusters, or two values of a grouping.
    """
    facts = ["cluster", *groupings]
    units = scores[["unit", *facts]].drop_duplicates()
    if units["unit"].duplicated().any():
        unit = units.loc[units["unit"].duplicated(), "unit"].iloc[0]
        raise UserError(
            "scores",
            f"{unit} has two values of {' or '.join(facts)}.",
            "Score every model on the same items.",
        )
    units = units.sort_values("unit", ignore_index=True)
    series = (
        scores[["model", "eval_type"]]
        .drop_duplicates()
        .astype("str")
        .sort_values(["model", "eval_type"], ignore_index=True)
    )
    metrics = sorted(scores["metric"].unique())
    row = pd.MultiIndex.from_frame(series).get_indexer(
        pd.MultiIndex.from_frame(scores[["model", "eval_type"]])
    )
    unit = pd.Index(units["unit"]).get_indexer(scores["unit"])
    values = np.full((len(metrics), len(series), len(units)), np.nan)
    values[pd.Index(metrics).get_indexer(scores["metric"]), row, unit] = scores["value"].to_numpy(
        float
    )
    present = np.zeros((len(series), len(units)), bool)
    present[row, unit] = True
    groups = groups_by(units, groupings, units["cluster"].to_numpy(), CLUSTERS)
    return ScoreArrays(series, metrics, values, np.zeros(len(units), int), {"n": present}), groups


def groups_by(
    units: pd.DataFrame, groupings: Sequence[str], cluster: np.ndarray, interval_over: str
) -> list[Group]:
    """All units, and those of each group, without a row for each condition.

    Args:
        units: one row per unit.
        groupings: columns.
        cluster: label of each unit's cluster.
        interval_over: what clusters are, in words.
    """
    positions = {(OVERALL, ALL): np.arange(len(units))}
    for grouping in groupings:
        members = units.groupby(grouping, sort=True, observed=True).indices
        positions |= {(grouping, str(name)): np.asarray(here) for name, here in members.items()}
    return [
        Group(*key, here, cluster[here], interval_over, by_condition=False)
        for key, here in positions.items()
    ]


def summarize_scores(scores: pd.DataFrame, groupings: Sequence[str] = ()) -> pd.DataFrame:
    """Means of any benchmark's scores in each condition, overall and by group, with intervals over
    clusters.

    Args:
        scores: ``contracts.results.Scores``.
        groupings: further columns of them that means are also taken by.

    Returns:
        ``contracts.results.Summaries``.
    """
    tables = []
    for condition, rows in scores.groupby("condition", observed=True, sort=True):
        scored, groups = arrange(rows, groupings)
        tables.append(
            means_by_group(scored, groups, are_random=False).assign(condition=str(condition))
        )
    return pd.concat(tables, ignore_index=True)[list(Summaries.columns)]
