"""Accuracy against a surface feature of the sentences, a panel per model (the points behind Figure 5 D-F)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from worldprobe.benchmark import figure
from worldprobe.benchmarks.ewok.contracts import Correlations, FeatureMeans
from worldprobe.benchmarks.ewok.figures.design import FEATURES
from worldprobe.benchmarks.ewok.selection import EVAL_TYPE
from worldprobe.benchmarks.ewok.study import has_logprobs, has_word2vec
from worldprobe.errors import UserError
from worldprobe.report import style
from worldprobe.report.model_names import HUMAN, WORD2VEC, Roster

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@figure(
    inputs=[FeatureMeans, Correlations],
    title="word2vec",
    section="design",
    caption="Accuracy against the accuracy of the word2vec baseline, a panel per model; each point is a domain in a version.",
    when=(has_logprobs, has_word2vec),
    options=[EVAL_TYPE],
)
def word2vec(
    feature_means: pd.DataFrame, correlations: pd.DataFrame, roster: Roster, eval_type: str = "logprobs"
) -> pd.DataFrame:
    """Points of accuracy against word2vec's accuracy."""
    return _points("word2vec", feature_means, correlations, roster, eval_type)


@figure(
    inputs=[FeatureMeans, Correlations],
    title="Number of words",
    section="design",
    caption="Accuracy against the number of words, a panel per model; each point is a domain in a version.",
    when=has_logprobs,
    options=[EVAL_TYPE],
)
def n_words(feature_means: pd.DataFrame, correlations: pd.DataFrame, roster: Roster, eval_type: str = "logprobs") -> pd.DataFrame:
    """Points of accuracy against number of words."""
    return _points("n_words", feature_means, correlations, roster, eval_type)


@figure(
    inputs=[FeatureMeans, Correlations],
    title="Word frequency",
    section="design",
    caption="Accuracy against word frequency, a panel per model; each point is a domain in a version.",
    when=has_logprobs,
    options=[EVAL_TYPE],
)
def log_frequency(
    feature_means: pd.DataFrame, correlations: pd.DataFrame, roster: Roster, eval_type: str = "logprobs"
) -> pd.DataFrame:
    """Points of accuracy against word frequency."""
    return _points("log_frequency", feature_means, correlations, roster, eval_type)


def _points(
    feature: str, feature_means: pd.DataFrame, correlations: pd.DataFrame, roster: Roster, eval_type: str
) -> pd.DataFrame:
    """One row per model, domain and version, with the model's r and stars.

    Raises:
        UserError: the feature is unknown or was not measured.
    """
    if feature not in FEATURES:
        raise UserError("--feature", f'there is no feature "{feature}".', f"Choose one of: {', '.join(FEATURES)}.")
    points = feature_means[feature_means.eval_type.isin([eval_type, "human_likert"]) & (feature_means.model != WORD2VEC)]
    if points[feature].isna().all():
        raise UserError(
            "--feature",
            f'"{feature}" was not measured in this run.',
            "Switch its baseline on in the configuration, or drop this figure.",
        )
    wanted = correlations[(correlations.feature == feature) & (correlations.unit == "domain_version")]
    joined = points.merge(wanted[["model", "eval_type", "r", "stars", "p", "n"]], on=["model", "eval_type"], how="left")
    frame = style.with_identity(joined.assign(feature=feature, value=joined[feature]), roster)
    columns = ["model", "name", "colour", "feature", "domain", "version", "value", "accuracy", "r", "stars", "p", "n"]
    return frame[columns].reset_index(drop=True)


@word2vec.drawn_by
@n_words.drawn_by
@log_frequency.drawn_by
def draw(frame: pd.DataFrame, width: str = "double") -> Figure:
    """Panels with one scale, a least-squares line each, r and stars in the corner."""
    models = list(dict.fromkeys(frame.model))
    names = dict(zip(frame.model, frame.name, strict=True))
    columns, size = min(len(models), 6 if width == "double" else 3), style.SMALL
    tall = min(1.0, 0.9 * (style.WIDTHS[width] - 0.5) / columns)
    figure, panels, across = style.grid(width, len(models), columns, tall, 0.42, gap=0.1, head=0.32, foot=0.42)
    x_limits, y_limits = style.fitting_limits(frame, ["value"], frame.value.min()), style.fitting_limits(frame, ["accuracy"])
    for number, (axes, model) in enumerate(zip(panels, models, strict=True)):
        part = frame[(frame.model == model) & frame.value.notna() & frame.accuracy.notna()]
        colour = part.colour.iloc[0] if len(part) else style.INK
        mark = "D" if model == HUMAN else "o"
        axes.scatter(part.value, part.accuracy, s=5, marker=mark, color=colour, edgecolors="white", linewidths=0.2, zorder=3)
        if len(part) > 2 and part.value.nunique() > 1:
            slope, start = np.polyfit(part.value, part.accuracy, 1)
            ends = np.array([part.value.min(), part.value.max()])
            axes.plot(ends, start + slope * ends, color=style.INK, lw=0.7, zorder=4)
        style.dash(axes, across=True)
        axes.set_xlim(*x_limits)
        axes.set_ylim(*y_limits)
        axes.set_title(style.shortened(names[model], size, across), fontsize=size, pad=9.5)
        r = part.r.iloc[0] if len(part) else float("nan")
        label = "" if np.isnan(r) else f"r = {r:.2f}{part.stars.iloc[0]}".replace("-", "−")
        axes.text(0, 1, label, transform=axes.transAxes, ha="left", va="bottom", fontsize=size, color=style.SOFT_INK)
        axes.locator_params(axis="x", nbins=3)
        axes.locator_params(axis="y", nbins=4)
        axes.tick_params(labelsize=size, labelleft=number % columns == 0, labelbottom=number + columns >= len(models))
    height = figure.get_size_inches()[1]
    figure.text(
        0.5, 0.04 / height, FEATURES[frame.feature.iloc[0]] + " (mean of a domain in a version)", ha="center", fontsize=style.BODY
    )
    figure.text(0.012, 0.5, "accuracy", rotation=90, va="center", fontsize=style.BODY)
    return figure
