"""Does accuracy follow surface features, and do two ways of asking give one answer?

Pearson's r per model (EWoK, Figure 5 D-F and the scatter panels of the appendix), and Choice against the choice that Likert
ratings imply (EWoK, Figure 7).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import pearsonr

from worldprobe.analysis.components import Components, Part, interval, p_value
from worldprobe.analysis.significance import stars
from worldprobe.benchmarks.ewok.analysis.panel import DEFAULT_CLUSTER, Panel, build_panel, cluster_codes
from worldprobe.benchmarks.ewok.analysis.summarize import metric_values
from worldprobe.benchmarks.ewok.contracts import PREFERENCES
from worldprobe.benchmarks.ewok.eval_types import GENERATIONS, SHOTS
from worldprobe.benchmarks.ewok.vocabulary import SURFACE_FEATURES
from worldprobe.errors import UserError

BASELINE = ("word2vec", "word2vec")
FEATURES = ("word2vec", "n_words", "log_frequency")


def correlate(judgements: pd.DataFrame, surface: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Correlate every series' accuracy with the word2vec baseline's accuracy and with the surface features.

    The paper's points are the means of a domain in a version (55 points); the same is done with items as points, where chance
    plays a larger part and r is smaller. The points of one domain are alike, so taking them as independent, as the paper does
    (column ``p_paper``), finds unrelated features correlated in a third of cases where domains make up 80% of the variance. So
    domains (of items: pairs of concepts) and versions are left out one by one: a jackknife of Fisher's z, whose parts are put
    together as those of a mean (``analysis.clusters``).

    Args:
        judgements: contracts.Judgements, with those of word2vec where there are any.
        surface: contracts.SurfaceFeatures of the same items.

    Returns:
        contracts.Correlations and contracts.FeatureMeans (the paper's points).

    Raises:
        UserError: no series but the word2vec baseline's has an accuracy.
    """
    panel = build_panel(judgements)
    accuracy = metric_values(panel)[0]
    features = _features(panel, surface, accuracy)
    units = (cluster_codes(panel.items, DEFAULT_CLUSTER), panel.items["version"].to_numpy())
    cells: dict[Any, Any] = dict(panel.items.groupby(["domain", "version"], sort=True).indices)
    rows, points = [], []
    for number, series in panel.series.iterrows():
        if (series["model"], series["eval_type"]) == BASELINE:
            continue
        known = ~np.isnan(accuracy[number])
        means = _cell_means(cells, known, accuracy[number], features)
        if len(means):
            points.append(means.assign(model=series["model"], eval_type=series["eval_type"]))
        for feature in FEATURES:
            for unit, x, y, cluster, version in (
                ("domain_version", means[feature], means["accuracy"], means["domain"], means["version"]),
                ("item", features[feature][known], accuracy[number][known], *(codes[known] for codes in units)),
            ):
                if not np.isnan(features[feature]).all():  # a series without any accuracy has rows, without r
                    found = correlation(*map(np.asarray, (x, y, cluster, version)))
                    rows.append(series.to_dict() | {"feature": feature, "unit": unit} | found)
    columns = ["model", "eval_type", "feature", "unit", "r", "p", "stars", "ci_low", "ci_high", "p_paper", "n", "n_clusters"]
    if not points:
        problem = "no model has an accuracy; word2vec's is what accuracies are correlated with."
        raise UserError("judgements", problem, "Give the judgements of at least one model that has scores or answers.")
    return pd.DataFrame(rows, columns=columns), pd.concat(points, ignore_index=True)


def _features(panel: Panel, surface: pd.DataFrame, accuracy: np.ndarray) -> dict[str, np.ndarray]:
    """Per item: the mean of its two target rows; missing where unknown."""
    by_item = surface.groupby("item_id", observed=True)[list(SURFACE_FEATURES)].mean()
    by_item = by_item.reindex(panel.items["item_id"].astype(str))
    features = {name: by_item[name].to_numpy(float) for name in SURFACE_FEATURES}
    baseline = panel.series.index[(panel.series["model"] == BASELINE[0]) & (panel.series["eval_type"] == BASELINE[1])]
    features["word2vec"] = accuracy[baseline[0]].astype(float) if len(baseline) else np.full(accuracy.shape[1], np.nan)
    return features


def _cell_means(cells: dict[Any, Any], known: np.ndarray, accuracy: np.ndarray, features: dict[str, np.ndarray]) -> pd.DataFrame:
    """One point per domain and version, over the items the series has; none where it has none."""
    rows = []
    for (domain, version), positions in cells.items():
        chosen = positions[known[positions]]
        if len(chosen) == 0:
            continue
        row: dict[str, object] = {"domain": domain, "version": version, "n_items": len(chosen)}
        for name, values in ({"accuracy": accuracy} | features).items():
            here = values[chosen]
            row[name] = float(np.nanmean(here)) if not np.isnan(here).all() else np.nan
        rows.append(row)
    return pd.DataFrame(rows, columns=["domain", "version", "n_items", "accuracy", *features])


