"""Means per model, version and group, with ranges and intervals (EWoK, Tables 1 and 2)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from worldprobe.analysis.clusters import crossed_means
from worldprobe.analysis.summaries import Group, Scored
from worldprobe.analysis.summaries import summarize as summarize_scores
from worldprobe.benchmarks.ewok.analysis.panel import DEFAULT_CLUSTER, Panel, build_panel, cluster_codes, drawn_in_words
from worldprobe.benchmarks.ewok.eval_types import is_rated
from worldprobe.contracts.results import ALL, OVERALL

METRICS = ("accuracy", "strict", "both_right", "context_sensitivity")


def summarize(
    judgements: pd.DataFrame,
    cluster: str = DEFAULT_CLUSTER,
    average: str = "items",
    has_own_fillings: bool = False,
) -> pd.DataFrame:
    """All means of a study.

    An item is the mean of its two targets. A version's mean is over its items, the mean is over the versions, and the range is
    from the lowest to the highest version. The interval takes clusters and versions as samples of more (``analysis.clusters``);
    with one version it is about its fillings only, which ``status`` says. Clusters are pairs of concepts, as their templates
    share sentences. A concept's own rows, which mostly have one pair, have templates as clusters: they are about this concept.

    Args:
        judgements: contracts.Judgements of any number of models and eval types.
        cluster: what is a sample of more: ``concept_pair`` or ``template``.
        average: what weighs equally in a version's overall mean: ``items``, as in the paper, or ``domains``, as in BabyLM's
            leaderboards; an overall mean of domains has no interval.
        has_own_fillings: whether each item was filled on its own, so that versions share nothing.

    Returns:
        contracts.Summaries. Versions are conditions; concepts, named ``domain/concept``, have only rows over versions.
    """
    panel = build_panel(judgements)
    counts = {
        "n": panel.is_present.any(axis=2),
        "n_ties": panel.is_tie.sum(axis=2),
        "n_near_ties": panel.is_near_tie.sum(axis=2),
        "n_missing": panel.is_missing.sum(axis=2),
    }
    scored = Scored(panel.series, METRICS, metric_values(panel), panel.items["version"].to_numpy(), counts)
    table = summarize_scores(scored, groups_of(panel.items, cluster, has_own_fillings), are_random=not has_own_fillings)
    return _over_domains(table) if average == "domains" else table


def _over_domains(table: pd.DataFrame) -> pd.DataFrame:
    """The table with overall means over domains, and no interval."""
    key = ["model", "eval_type", "metric"]
    domains = table[(table["grouping"] == "domain") & (table["condition"] != ALL)]
    means = domains.groupby([*key, "condition"])["mean"].mean()
    over = means.groupby(key).agg(["mean", "min", "max"]).set_axis(["mean", "low", "high"], axis=1).assign(condition=ALL)
    found = pd.concat([means.reset_index(), over.reset_index()]).set_index([*key, "condition"])
    overall = table[table["grouping"] == OVERALL].set_index([*key, "condition"])
    ours = overall.assign(**{name: found[name] for name in ("mean", "low", "high")}).reset_index()
    ours = ours.assign(ci_low=np.nan, ci_high=np.nan, interval_over="", status="none", n_clusters=0)
    return pd.concat([ours[list(table)], table[table["grouping"] != OVERALL]], ignore_index=True)


def intervals_by_template(judgements: pd.DataFrame, has_own_fillings: bool = False) -> dict[str, dict[str, list[float]]]:
    """What single templates as clusters would give for each model's overall accuracy, next to ``summarize``'s intervals.

    Args:
        judgements: contracts.Judgements.
        has_own_fillings: as in ``summarize``.

    Returns:
        eval_type -> model -> [low, high] of the 95% interval; models without one are left out.
    """
    panel = build_panel(judgements)
    versions, codes = panel.items["version"].to_numpy(), cluster_codes(panel.items, "template")
    version, stratum = (None, versions) if has_own_fillings else (versions, None)
    estimates = crossed_means(metric_values(panel)[0], codes, version, stratum, tested=False)
    ends = np.clip([estimates.ci_low, estimates.ci_high], 0, 1)
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


def groups_of(items: pd.DataFrame, cluster: str, has_own_fillings: bool) -> Iterator[Group]:
    """Everything that items are averaged over."""
    codes = {name: cluster_codes(items, name) for name in (cluster, "template")}
    words = {name: drawn_in_words(name, has_own_fillings) for name in codes}

    def group(grouping: str, name: str, positions: np.ndarray) -> Group:
        drawn = "template" if grouping == "concept" else cluster
        return Group(grouping, name, positions, codes[drawn][positions], words[drawn], by_condition=grouping != "concept")

    yield group(OVERALL, ALL, np.arange(len(items)))
    for grouping in ("domain", "context_type", "context_contrast", "target_contrast"):
        for name, positions in items.groupby(grouping, sort=True).indices.items():
            yield group(grouping, str(name), np.asarray(positions))
    if "adversarial" in items:  # missing where the materials have no such part
        for name, positions in items.groupby("adversarial", sort=True).indices.items():
            yield group("adversarial", str(name), np.asarray(positions))
    concepts: dict[str, list[int]] = {}
    columns = zip(items["domain"], items["concept_a"], items["concept_b"], strict=True)
    for position, (domain, concept_a, concept_b) in enumerate(columns):
        for concept in dict.fromkeys(c for c in (concept_a, concept_b) if isinstance(c, str)):
            concepts.setdefault(f"{domain}/{concept}", []).append(position)
    for name in sorted(concepts):
        yield group("concept", name, np.array(concepts[name]))
