"""The features that drive accuracy, the paper's Figure 5: the items' design (A-C), the surface of
their sentences (D-F), and its points.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from worldprobe.benchmark import Display, Feature, figure
from worldprobe.benchmarks.ewok.contracts import Correlations, FeatureMeans, Summaries
from worldprobe.benchmarks.ewok.options import EVAL_TYPE
from worldprobe.benchmarks.ewok.selection import in_words, over_versions, pick
from worldprobe.benchmarks.ewok.study import (
    has_logprobs,
    has_sentence_vectors,
    has_word2vec,
    has_wordnet,
)
from worldprobe.benchmarks.ewok.vocabulary import (
    BASELINE_FEATURES,
    CONTEXT_CONTRASTS,
    CONTEXT_TYPES,
    SURFACE_FEATURES,
    TARGET_CONTRASTS,
)
from worldprobe.errors import TooLittleError, UserError
from worldprobe.models.registry import BASELINES
from worldprobe.report import style
from worldprobe.report.lines import FEW
from worldprobe.report.model_names import CONTROL_FAMILY, HUMAN, Roster
from worldprobe.report.sheet import ABSENT, decimals, span

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DESIGN = {
    "context_type": CONTEXT_TYPES,
    "context_contrast": CONTEXT_CONTRASTS,
    "target_contrast": TARGET_CONTRASTS,
}
#: word2vec's before those of the sentences, as in the paper, and our own baselines last.
FEATURES = {
    name: (BASELINE_FEATURES | SURFACE_FEATURES)[name]
    for name in ("word2vec", "n_words", "log_frequency", "wordnet", "sentence_vectors")
}
LETTERS = dict(zip([*DESIGN, *FEATURES], "ABCDEFGH", strict=True))
#: How many features stand side by side.
ACROSS = 3
COLUMNS = (
    "panel",
    "group",
    "model",
    "name",
    "family",
    "colour",
    "is_untrained",
    "value",
    "low",
    "high",
    "ci_low",
    "ci_high",
    "stars",
    "n",
)


@figure(
    inputs=[Summaries, Correlations],
    title="Design features",
    section="design",
    caption=(
        "A-C: accuracy by design feature, a dot per model in the colours and order of D, with its"
        " range over versions, or of up to six models its 95% interval; grey line: mean of several"
        " published models (of trained controls if there are none). D and later panels:"
        " correlation of accuracy with number of words, word frequency and accuracy of baselines,"
        " over domains and versions, with 95% intervals; filled: p < 0.05, not corrected for the"
        " number of correlations. Like Figure 5 of the EWoK paper."
    ),
    when=has_logprobs,
    options=[EVAL_TYPE],
)
def design_features(
    summaries: pd.DataFrame, correlations: pd.DataFrame, roster: Roster, eval_type: str = "logprobs"
) -> pd.DataFrame:
    """Accuracy by design group and r by surface feature, per model and for humans.

    ``low`` and ``high`` are the range over versions for accuracy, and the 95% interval for r.
    """
    parts = []
    for grouping, groups in DESIGN.items():
        rows = over_versions(pick(summaries, grouping, eval_type))
        rows = rows[rows.group.isin(groups)]
        parts.append(rows.assign(panel=LETTERS[grouping], value=rows["mean"], stars=""))
    wanted = correlations[
        (correlations.unit == "domain_version")
        & correlations.eval_type.isin([eval_type, "human_likert"])
    ]
    wanted = wanted.rename(columns={"feature": "group", "r": "value"})
    parts.append(
        wanted.assign(panel=wanted.group.map(LETTERS), low=wanted.ci_low, high=wanted.ci_high)
    )
    every = pd.concat(parts, ignore_index=True)
    frame = style.with_identity(every[~every.model.isin(BASELINES)], roster)
    frame["is_untrained"] = frame.model.map(lambda model: roster[model].is_untrained)
    # "variable swap" is a context contrast and a target contrast: a group's place depends on its
    # panel.
    positions = {
        f"{LETTERS[grouping]} {group}": i
        for grouping, groups in DESIGN.items()
        for i, group in enumerate(groups)
    }
    frame["place"] = (frame.panel + " " + frame.group).map(positions).fillna(0)
    return frame.sort_values(["panel", "place"], kind="stable")[list(COLUMNS)].reset_index(
        drop=True
    )


@design_features.drawn_by
def draw(frame: pd.DataFrame, width: str = "double") -> Figure:
    """The six panels from the tidy table; in a single column the panels of each row keep their
    order but are narrower.
    """
    size = style.BODY if width == "double" else style.SMALL - 0.4
    models = [model for model in dict.fromkeys(frame.model) if model != HUMAN]
    has_human = HUMAN in set(frame.model)
    names = style.names(frame)
    total = style.WIDTHS[width]
    pitch = max(0.1 if width == "double" else 0.085, min(0.15, 2.2 / max(len(models), 1)))
    left = max(style.widest(names.values(), size) + 0.12, 0.45)
    lollipops = pitch * (len(models) + 1.6 * has_human) + 0.1
    top, upper, between, foot = 0.25, 1.75 if width == "double" else 1.35, 0.72, 0.55
    shown = [feature for feature in FEATURES if LETTERS[feature] in set(frame.panel)]
    n_rows = -(-len(shown) // ACROSS)
    figure = style.canvas(width, top + upper + n_rows * (between + lollipops) + foot)

    has_mean = _design_row(figure, frame, models, (0.42, top, total - 0.48, upper), size)
    gap = 0.16 if width == "double" else 0.1
    each = (total - left - 0.08 - 2 * gap) / 3
    limit = _reach(frame[frame.panel.isin([LETTERS[feature] for feature in FEATURES])])
    for number, feature in enumerate(shown):
        row, column = divmod(number, ACROSS)
        above = top + upper + between + row * (lollipops + between)
        axes = style.axes_at(figure, left + column * (each + gap), above, each, lollipops)
        rows = frame[frame.panel == LETTERS[feature]]
        _lollipops(axes, rows, models, has_human, limit, size)
        label = f"r with {FEATURES[feature]}"
        axes.set_xlabel(
            label, fontsize=style.fitting([label], size, each + gap - 0.06, smallest=4.2)
        )
        style.panel_letter(axes, LETTERS[feature], left=0.12 if column else left - 0.04, up=0.04)
        order = [*models, HUMAN] if has_human else models
        axes.set_yticks(
            [_row(models, model) for model in order],
            [] if column else [names[m] for m in order],
            fontsize=size,
        )
        axes.tick_params(axis="y", length=0)
    _legend(figure, size, has_human, has_mean, style.hollow(frame[frame.model != HUMAN]))
    return figure


def _design_row(
    figure: Figure,
    frame: pd.DataFrame,
    models: list[str],
    box: tuple[float, float, float, float],
    size: float,
) -> bool:
    """Panels A-C side by side with one scale; their widths follow the number of groups; whether
    they have means of models.
    """
    has_mean = False
    left, top, width, height = box
    titles = size + 0.5 if width > 4 else size - 0.4
    rows = frame[frame.panel.isin([LETTERS[g] for g in DESIGN])]
    ends = ["ci_low", "ci_high"] if len(models) <= FEW else []
    limits = style.fitting_limits(rows, ["value", "low", "high", *ends])
    counts = [len(groups) for groups in DESIGN.values()]
    gap = 0.2 if width > 4 else 0.14
    unit = (width - gap * (len(counts) - 1)) / sum(counts)
    for number, (grouping, groups) in enumerate(DESIGN.items()):
        title_size = style.fitting(
            [in_words(grouping)], titles, unit * counts[number] + gap - 0.16, smallest=4.2
        )
        axes = style.axes_at(figure, left, top, unit * counts[number], height)
        has_mean |= _groups(axes, rows[rows.panel == LETTERS[grouping]], groups, models)
        axes.set_ylim(*limits)
        axes.locator_params(
            axis="y", nbins=5, steps=[1, 2, 5, 10]
        )  # at most two decimals, for which there is room
        axes.tick_params(axis="y", labelsize=size)
        if width > 4:
            axes.set_xticks(
                range(len(groups)), [_two_lines(group) for group in groups], fontsize=size
            )
        else:
            axes.set_xticks(
                range(len(groups)),
                groups,
                fontsize=size,
                rotation=35,
                ha="right",
                rotation_mode="anchor",
            )
        axes.tick_params(axis="x", length=0)
        style.panel_letter(
            axes, LETTERS[grouping], left=0.0, up=0.03, title=in_words(grouping), size=title_size
        )
        if number:
            axes.set_yticklabels([])
        else:
            axes.set_ylabel("accuracy", fontsize=size)
        left += unit * counts[number] + gap
    return has_mean


def _two_lines(label: str) -> str:
    return label.replace(" ", "\n", 1)


def _groups(axes: Axes, rows: pd.DataFrame, groups: tuple[str, ...], models: list[str]) -> bool:
    """A dot per model in the models' order inside each group, the humans' band, chance, and the
    mean of several models: whether there is one.
    """
    spread, has_mean = 0.36, False
    offsets = dict(
        zip(
            models,
            np.linspace(-spread, spread, len(models)) if len(models) > 1 else [0.0],
            strict=True,
        )
    )
    for centre, group in enumerate(groups):
        here = rows[rows.group == group]
        human = here[here.model == HUMAN]
        if len(human):
            low, high = float(human.low.iloc[0]), float(human.high.iloc[0])
            axes.fill_between(
                [centre - 0.46, centre + 0.46], low, high, color=style.HUMAN_BAND, lw=0, zorder=0
            )
            axes.hlines(
                human.value.iloc[0],
                centre - 0.46,
                centre + 0.46,
                color=style.HUMAN_COLOUR,
                lw=0.8,
                zorder=1,
            )
        llm = here[here.model != HUMAN]
        x = centre + llm.model.map(offsets).astype(float)  # also where no model has such items
        ends = ("ci_low", "ci_high") if len(models) <= FEW else ("low", "high")
        axes.vlines(x, llm[ends[0]], llm[ends[1]], color=llm.colour, lw=0.7, zorder=2)
        is_sure = ~style.lacks_interval(llm)
        looks: dict[str, Any] = {"edgecolors": "white", "linewidths": 0.3, "zorder": 3}
        axes.scatter(x[is_sure], llm.value[is_sure], s=9, color=llm.colour[is_sure], **looks)
        style.blank(axes, x, llm.rename(columns={"value": "mean"}), "o", size=3, zorder=3.1)
        published = llm[llm.family != CONTROL_FAMILY]
        averaged = published if len(published) else llm[llm.is_untrained.astype(str) != "True"]
        if len(averaged) > 1 and is_sure[averaged.index].any():
            has_mean = True
            axes.hlines(
                averaged.value.mean(),
                centre - 0.46,
                centre + 0.46,
                color=style.SOFT_INK,
                lw=1.4,
                zorder=4,
            )
    style.dash(axes, across=True)
    axes.set_xlim(-0.55, len(groups) - 0.45)
    return has_mean


def _row(models: list[str], model: str) -> float:
    """Vertical place of a lollipop; the humans are set apart below the models."""
    return len(models) + 0.6 if model == HUMAN else float(models.index(model))


def _reach(rows: pd.DataFrame) -> float:
    """Half-width of the one scale that the three panels of r share."""
    reach = float(
        np.nanmax(np.abs(rows[["low", "high", "value"]].to_numpy(dtype=float)), initial=0.3)
    )
    return float(min(1.06, np.ceil(reach * 10) / 10 + 0.05))


def _lollipops(
    axes: Axes, rows: pd.DataFrame, models: list[str], has_human: bool, limit: float, size: float
) -> None:
    """A dot with its interval, filled where p < 0.05."""
    axes.axvline(0, color=style.SOFT_INK, lw=0.6, zorder=1)
    for is_human, marker in ((False, "o"), (True, "D")):
        part = rows[(rows.model == HUMAN) == is_human]
        faces = [
            "white" if stars == "" else colour
            for stars, colour in zip(part.stars, part.colour, strict=True)
        ]
        y = part.model.map(lambda model: _row(models, model))
        style.dots(
            axes,
            y,
            part,
            part.colour.tolist(),
            x="value",
            ends=("low", "high"),
            marker=marker,
            size=13,
            faces=faces,
        )
    axes.set_xlim(-limit, limit)
    tick = 0.5 if limit > 0.5 else 0.25
    axes.set_xticks([-tick, 0, tick], [f"−{tick:g}", "0", f"{tick:g}"], fontsize=size)
    axes.set_ylim(len(models) + (1.2 if has_human else -0.4), -0.7)
    axes.spines["left"].set_visible(False)


def _legend(
    figure: Figure, size: float, has_human: bool, has_mean: bool, hollow: list[Any]
) -> None:
    handles: list[Any] = [
        *([style.handle(color=style.SOFT_INK, lw=1.4, label="models' mean")] if has_mean else []),
        style.mark("o", style.SOFT_INK, "one model", ms=3),
        *([style.human_patch("humans")] if has_human else []),
        style.chance_line("chance"),
        style.mark("o", style.SOFT_INK, "p < 0.05", ms=3.4, mec=style.SOFT_INK),
        style.mark("o", "white", "not significant", ms=3.4, mec=style.SOFT_INK),
        *hollow,
    ]
    style.legend(figure, handles, 7 if figure.get_size_inches()[0] > 5 else 3, size)


def _points(
    feature: str,
    feature_means: pd.DataFrame,
    correlations: pd.DataFrame,
    roster: Roster,
    eval_type: str,
) -> pd.DataFrame:
    """One row per model, domain and version, with the model's r and stars.

    Raises:
        UserError: the feature was not measured.
        TooLittleError: it is not known in the language of the items.
    """
    points = feature_means[
        feature_means.eval_type.isin([eval_type, "human_likert"])
        & ~feature_means.model.isin(BASELINES)
    ]
    if points[feature].isna().all():
        if feature in SURFACE_FEATURES:
            problem = f"the {SURFACE_FEATURES[feature]} is not known in the items' language."
            raise TooLittleError(f"figure {feature}", problem, "Drop this figure.")
        fix = "Switch its baseline on in the configuration, or drop this figure."
        raise UserError(f"figure {feature}", "was not measured in this run.", fix)
    wanted = correlations[
        (correlations.feature == feature) & (correlations.unit == "domain_version")
    ]
    joined = points.merge(
        wanted[["model", "eval_type", "r", "ci_low", "ci_high", "stars", "p", "n"]],
        on=["model", "eval_type"],
        how="left",
    )
    frame = style.with_identity(joined.assign(feature=feature, value=joined[feature]), roster)
    columns = [
        "model",
        "name",
        "colour",
        "feature",
        "domain",
        "version",
        "value",
        "accuracy",
        "r",
        "ci_low",
        "ci_high",
        "stars",
        "p",
        "n",
    ]
    return frame[columns].reset_index(drop=True)


def draw_points(frame: pd.DataFrame, width: str = "double") -> Figure:
    """Panels with one scale, a least-squares line each, r and stars in the corner."""
    models = list(dict.fromkeys(frame.model))
    names = style.names(frame)
    columns, size = min(len(models), 5 if width == "double" else 2), style.SMALL
    tall = min(1.0, 0.9 * (style.WIDTHS[width] - 0.5) / columns)
    figure, panels, across = style.grid(
        width, len(models), columns, tall, 0.42, gap=0.1, head=0.32, foot=0.42
    )
    x_limits, y_limits = (
        style.fitting_limits(frame, ["value"], frame.value.min()),
        style.fitting_limits(frame, ["accuracy"]),
    )
    for number, (axes, model) in enumerate(zip(panels, models, strict=True)):
        part = frame[(frame.model == model) & frame.value.notna() & frame.accuracy.notna()]
        is_tested = bool(part.p.notna().any())
        colour = part.colour.iloc[0] if is_tested else "white"
        looks: dict[str, Any] = {"edgecolors": "white", "linewidths": 0.2}
        if not is_tested:
            looks = {"edgecolors": style.GREY, "linewidths": 0.6}
        mark = "D" if model == HUMAN else "o"
        axes.scatter(part.value, part.accuracy, s=5, marker=mark, color=colour, zorder=3, **looks)
        if is_tested and part.value.nunique() > 1:
            slope, start = np.polyfit(part.value, part.accuracy, 1)
            ends = np.array([part.value.min(), part.value.max()])
            axes.plot(ends, start + slope * ends, color=style.INK, lw=0.7, zorder=4)
        style.dash(axes, across=True)
        axes.set_xlim(*x_limits)
        axes.set_ylim(*y_limits)
        axes.set_title(style.shortened(names[model], size, across), fontsize=size, pad=9.5)
        r = part.r.iloc[0] if len(part) else float("nan")
        label = ""
        if not np.isnan(r):
            interval = span(part.ci_low.iloc[0], part.ci_high.iloc[0], 2)
            label = f"r = {decimals(2)(r)}{part.stars.iloc[0]}"
            label += f" ({interval})" * (interval != ABSENT)
        axes.text(
            0,
            1,
            label,
            transform=axes.transAxes,
            ha="left",
            va="bottom",
            fontsize=size,
            color=style.SOFT_INK,
        )
        axes.locator_params(axis="x", nbins=3)
        axes.locator_params(axis="y", nbins=4)
        axes.tick_params(
            labelsize=size,
            labelleft=number % columns == 0,
            labelbottom=number + columns >= len(models),
        )
    height = figure.get_size_inches()[1]
    figure.text(
        0.5,
        0.04 / height,
        FEATURES[frame.feature.iloc[0]] + " (mean of a domain in a version)",
        ha="center",
        fontsize=style.BODY,
    )
    figure.text(0.012, 0.5, "accuracy", rotation=90, va="center", fontsize=style.BODY)
    return figure


def _scatter(feature: str, title: str, what: str, *when: Feature) -> Display:
    """The figure of a surface feature: the points behind D-F, a panel per model."""

    @figure(
        name=feature,
        inputs=[FeatureMeans, Correlations],
        title=title,
        section="design",
        caption=(
            f"Accuracy against {what}, a panel per model; each point is a domain in a version. In"
            " brackets: 95% interval of r; stars: p < 0.05, 0.01, 0.001."
        ),
        when=(has_logprobs, *when),
        options=[EVAL_TYPE],
    )
    def points(
        feature_means: pd.DataFrame,
        correlations: pd.DataFrame,
        roster: Roster,
        eval_type: str = "logprobs",
    ) -> pd.DataFrame:
        return _points(feature, feature_means, correlations, roster, eval_type)

    points.drawn_by(draw_points)
    return points


word2vec = _scatter("word2vec", "word2vec", "the accuracy of the word2vec baseline", has_word2vec)
wordnet = _scatter("wordnet", "WordNet", "the accuracy of the WordNet baseline", has_wordnet)
sentence_vectors = _scatter(
    "sentence_vectors", "Sentence vectors", "the accuracy of sentence vectors", has_sentence_vectors
)
n_words = _scatter("n_words", "Number of words", "the number of words")
log_frequency = _scatter("log_frequency", "Word frequency", "word frequency")
