"""Means per model, version and group, with ranges and bootstrap intervals (EWoK, Tables 1 and 2)."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from worldprobe.benchmarks.ewok.analysis.clusters import DEFAULT_CLUSTER, cluster_codes
from worldprobe.benchmarks.ewok.analysis.panel import Panel, build_panel
from worldprobe.benchmarks.ewok.vocabulary import OVER_VERSIONS
from worldprobe.benchmarks.ewok.ways import is_rated
from worldprobe.stats.bootstrap import bootstrap_means, percentile_interval

METRICS = ("accuracy", "strict", "both_right", "context_sensitivity")
GROUPINGS = ("overall", "domain", "concept", "context_type", "context_contrast", "target_contrast")


def summarize(
    judgements: pd.DataFrame,
    seed: int = 0,
    n_bootstrap: int = 1000,
    cluster: str = DEFAULT_CLUSTER,
    average: str = "items",
) -> pd.DataFrame:
    """All means of a study.

    An item is the mean of its two targets. A version's mean is over its items, the mean is over the versions, and the range is
    from the lowest to the highest version. The interval is a bootstrap over clusters and versions together (both are drawn
    with replacement, an item weighs by the product: Owen's pigeonhole bootstrap), with the same draws for every model.
    Clusters are pairs of concepts, as their templates share sentences. A concept's own rows, which mostly have one pair, are
    drawn over templates: they speak of this concept only.

    Args:
        judgements: contracts.Judgements of any number of models and eval types.
        seed: seed of the bootstrap.
        n_bootstrap: draws; 0 leaves the intervals missing.
        cluster: what is drawn: ``concept_pair`` or ``template``.
        average: what weighs equally in a version's overall mean: ``items``, as in the paper, or ``domains``, as in BabyLM's
            leaderboards; the bootstrap knows items only, so that an overall mean of domains has no interval.

    Returns:
        contracts.Summaries. Version -1 is the mean over versions; concepts, named ``domain/concept``, have only that row.
    """
    panel = build_panel(judgements)
    values = metric_values(panel)
    groups = list(_groups(panel.items))
    versions = np.unique(panel.items["version"])
    means, counts = _version_means(panel, values, groups, versions)
    intervals = _intervals(panel, values, groups, versions, seed, n_bootstrap, cluster)
    if average == "domains":
        by_domain = means[:, :, [place for place, group in enumerate(groups) if group.grouping == "domain"]]
        known = ~np.isnan(by_domain)
        with np.errstate(invalid="ignore"):
            means[:, :, 0] = np.where(known, by_domain, 0).sum(axis=2) / known.sum(axis=2)
        intervals[:, :, :, 0] = np.nan
    return _rows(panel, groups, versions, means, counts, intervals)


def intervals_by_template(judgements: pd.DataFrame, seed: int = 0, n_bootstrap: int = 1000) -> dict[str, dict[str, list[float]]]:
    """What drawing single templates would give for each model's overall accuracy: to be stated next to ``summarize``'s intervals.

    Args:
        judgements: contracts.Judgements.
        seed: seed of the bootstrap.
        n_bootstrap: draws, at least 1.

    Returns:
        eval_type -> model -> [low, high] of the 95% interval; models without one are left out.
    """
    panel = build_panel(judgements)
    versions = np.unique(panel.items["version"])
    overall = [Group("overall", "all", np.arange(len(panel.items)))]
    ends = _intervals(panel, metric_values(panel)[:1], overall, versions, seed, n_bootstrap, "template")[:, 0, :, 0]
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
    panel: Panel,
    values: np.ndarray,
    groups: list[Group],
    versions: np.ndarray,
    seed: int,
    n_bootstrap: int,
    cluster: str,
) -> np.ndarray:
    """Bootstrap intervals, shape (2, metrics, series, groups); missing for a group of fewer than two clusters."""
    n_metrics, n_series, n_items = values.shape
    intervals = np.full((2, n_metrics * n_series, len(groups)), np.nan)
    if n_bootstrap == 0:
        return intervals.reshape(2, n_metrics, n_series, len(groups))
    flat = values.reshape(-1, n_items)
    codes = {name: pd.factorize(cluster_codes(panel.items, name))[0] for name in (cluster, "template")}
    version_code = np.searchsorted(versions, panel.items["version"].to_numpy())
    for position, group in enumerate(groups):
        code = codes["template" if group.grouping == "concept" else cluster][group.items]
        code = np.unique(code, return_inverse=True)[1]
        if code.max() == 0:
            continue
        rng = np.random.default_rng([seed, zlib.crc32(f"{group.grouping}/{group.name}".encode())])
        means = bootstrap_means(flat[:, group.items], code, rng, n_bootstrap, version_code[group.items], len(versions))
        intervals[:, :, position] = percentile_interval(means)
    return np.clip(intervals, 0, 1).reshape(2, n_metrics, n_series, len(groups))


def _rows(
    panel: Panel,
    groups: list[Group],
    versions: np.ndarray,
    means: np.ndarray,
    counts: dict[str, np.ndarray],
    intervals: np.ndarray,
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
        ),
        _frame(
            panel,
            groups,
            by_version,
            versions,
            means[:, :, by_version],
            {name: np.broadcast_to(count, means.shape)[:, :, by_version] for name, count in counts.items()},
            {},
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
    return pd.DataFrame(columns | {key: count.ravel() for key, count in counts.items()})
