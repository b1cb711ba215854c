"""Means per model, version and group, with ranges and intervals (EWoK, Tables 1 and 2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from worldprobe.analysis.clusters import crossed_means
from worldprobe.benchmarks.ewok.analysis.clusters import DEFAULT_CLUSTER, cluster_codes
from worldprobe.benchmarks.ewok.analysis.panel import Panel, build_panel
from worldprobe.benchmarks.ewok.eval_types import is_rated
from worldprobe.benchmarks.ewok.vocabulary import OVER_VERSIONS

METRICS = ("accuracy", "strict", "both_right", "context_sensitivity")
GROUPINGS = ("overall", "domain", "concept", "context_type", "context_contrast", "target_contrast")


def summarize(
    judgements: pd.DataFrame,
    cluster: str = DEFAULT_CLUSTER,
    average: str = "items",
    has_own_fillings: bool = False,
) -> pd.DataFrame:
    """All means of a study.

    An item is the mean of its two targets. A version's mean is over its items, the mean is over the versions, and the range is
    from the lowest to the highest version. The interval takes clusters and versions as samples of more (``stats.clusters``); with
    one version it is about its fillings only, which ``interval_status`` says. Clusters are pairs of concepts, as their templates
    share sentences. A concept's own rows, which mostly have one pair, have templates as clusters: they are about this concept.

    Args:
        judgements: contracts.Judgements of any number of models and eval types.
        cluster: what is a sample of more: ``concept_pair`` or ``template``.
        average: what weighs equally in a version's overall mean: ``items``, as in the paper, or ``domains``, as in BabyLM's
            leaderboards; an overall mean of domains has no interval.
        has_own_fillings: whether each item was filled on its own, so that versions share nothing.

    Returns:
        contracts.Summaries. Version -1 is the mean over versions; concepts, named ``domain/concept``, have only that row.
    """
    panel = build_panel(judgements)
    values = metric_values(panel)
    groups = list(_groups(panel.items))
    versions = np.unique(panel.items["version"])
    means, counts = _version_means(panel, values, groups, versions)
    intervals, statuses = _intervals(panel, values, groups, cluster, has_own_fillings)
    if average == "domains":
        by_domain = means[:, :, [place for place, group in enumerate(groups) if group.grouping == "domain"]]
        known = ~np.isnan(by_domain)
        with np.errstate(invalid="ignore"):
            means[:, :, 0] = np.where(known, by_domain, 0).sum(axis=2) / known.sum(axis=2)
        intervals[:, :, :, 0], statuses[:, :, 0] = np.nan, "none"
    return _rows(panel, groups, versions, means, counts, intervals, statuses)


def intervals_by_template(judgements: pd.DataFrame, has_own_fillings: bool = False) -> dict[str, dict[str, list[float]]]:
    """What single templates as clusters would give for each model's overall accuracy, next to ``summarize``'s intervals.

    Args:
        judgements: contracts.Judgements.
        has_own_fillings: as in ``summarize``.

    Returns:
        eval_type -> model -> [low, high] of the 95% interval; models without one are left out.
    """
    panel = build_panel(judgements)
    overall = [Group("overall", "all", np.arange(len(panel.items)))]
    ends = _intervals(panel, metric_values(panel)[:1], overall, "template", has_own_fillings)[0][:, 0, :, 0]
    found: dict[str, dict[str, list[float]]] = {}
    for series, low, high in zip(panel.series.itertuples(), *ends, strict=True):
        if not np.isnan(low):
            found.setdefault(str(series.eval_type), {})[str(series.model)] = [round(float(low), 6), round(float(high), 6)]
    return found


def metric_values(panel: Panel) -> np.ndarray:
    """The four metrics per item, shape (metrics, series, items), float32; missing where an item has no accuracy.

    - accuracy: the mean of the two targets (of the one that has a score, if only one has).
    - strict: the same with ties counted as wrong.
    - both_right: 1 when both targets are right.
    - context_sensitivity (released analysis): 1 when the two targets prefer different contexts. Likert: the differences have
      opposite signs, where one may be zero; others: the targets' accuracies are equal. Two targets without a preference (both
      0.5, as for a model that always answers "1" to both orders) and an unread answer are not sensitive.
    """
    pair = panel.accuracy
    is_known = ~np.isnan(pair)
    n_known = is_known.sum(axis=2)
    with np.errstate(invalid="ignore", divide="ignore"):
        accuracy = np.nansum(pair, axis=2) / n_known
        strict = (pair == 1).sum(axis=2) / n_known
    whole = n_known == 2
    both = np.where(whole, (pair == 1).all(axis=2), np.nan)
    first, second = pair[:, :, 0], pair[:, :, 1]
    has_preference = ~((first == 0.5) & (second == 0.5))
    is_likert = np.array([is_rated(name) for name in panel.series["eval_type"]])
    is_opposed = np.where(is_likert[:, None], np.abs(first - second) < 1, first == second)
    sensitive = is_opposed & has_preference & ~panel.is_missing.any(axis=2)
    return np.stack([accuracy, strict, both, np.where(whole, sensitive, np.nan)]).astype(np.float32)


@dataclass
class Group:
    """Items that are averaged together."""

    grouping: str
    name: str
    items: np.ndarray


def _groups(items: pd.DataFrame) -> Iterator[Group]:
    yield Group("overall", "all", np.arange(len(items)))
    for grouping in ("domain", "context_type", "context_contrast", "target_contrast"):
        for name, positions in items.groupby(grouping, sort=True).indices.items():
            yield Group(grouping, str(name), np.asarray(positions))
    concepts: dict[str, list[int]] = {}
    columns = zip(items["domain"], items["concept_a"], items["concept_b"], strict=True)
    for position, (domain, concept_a, concept_b) in enumerate(columns):
        for concept in dict.fromkeys(c for c in (concept_a, concept_b) if isinstance(c, str)):
            concepts.setdefault(f"{domain}/{concept}", []).append(position)
    for name in sorted(concepts):
        yield Group("concept", name, np.array(concepts[name]))


def _version_means(
    panel: Panel, values: np.ndarray, groups: list[Group], versions: np.ndarray
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Means (metrics, series, groups, versions) and counts (series, groups, versions)."""
    n_metrics, n_series, n_items = values.shape
    version_code = np.searchsorted(versions, panel.items["version"].to_numpy())
    rows = np.concatenate([g.items for g in groups])
    cells = np.concatenate([i * len(versions) + version_code[g.items] for i, g in enumerate(groups)])
    member = sparse.csr_matrix((np.ones(len(rows), np.float64), (rows, cells)), (n_items, len(groups) * len(versions)))
    shape = (n_series, len(groups), len(versions))

    def total(per_item: np.ndarray[Any, Any]) -> np.ndarray:
        return np.asarray(per_item.astype(np.float64) @ member).reshape(*per_item.shape[:-1], *shape[1:])

    flat = values.reshape(-1, n_items)
    known = ~np.isnan(flat)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = (total(np.where(known, flat, 0)) / total(known)).reshape(n_metrics, *shape)
    counts = {
        "n_items": total(np.asarray(panel.is_present.any(axis=2))),
        "n_ties": total(panel.is_tie.sum(axis=2)),
        "n_near_ties": total(panel.is_near_tie.sum(axis=2)),
        "n_missing": total(panel.is_missing.sum(axis=2)),
    }
    return means, {name: np.rint(count).astype(np.int64) for name, count in counts.items()}


