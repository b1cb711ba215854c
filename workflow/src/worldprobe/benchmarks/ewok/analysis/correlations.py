"""Does accuracy follow surface features? Pearson's r per model (EWoK, Figure 5 D-F and the scatter panels of the appendix)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import pearsonr

from worldprobe.benchmarks.ewok.analysis.panel import Panel, build_panel
from worldprobe.benchmarks.ewok.analysis.summarize import metric_values
from worldprobe.benchmarks.ewok.vocabulary import SURFACE_FEATURES
from worldprobe.errors import UserError
from worldprobe.stats.bootstrap import LEVEL
from worldprobe.stats.significance import stars

BASELINE = ("word2vec", "word2vec")
FEATURES = ("word2vec", "n_words", "log_frequency")


def correlate(judgements: pd.DataFrame, surface: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Correlate every series' accuracy with the word2vec baseline's accuracy and with the surface features.

    The paper's points are the means of a domain in a version (55 points); the same is done with items as points, where chance
    plays a larger part and r is smaller.

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
            for unit, x, y in (
                ("domain_version", means[feature], means["accuracy"]),
                ("item", features[feature][known], accuracy[number][known]),
            ):
                if not np.isnan(features[feature]).all():  # a series without any accuracy has rows, without r
                    found = _pearson(np.asarray(x, float), np.asarray(y, float))
                    rows.append(series.to_dict() | {"feature": feature, "unit": unit} | found)
    columns = ["model", "eval_type", "feature", "unit", "r", "p", "stars", "ci_low", "ci_high", "n"]
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


def _pearson(x: np.ndarray, y: np.ndarray) -> dict[str, object]:
    """Pearson's r with its p and Fisher interval; missing where a side does not vary or there are under three points."""
    both = ~(np.isnan(x) | np.isnan(y))
    x, y = x[both].astype(float), y[both].astype(float)
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return {"r": np.nan, "p": np.nan, "stars": "", "ci_low": np.nan, "ci_high": np.nan, "n": len(x)}
    found = pearsonr(x, y)
    low, high = found.confidence_interval(LEVEL)
    p = float(found.pvalue)
    return {"r": float(found.statistic), "p": p, "stars": stars(p), "ci_low": float(low), "ci_high": float(high), "n": len(x)}
