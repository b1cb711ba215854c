"""Means per model, version and group (EWoK, Tables 1 and 2); correlations with surface features."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import pearsonr

from worldprobe.analysis.comparisons import stars
from worldprobe.analysis.components import Components, VarianceComponent, interval, p_value
from worldprobe.analysis.reliability import split_half
from worldprobe.analysis.summaries import Group, ScoreArrays, means_by_group
from worldprobe.benchmarks.ewok.analysis.panel import (
    DEFAULT_CLUSTER,
    WORDS,
    Panel,
    build_panel,
    cluster_codes,
)
from worldprobe.benchmarks.ewok.contracts import COMPARED, PREFERENCES
from worldprobe.benchmarks.ewok.vocabulary import (
    BASELINE_FEATURES,
    GENERATIONS,
    NO_PAIRING,
    PAIRS,
    RELIABILITY,
    SHOTS,
    SURFACE_FEATURES,
    has_pairing,
    is_prompted,
    is_rated,
)
from worldprobe.contracts.results import ALL, OVERALL
from worldprobe.errors import TooLittleError, UserError
from worldprobe.log import LOGGER
from worldprobe.models.registry import BASELINES

METRICS = ("accuracy", "strict", "both_right", "context_sensitivity", "pairing")


def item_means(
    judgements: pd.DataFrame,
    cluster: str = DEFAULT_CLUSTER,
    average: str = "items",
) -> pd.DataFrame:
    """All means of a study.

    An item is the mean of its two targets. A version's mean is over its items, the mean is over the
    versions, and the range is from the lowest to the highest version. The interval takes clusters
    and versions as random factors (``analysis.clusters``); with one version it is about its
    fillings only, which ``status`` says. Clusters are pairs of concepts, as their templates share
    sentences. A concept's own rows, which mostly have one pair, have templates as clusters: they
    are about this concept.

    Args:
        judgements: contracts.Judgements of any number of models and eval types.
        cluster: the random factor: ``concept_pair`` or ``template``.
        average: what weighs equally in a version's overall mean: ``items``, as in the paper, or
            ``domains``, as in BabyLM's leaderboards; an overall mean of domains has no interval.

    Returns:
        contracts.Summaries. Versions are conditions; concepts, named ``domain/concept``, have only
        rows over versions. Rows of the grouping ``RELIABILITY`` have the split-half reliability of
        a series' profile over domains as their mean.
    """
    panel = build_panel(judgements)
    is_old = panel.series["eval_type"].map(has_pairing).to_numpy(bool) & ~panel.has_pairing
    if is_old.any():
        LOGGER.warning(
            "judgements of %s have no pairings, as an earlier worldprobe made them; judge again for"
            " that metric",
            ", ".join(sorted(set(panel.series["model"][is_old]))),
        )
    counts = {
        "n": panel.is_present.any(axis=2),
        "n_ties": panel.is_tie.sum(axis=2),
        "n_near_ties": panel.is_near_tie.sum(axis=2),
        "n_missing": panel.is_missing.sum(axis=2),
    }
    is_paired = counts["n"] & panel.has_pairing[:, None]
    of_pairing = {
        "n": is_paired,
        "n_ties": panel.pairing == 0.5,
        "n_near_ties": panel.is_near_pairing_tie,
        "n_missing": is_paired & np.isnan(panel.pairing),
    }
    values, version = metric_values(panel), panel.items["version"].to_numpy()
    scored = (
        ScoreArrays(panel.series, METRICS[:-1], values[:-1], version, counts),
        ScoreArrays(panel.series, METRICS[-1:], values[-1:], version, of_pairing),
    )
    is_asked = counts["n"][[is_prompted(name) for name in panel.series["eval_type"]]]
    of_all = is_asked.all(axis=0)
    prompted = (
        np.flatnonzero(of_all) if len(is_asked) and of_all.any() and not of_all.all() else None
    )
    groups = list(item_groups(panel.items, cluster, prompted))
    are_random = not panel.has_own_fillings
    table = pd.concat(
        [means_by_group(part, groups, are_random) for part in scored], ignore_index=True
    )
    group_number = table.groupby(["grouping", "group"], sort=False).ngroup()
    table = table.iloc[np.argsort(group_number, kind="stable")].reset_index(drop=True)
    table = _over_domains(table) if average == "domains" else table
    reliable = [_reliabilities(panel, metric, values[METRICS.index(metric)]) for metric in COMPARED]
    return pd.concat([table, *reliable], ignore_index=True)


def _reliabilities(panel: Panel, metric: str, values: np.ndarray) -> pd.DataFrame:
    """Rows of the grouping ``RELIABILITY``, of the series that have this metric.

    Args:
        panel: of the judgements.
        metric: one of ``contracts.COMPARED``.
        values: shape (series, items).
    """
    domain = pd.factorize(panel.items["domain"], sort=True)[0]
    pair = cluster_codes(panel.items, "concept_pair")
    cells, unit = np.unique(np.stack([domain, pair]), axis=1, return_inverse=True)
    unit = unit.reshape(-1)
    is_known = ~np.isnan(values)
    n_items = np.stack([np.bincount(unit, row, cells.shape[1]) for row in is_known])
    sums = np.stack(
        [np.bincount(unit, row, cells.shape[1]) for row in np.nan_to_num(values.astype(float))]
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        reliability = split_half(sums / n_items, n_items, cells[0])
    rows = panel.series.assign(
        condition=ALL,
        metric=metric,
        grouping=RELIABILITY,
        group=ALL,
        mean=reliability,
        interval_over="",
        status="none",
        n=is_known.sum(axis=1),
        n_clusters=(n_items > 0).sum(axis=1),
        **dict.fromkeys(("low", "high", "std_error", "ci_low", "ci_high"), np.nan),
        **dict.fromkeys(("n_ties", "n_near_ties", "n_missing"), 0),
    )
    return rows[rows["n"] > 0]


def _over_domains(table: pd.DataFrame) -> pd.DataFrame:
    """The table with overall means over domains, and no interval."""
    key = ["model", "eval_type", "metric"]
    domains = table[(table["grouping"] == "domain") & (table["condition"] != ALL)]
    means = domains.groupby([*key, "condition"])["mean"].mean()
    over = (
        means.groupby(key)
        .agg(["mean", "min", "max"])
        .set_axis(["mean", "low", "high"], axis=1)
        .assign(condition=ALL)
    )
    estimates = pd.concat([means.reset_index(), over.reset_index()]).set_index([*key, "condition"])
    overall = table[table["grouping"] == OVERALL].set_index([*key, "condition"])
    ours = overall.assign(
        **{name: estimates[name] for name in ("mean", "low", "high")}
    ).reset_index()
    ours = ours.assign(
        std_error=np.nan,
        ci_low=np.nan,
        ci_high=np.nan,
        interval_over="",
        status="none",
        n_clusters=0,
        p_versions=np.nan,
    )
    return pd.concat([ours[list(table)], table[table["grouping"] != OVERALL]], ignore_index=True)


def metric_values(panel: Panel) -> np.ndarray:
    """The metrics per item, shape (metrics, series, items), float32; missing where an item has no
    accuracy (pairing).

    - accuracy: the mean of the two targets (of the one that has a score, if only one has).
    - strict: the same with ties counted as wrong.
    - both_right: 1 when both targets are right.
    - context_sensitivity (released analysis): 1 when the two targets prefer different contexts.
      Likert: the differences have opposite signs, where one may be zero; others: the targets'
      accuracies are equal. Two targets without a preference (both 0.5, as for a model that always
      answers "1" to both orders) and an unread answer are not sensitive.
    - pairing: 1 when contexts and targets fit as they belong together (``judge.compare_pairings``).
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
    sensitive = np.where(whole, sensitive, np.nan)
    return np.stack([accuracy, strict, both, sensitive, panel.pairing]).astype(np.float32)