def _intervals(
    panel: Panel, values: np.ndarray, groups: list[Group], cluster: str, has_own_fillings: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Intervals, shape (2, metrics, series, groups), and their statuses, shape (metrics, series, groups)."""
    n_metrics, n_series, n_items = values.shape
    flat = values.reshape(-1, n_items)
    ends = np.full((2, len(flat), len(groups)), np.nan)
    statuses = np.full((len(flat), len(groups)), "no_values", object)
    codes = {name: cluster_codes(panel.items, name) for name in (cluster, "template")}
    version = panel.items["version"].to_numpy()
    for position, group in enumerate(groups):
        code = codes["template" if group.grouping == "concept" else cluster][group.items]
        fillings = {"stratum" if has_own_fillings else "version": version[group.items]}
        found = crossed_means(flat[:, group.items], code, **fillings, tested=False)
        ends[:, :, position], statuses[:, position] = np.clip([found.ci_low, found.ci_high], 0, 1), found.status
    return ends.reshape(2, n_metrics, n_series, -1), statuses.reshape(n_metrics, n_series, -1)


def _rows(
    panel: Panel,
    groups: list[Group],
    versions: np.ndarray,
    means: np.ndarray,
    counts: dict[str, np.ndarray],
    intervals: np.ndarray,
    statuses: np.ndarray,
) -> pd.DataFrame:
    """The long table from the arrays."""
    _n_metrics, _n_series, n_groups, _n_versions = means.shape
    empty = np.isnan(means).all(axis=3)
    safe = np.where(np.isnan(means), 0, means)
    n_with = np.maximum((~np.isnan(means)).sum(axis=3), 1)
    overall = np.where(empty, np.nan, safe.sum(axis=3) / n_with)
    low = np.where(empty, np.nan, np.where(np.isnan(means), np.inf, means).min(axis=3))
    high = np.where(empty, np.nan, np.where(np.isnan(means), -np.inf, means).max(axis=3))
    by_version = np.array([i for i, g in enumerate(groups) if g.grouping != "concept"])
    parts = [
        _frame(
            panel,
            groups,
            np.arange(n_groups),
            np.full(1, OVER_VERSIONS),
            overall[..., None],
            {name: np.broadcast_to(count.sum(axis=2), empty.shape)[..., None] for name, count in counts.items()},
            {"low": low, "high": high, "ci_low": intervals[0], "ci_high": intervals[1]},
            statuses,
        ),
        _frame(
            panel,
            groups,
            by_version,
            versions,
            means[:, :, by_version],
            {name: np.broadcast_to(count, means.shape)[:, :, by_version] for name, count in counts.items()},
            {},
            np.full(means[:, :, by_version].shape, "none", object),
        ),
    ]
    table = pd.concat(parts, ignore_index=True)
    return table[table["n_items"] > 0].reset_index(drop=True)


def _frame(
    panel: Panel,
    groups: list[Group],
    chosen: np.ndarray,
    versions: np.ndarray,
    means: np.ndarray,
    counts: dict[str, np.ndarray],
    ends: dict[str, np.ndarray],
    statuses: np.ndarray,
) -> pd.DataFrame:
    """Rows for arrays of shape (metrics, series, chosen groups, versions)."""
    metric, series, group, version = (index.ravel() for index in np.indices(means.shape))

    def name(values: list[str], codes: np.ndarray) -> pd.Series:
        return pd.Series(pd.array(values, dtype="str").take(codes))

    columns: dict[str, object] = {
        "model": name(panel.series["model"].tolist(), series),
        "eval_type": name(panel.series["eval_type"].tolist(), series),
        "metric": name(list(METRICS), metric),
        "grouping": name([groups[i].grouping for i in chosen], group),
        "group": name([groups[i].name for i in chosen], group),
        "version": versions[version],
        "mean": means.ravel().astype(float),
    }
    for end in ("low", "high", "ci_low", "ci_high"):
        columns[end] = ends[end].ravel().astype(float) if ends else np.full(means.size, np.nan)
    columns["interval_status"] = pd.Series(statuses.ravel(), dtype="str")
    return pd.DataFrame(columns | {key: count.ravel() for key, count in counts.items()})