def correlation(x: np.ndarray, y: np.ndarray, cluster: np.ndarray, version: np.ndarray) -> dict[str, object]:
    """Pearson's r, with an interval and a p for other clusters and versions.

    Args:
        x: one side of the points, shape (n,); points where a side is missing (NaN) are left out.
        y: the other side.
        cluster: label of each point's cluster.
        version: label of each point's version.

    Returns:
        r, p, stars, ci_low, ci_high, p_paper (of independent points), n and n_clusters. r is missing where a side does not vary
        or there are under three points; p and the interval are also where r is missing, or 1, without one of the clusters.
    """
    x, y = x.astype(float), y.astype(float)
    both = ~(np.isnan(x) | np.isnan(y))
    x, y = x[both], y[both]
    code, of_version = (np.unique(labels[both], return_inverse=True)[1] for labels in (cluster, version))
    n_clusters, n_versions = len(np.unique(code)), len(np.unique(of_version))
    found: dict[str, object] = dict.fromkeys(("r", "p", "ci_low", "ci_high", "p_paper"), np.nan)
    found |= {"stars": "", "n": len(x), "n_clusters": n_clusters}
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return found
    paper = pearsonr(x, y)
    found |= {"r": float(paper.statistic), "p_paper": float(paper.pvalue)}
    x, y = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
    products = np.stack([np.ones_like(x), x, y, x * x, y * y, x * y])
    components = Components(_jackknife(products, code))
    if n_versions > 1:
        cell = np.unique(code * n_versions + of_version, return_inverse=True)[1]
        of_cells = _jackknife(products, cell).variance
        components = Components(components.clusters, _jackknife(products, of_version), of_cells)
    variances = np.array([part.variance[0] for part in components.parts])
    if n_clusters > 1 and np.isfinite(variances).all() and variances[0] > 0:
        z = np.arctanh(np.full(1, found["r"]))
        p = float(p_value(z, components)[0])
        low, high = np.tanh(interval(z, components))
        found |= {"p": p, "stars": stars(p), "ci_low": float(low[0]), "ci_high": float(high[0])}
    return found


def _jackknife(products: np.ndarray, code: np.ndarray) -> Part:
    """The variance of Fisher's z, with each unit left out once.

    Args:
        products: 1, x, y, x², y² and xy of every point, shape (6, n).
        code: code of each point's unit.
    """
    n_units = int(code.max()) + 1
    left = products.sum(axis=1)[:, None] - np.stack([np.bincount(code, row, n_units) for row in products])
    n, x, y, xx, yy, xy = left
    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.arctanh((xy - x * y / n) / np.sqrt((xx - x * x / n) * (yy - y * y / n)))
        variance = (n_units - 1) / n_units * ((z - z.mean()) ** 2).sum()
    return Part(np.array([variance]), max(n_units - 1, 1))


def agree(judgements: pd.DataFrame) -> pd.DataFrame:
    """Confusion matrices of the two paradigms' preferences.

    For every target, Likert prefers the context under which it was rated higher; equal ratings are no preference. Choice prefers
    the context that was chosen; where the contexts were also shown in swapped order and the answer followed the position, there
    is no preference. An answer that cannot be read makes the preference missing. Without swapped presentations Choice
    always has a preference. All this follows from the judgements: a target that is right prefers its own context, one that is
    wrong the other, and a half is no preference.

    Args:
        judgements: contracts.Judgements of any models and set-ups.

    Returns:
        contracts.Agreements: every model and set-up that was asked both ways.

    Raises:
        UserError: no model was asked both ways in one set-up.
    """
    item = pd.factorize(judgements["item_id"])[0]
    place = 2 * item + judgements["target"].to_numpy(int) - 1
    preference = _preferences(judgements)
    series: dict[Any, Any] = dict(judgements.groupby(["model", "eval_type"], observed=True).indices)
    tables = []
    for model in sorted({str(model) for model, _ in series}):
        for setup in (f"{g}_{s}" for g in GENERATIONS for s in SHOTS):
            likert, choice = (series.get((model, f"{paradigm}_{setup}")) for paradigm in ("likert", "choice"))
            if likert is not None and choice is not None:
                spread = np.full((2, place.max() + 1), -1)
                spread[0, place[likert]], spread[1, place[choice]] = preference[likert], preference[choice]
                tables.append(_matrix(*spread[:, (spread >= 0).all(axis=0)]).assign(model=model, setup=setup))
    if not tables:
        raise UserError(
            "judgements", "no model has both Likert and Choice answers in one set-up.", "Give both tables of a model."
        )
    return pd.concat(tables, ignore_index=True)


def _matrix(likert: np.ndarray, choice: np.ndarray) -> pd.DataFrame:
    """Counts and shares of every pair of preferences; both arguments are positions in PREFERENCES, a pair per target."""
    kinds = len(PREFERENCES)
    counts = np.bincount(likert * kinds + choice, minlength=kinds * kinds)
    pairs = pd.MultiIndex.from_product([PREFERENCES, PREFERENCES], names=["likert", "choice"]).to_frame(index=False)
    return pairs.assign(n=counts, share=counts / len(likert) if len(likert) else np.nan)


def _preferences(rows: pd.DataFrame) -> np.ndarray:
    """Which context each row's target prefers, as a position in PREFERENCES."""
    accuracy, target = rows["accuracy"].to_numpy(float), rows["target"].to_numpy(int)
    is_first = (accuracy == 1) == (target == 1)
    return np.select([(rows["status"] != "ok").to_numpy(bool), accuracy == 0.5, is_first], [3, 2, 0], 1)