def compared_values(panel: Panel, metric: str) -> np.ndarray:
    """The values by which models are compared and studies planned, shape (series, items).

    Args:
        panel: of the judgements.
        metric: one of ``contracts.COMPARED``.

    Raises:
        UserError: another metric, or a series without pairings.
    """
    if metric not in COMPARED:
        raise UserError("metric", f'there is no "{metric}".', f"Known: {', '.join(COMPARED)}.")
    if metric == "pairing" and not panel.has_pairing.all():
        model, eval_type = panel.series[~panel.has_pairing].iloc[0]
        if has_pairing(eval_type):
            problem = "has judgements of an earlier worldprobe, without pairings."
            raise UserError(model, problem, "Judge its scores again (worldprobe judge).")
        raise UserError("--metric pairing", NO_PAIRING, "Take accuracy.")
    return metric_values(panel)[METRICS.index(metric)].astype(float)


def item_groups(
    items: pd.DataFrame, cluster: str, prompted: np.ndarray | None = None
) -> Iterator[Group]:
    """Everything that items are averaged over.

    Args:
        items: one row for each, as ``build_panel`` gives them.
        cluster: the random factor: ``concept_pair`` or ``template``.
        prompted: positions of the items that models were prompted about, where these are only some:
            on them, ways of asking can be compared.
    """
    codes = {name: cluster_codes(items, name) for name in (cluster, "template", "concept_pair")}
    pair = codes["concept_pair"]

    def group(
        grouping: str, name: str, positions: np.ndarray, alike: np.ndarray | None = None
    ) -> Group:
        drawn = "template" if grouping == "concept" else cluster
        return Group(
            grouping,
            name,
            positions,
            codes[drawn][positions],
            WORDS[drawn],
            by_condition=grouping != "concept",
            alike=alike,
        )

    every = np.arange(len(items))
    yield group(OVERALL, ALL, every)
    yield group(PAIRS, ALL, every, pair)
    if prompted is not None:
        yield group("prompted", ALL, prompted)
    for grouping in ("domain", "context_type", "context_contrast", "target_contrast"):
        for name, positions in items.groupby(grouping, sort=True).indices.items():
            yield group(grouping, str(name), np.asarray(positions))
    concepts: dict[str, list[int]] = {}
    columns = zip(items["domain"], items["concept_a"], items["concept_b"], strict=True)
    for position, (domain, concept_a, concept_b) in enumerate(columns):
        for concept in dict.fromkeys(c for c in (concept_a, concept_b) if isinstance(c, str)):
            concepts.setdefault(f"{domain}/{concept}", []).append(position)
    for name in sorted(concepts):
        yield group("concept", name, np.array(concepts[name]))


FEATURES = (*BASELINE_FEATURES, "n_words", "log_frequency")


def correlate_with_features(
    judgements: pd.DataFrame, surface: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Correlate every series' accuracy with the accuracy of baselines and with the surface
    features.

    The paper's points are the means of a domain in a version (55 points); the same is done with
    items as points, where chance plays a larger part and r is smaller. The points of one domain are
    alike, so taking them as independent, as the paper does (column ``p_paper``), finds unrelated
    features correlated in a third of cases where domains make up 80% of the variance. So domains
    (of items: pairs of concepts) and versions are left out one by one: a jackknife of Fisher's z,
    whose parts are put together as those of a mean (``analysis.clusters``).

    Args:
        judgements: contracts.Judgements, with those of baselines where there are any.
        surface: contracts.SurfaceFeatures of the same items.

    Returns:
        contracts.Correlations and contracts.FeatureMeans (the paper's points).

    Raises:
        UserError: no series but baselines has an accuracy.
    """
    panel = build_panel(judgements)
    accuracy = metric_values(panel)[0]
    features = _features(panel, surface, accuracy)
    units = (cluster_codes(panel.items, DEFAULT_CLUSTER), panel.items["version"].to_numpy())
    cells: dict[Any, Any] = dict(panel.items.groupby(["domain", "version"], sort=True).indices)
    rows, points = [], []
    for number, series in panel.series.iterrows():
        if series["eval_type"] in BASELINES:
            continue
        is_known = ~np.isnan(accuracy[number])
        means = _cell_means(cells, is_known, accuracy[number], features)
        if len(means):
            points.append(means.assign(model=series["model"], eval_type=series["eval_type"]))
        for feature in FEATURES:
            for unit, x, y, cluster, version in (
                (
                    "domain_version",
                    means[feature],
                    means["accuracy"],
                    means["domain"],
                    means["version"],
                ),
                (
                    "item",
                    features[feature][is_known],
                    accuracy[number][is_known],
                    *(codes[is_known] for codes in units),
                ),
            ):
                if not np.isnan(
                    features[feature]
                ).all():  # a series without any accuracy has rows, without r
                    estimate = correlation(*map(np.asarray, (x, y, cluster, version)))
                    rows.append(series.to_dict() | {"feature": feature, "unit": unit} | estimate)
    columns = [
        "model",
        "eval_type",
        "feature",
        "unit",
        "r",
        "p",
        "stars",
        "detectable",
        "ci_low",
        "ci_high",
        "p_paper",
        "n",
        "n_clusters",
    ]
    if not points:
        problem = (
            "no model has an accuracy; those of baselines are what accuracies are correlated with."
        )
        raise TooLittleError(
            "judgements",
            problem,
            "Give the judgements of at least one model that has scores or answers.",
        )
    return pd.DataFrame(rows, columns=columns), pd.concat(points, ignore_index=True)


def _features(panel: Panel, surface: pd.DataFrame, accuracy: np.ndarray) -> dict[str, np.ndarray]:
    """Per item: the mean of its two target rows; missing where unknown."""
    by_item = surface.groupby("item_id", observed=True)[list(SURFACE_FEATURES)].mean()
    by_item = by_item.reindex(panel.items["item_id"].astype(str))
    features = {name: by_item[name].to_numpy(float) for name in SURFACE_FEATURES}
    for name in BASELINE_FEATURES:
        series = panel.series.index[panel.series["eval_type"] == name]
        features[name] = (
            accuracy[series[0]].astype(float) if len(series) else np.full(accuracy.shape[1], np.nan)
        )
    return features


def _cell_means(
    cells: dict[Any, Any],
    is_known: np.ndarray,
    accuracy: np.ndarray,
    features: dict[str, np.ndarray],
) -> pd.DataFrame:
    """One point per domain and version, over the items the series has; none where it has none."""
    rows = []
    for (domain, version), positions in cells.items():
        chosen = positions[is_known[positions]]
        if len(chosen) == 0:
            continue
        row: dict[str, object] = {"domain": domain, "version": version, "n_items": len(chosen)}
        for name, values in ({"accuracy": accuracy} | features).items():
            here = values[chosen]
            row[name] = float(np.nanmean(here)) if not np.isnan(here).all() else np.nan
        rows.append(row)
    return pd.DataFrame(rows, columns=["domain", "version", "n_items", "accuracy", *features])


def correlation(
    x: np.ndarray, y: np.ndarray, cluster: np.ndarray, version: np.ndarray
) -> dict[str, object]:
    """Pearson's r, with an interval and a p for other clusters and versions.

    Args:
        x: one side of the points, shape (n,); points where a side is missing (NaN) are left out.
        y: the other side.
        cluster: label of each point's cluster.
        version: label of each point's version.

    Returns:
        r, p, stars, detectable, ci_low, ci_high, p_paper (of independent points), n and n_clusters.
        r is missing where a side does not vary or there are under three points; p, detectable and
        the interval also where r is missing, or 1, without one of the clusters.
    """
    x, y = x.astype(float), y.astype(float)
    both = ~(np.isnan(x) | np.isnan(y))
    x, y = x[both], y[both]
    code, of_version = (
        np.unique(labels[both], return_inverse=True)[1] for labels in (cluster, version)
    )
    n_clusters, n_versions = len(np.unique(code)), len(np.unique(of_version))
    row: dict[str, object] = dict.fromkeys(
        ("r", "p", "detectable", "ci_low", "ci_high", "p_paper"), np.nan
    )
    row |= {"stars": "", "n": len(x), "n_clusters": n_clusters}
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return row
    paper = pearsonr(x, y)
    row |= {"r": float(paper.statistic), "p_paper": float(paper.pvalue)}
    x, y = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
    products = np.stack([np.ones_like(x), x, y, x * x, y * y, x * y])
    components = Components(_jackknife(products, code))
    if n_versions > 1:
        cell = np.unique(code * n_versions + of_version, return_inverse=True)[1]
        of_cells = _jackknife(products, cell).variance
        components = Components(components.clusters, _jackknife(products, of_version), of_cells)
    variances = np.array([part.variance[0] for part in components.parts])
    if n_clusters > 1 and np.isfinite(variances).all() and variances[0] > 0:
        z = np.arctanh(np.full(1, row["r"]))
        p = float(p_value(z, components)[0])
        low, high = np.tanh(interval(z, components))
        row |= {
            "p": p,
            "stars": stars(p),
            "detectable": float(np.tanh(components.detectable()[0])),
        }
        row |= {"ci_low": float(low[0]), "ci_high": float(high[0])}
    return row


def _jackknife(products: np.ndarray, code: np.ndarray) -> VarianceComponent:
    """The variance of Fisher's z, with each unit left out once.

    Args:
        products: 1, x, y, x², y² and xy of every point, shape (6, n).
        code: code of each point's unit.
    """
    n_units = int(code.max()) + 1
    left = products.sum(axis=1)[:, None] - np.stack(
        [np.bincount(code, row, n_units) for row in products]
    )
    n, x, y, xx, yy, xy = left
    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.arctanh((xy - x * y / n) / np.sqrt((xx - x * x / n) * (yy - y * y / n)))
        variance = (n_units - 1) / n_units * ((z - z.mean()) ** 2).sum()
    return VarianceComponent(np.array([variance]), max(n_units - 1, 1))


def cross_preferences(judgements: pd.DataFrame) -> pd.DataFrame:
    """Confusion matrices of the two paradigms' preferences.

    For every target, Likert prefers the context under which it was rated higher; equal ratings are
    no preference. Choice prefers the context that was chosen; where the contexts were also shown in
    swapped order and the answer followed the position, there is no preference. An answer that
    cannot be read makes the preference missing. Without swapped presentations Choice always has a
    preference. All this follows from the judgements: a target that is right prefers its own
    context, one that is wrong the other, and a half is no preference.

    Args:
        judgements: contracts.Judgements of any models and set-ups.

    Returns:
        contracts.Agreements: every model and set-up that was asked both ways.

    Raises:
        UserError: no model was asked both ways in one set-up.
    """
    item = pd.factorize(judgements["item_id"])[0]
    position = 2 * item + judgements["target"].to_numpy(int) - 1
    preference = _preferences(judgements)
    series: dict[Any, Any] = dict(judgements.groupby(["model", "eval_type"], observed=True).indices)
    tables = []
    for model in sorted({str(model) for model, _ in series}):
        for setup in (f"{g}_{s}" for g in GENERATIONS for s in SHOTS):
            likert, choice = (
                series.get((model, f"{paradigm}_{setup}")) for paradigm in ("likert", "choice")
            )
            if likert is not None and choice is not None:
                spread = np.full((2, position.max() + 1), -1)
                spread[0, position[likert]], spread[1, position[choice]] = (
                    preference[likert],
                    preference[choice],
                )
                tables.append(
                    _matrix(*spread[:, (spread >= 0).all(axis=0)]).assign(model=model, setup=setup)
                )
    if not tables:
        raise TooLittleError(
            "judgements",
            "no model has both Likert and Choice answers in one set-up.",
            "Give both tables of a model.",
        )
    return pd.concat(tables, ignore_index=True)


def _matrix(likert: np.ndarray, choice: np.ndarray) -> pd.DataFrame:
    """Counts and shares of every pair of preferences; both arguments are positions in PREFERENCES,
    a pair per target.
    """
    kinds = len(PREFERENCES)
    counts = np.bincount(likert * kinds + choice, minlength=kinds * kinds)
    pairs = pd.MultiIndex.from_product(
        [PREFERENCES, PREFERENCES], names=["likert", "choice"]
    ).to_frame(index=False)
    return pairs.assign(n=counts, share=counts / len(likert) if len(likert) else np.nan)


def _preferences(rows: pd.DataFrame) -> np.ndarray:
    """The context that each row's target prefers, as a position in PREFERENCES."""
    accuracy, target = rows["accuracy"].to_numpy(float), rows["target"].to_numpy(int)
    is_first = (accuracy == 1) == (target == 1)
    return np.select(
        [(rows["status"] != "ok").to_numpy(bool), accuracy == 0.5, is_first], [3, 2, 0], 1
    )
