"""Accuracy of models by domain and concept, and against the number of parameters."""

from __future__ import annotations

import textwrap
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from worldprobe.benchmark import figure
from worldprobe.benchmarks.ewok.contracts import Summaries
from worldprobe.benchmarks.ewok.options import EVAL_TYPE
from worldprobe.benchmarks.ewok.selection import (
    domain_order,
    in_words,
    over_versions,
    pick,
    reliabilities,
    say_reliability,
    subjects,
)
from worldprobe.benchmarks.ewok.study import has_known_sizes, has_logprobs
from worldprobe.contracts.results import ALL
from worldprobe.errors import TooLittleError, UserError
from worldprobe.models.registry import BASELINES
from worldprobe.report import style
from worldprobe.report.model_names import (
    BASELINES_AND_PEOPLE,
    CONTROL_FAMILY,
    HUMAN,
    Roster,
    family_name,
    sort_by,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALL_DOMAINS = "all domains"
#: Items of a concept from which on its mean may be called high or low.
FEWEST_ITEMS = 8
COLUMNS = (
    "panel",
    "model",
    "name",
    "family",
    "parameters",
    "colour",
    "eval_type",
    "condition",
    "mean",
    "low",
    "high",
    "ci_low",
    "ci_high",
)


@figure(
    inputs=[Summaries],
    title="Accuracy by domain",
    section="accuracy",
    caption=(
        "Accuracy by domain, highest mean first if domains differ reliably (split-half reliability,"
        " stated above), else in the order of the materials. Dots: mean over versions; thick lines:"
        " 95% intervals, each alone; thin ends: intervals of published models (trained controls if"
        " there are none) that hold for all their domains at once, by which the text says what"
        " differs from chance. Ticks: single versions; dashed line: chance; grey band, if any:"
        " humans, mean and range over versions. As in Figure 4 of the EWoK paper, word2vec is left"
        " out, and so is the mean of two baselines."
    ),
    when=has_logprobs,
    options=[EVAL_TYPE],
)
def accuracy_by_domain(
    summaries: pd.DataFrame, roster: Roster, eval_type: str = "logprobs"
) -> pd.DataFrame:
    """Every number of the figure: condition all is a dot (or the humans' line), others, the
    versions, are ticks.

    Panels run from the domain with the highest mean to that with the lowest, if domains differ
    reliably, then all domains together. ``reliability`` is each model's, ``note`` what is said.
    """
    domains = pick(summaries, "domain", eval_type)
    overall = pick(summaries, "overall", eval_type).assign(group=ALL_DOMAINS)
    order = [*domain_order(summaries, roster, eval_type), ALL_DOMAINS]
    reliability = reliabilities(summaries, roster, eval_type)
    rows = pd.concat([domains, overall], ignore_index=True)
    rows = rows[
        ~rows.model.isin(["word2vec", "relatedness"]) & rows.group.isin(order)
    ]  # which the paper's figure does not show
    rows = style.with_identity(rows, roster).rename(columns={"group": "panel"})
    rows = sort_by(rows, "panel", order)
    rows = rows.join(_at_once(rows, subjects(rows, roster).model.unique()))
    rows = rows.assign(
        reliability=rows["model"].map(reliability).astype(float),
        note=say_reliability(reliability, roster),
    )
    columns = [*COLUMNS, "at_once_low", "at_once_high", "reliability", "note"]
    return rows[columns].reset_index(drop=True)


def _at_once(rows: pd.DataFrame, models: Collection[str]) -> pd.DataFrame:
    """Ends of the intervals of some models' domains that hold for all of them at once."""
    from worldprobe.analysis.comparisons import at_once  # SciPy, which Snakemake need not load

    is_domain = (rows.condition == ALL) & (rows.panel != ALL_DOMAINS) & rows.model.isin(models)
    ends = at_once(rows[is_domain])
    return ends.set_axis(["at_once_low", "at_once_high"], axis=1).reindex(rows.index)


@accuracy_by_domain.drawn_by
def draw_by_domain(frame: pd.DataFrame, width: str = "double") -> Figure:
    """The figure from its tidy table.

    Args:
        frame: as ``accuracy_by_domain`` makes it.
        width: "single" (three panels a row) or "double" (four).
    """
    panels = list(dict.fromkeys(frame.panel))
    models = [model for model in dict.fromkeys(frame.model) if model != HUMAN]
    heights, names = (
        {model: number for number, model in enumerate(models)},
        style.names(frame),
    )
    is_double = width == "double"
    size = style.BODY if is_double and len(models) <= 24 else style.SMALL - 0.6
    pitch = max(
        min(0.165, 2.0 / len(models)) if is_double else min(0.13, 1.66 / len(models)), 0.085
    )
    left, columns = style.widest(names.values(), size) + 0.11, 4 if is_double else 3
    figure, grid, across = style.grid(
        width,
        len(panels),
        columns,
        pitch * len(models) + 0.06,
        left,
        gap=0.17 if is_double else 0.11,
        head=0.25,
        foot=0.6,
        top=0.45,
    )
    lines = textwrap.wrap(str(frame["note"].iloc[0]), 165 if is_double else 75)
    note: dict[str, Any] = {"fontsize": style.SMALL, "color": style.SOFT_INK, "va": "top"}
    figure.text(0.01, 1 - 0.04 / figure.get_size_inches()[1], "\n".join(lines), **note)
    title_size = style.fitting(
        map(in_words, panels), style.TITLE if is_double else style.SMALL, across + 0.04
    )
    shown = ["mean", "ci_low", "ci_high", "low", "high", "at_once_low", "at_once_high"]
    values = frame[shown].to_numpy(dtype=float)
    limits = (
        float(np.floor(10 * np.nanmin(values, initial=0.45)) / 10),
        float(np.ceil(10 * np.nanmax(values, initial=0.55)) / 10),
    )
    has_versions = frame.condition[frame.condition != ALL].nunique() > 1
    for number, (axes, panel) in enumerate(zip(grid, panels, strict=True)):
        rows = frame[frame.panel == panel]
        style.people(axes, rows[rows.condition == ALL])
        style.dash(axes)
        whole, single = (
            rows[(rows.model != HUMAN) & ((rows.condition == ALL) == is_all)]
            for is_all in (True, False)
        )
        ticks: dict[str, Any] = {
            "s": (pitch * 72 * 0.45) ** 2,
            "marker": "|",
            "color": style.SOFT_INK,
            "linewidths": 0.5,
            "zorder": 1.5,
        }
        if has_versions:
            axes.scatter(single["mean"], single.model.map(heights), **ticks)
        y = whole.model.map(heights)
        axes.hlines(y, whole.at_once_low, whole.at_once_high, color=whole.colour, lw=0.45)
        dot = min(14, (pitch * 72 * 0.42) ** 2)
        style.dots(axes, y, whole, whole.colour, size=dot, lw=1.3)
        axes.set_title(
            in_words(panel),
            fontsize=title_size,
            fontweight="bold" if panel == ALL_DOMAINS else "normal",
        )
        style.name_rows(axes, [names[model] for model in models], size, number % columns == 0)
        axes.set_xlim(*limits)
        labelled = {limits[0], limits[1]}
        if min(0.5 - limits[0], limits[1] - 0.5) > 0.25 * (limits[1] - limits[0]):
            labelled.add(0.5)
        axes.set_xticks(sorted(labelled))
        labels = axes.get_xticklabels()  # those of the ends must not touch a neighbour's
        labels[0].set_horizontalalignment("left")
        labels[-1].set_horizontalalignment("right")
        axes.tick_params(axis="x", labelbottom=number + columns >= len(panels))
        if number + columns >= len(panels):
            axes.set_xlabel("accuracy", fontsize=size)
    tick = style.mark("|", style.SOFT_INK, "one version", mec=style.SOFT_INK)
    handles: list[Any] = [
        style.chance_line("chance"),
        style.mark("o", style.SOFT_INK, "mean, 95% interval", lw=1.3, ls="-"),
        style.handle(color=style.SOFT_INK, lw=0.45, label="all domains at once"),
        *([tick] if has_versions else []),
        *style.hollow(frame[(frame.model != HUMAN) & (frame.condition == ALL)]),
    ]
    if HUMAN in set(frame.model):
        handles.append(style.human_patch("humans, range"))
    style.legend(figure, handles, 6 if is_double else 2, size)
    return figure


@figure(
    inputs=[Summaries],
    title="Concepts",
    section="concepts",
    caption=(
        "The concepts with the lowest and the highest accuracy, by the mean over published models"
        " (over trained controls if there are none); concepts with equal numbers share a row."
        " White: chance; blue: above; orange: below. In brackets: number of items; concepts of"
        f" fewer than {FEWEST_ITEMS} items are left out, as their extremes are mostly luck."
    ),
    when=has_logprobs,
    options=[EVAL_TYPE],
)
def concepts(summaries: pd.DataFrame, roster: Roster, eval_type: str = "logprobs") -> pd.DataFrame:
    """A row per concept and model; domains from the highest mean to the lowest, if they differ
    reliably, their concepts from the lowest to the highest.

    Raises:
        TooLittleError: all concepts have few items.
    """
    rows = over_versions(pick(summaries, "concept", eval_type))
    rows = rows[~rows.model.isin(BASELINES)]
    of_enough = rows[rows["n"] >= FEWEST_ITEMS]
    if len(rows) and of_enough.empty:
        problem = (
            f"no concept has {FEWEST_ITEMS} items or more (at most {rows['n'].max():.0f}), so that"
            " the highest and lowest means would be luck."
        )
        raise TooLittleError("summaries", problem, "Ask about more items, or more versions.")
    rows = of_enough
    split = rows.group.str.split("/", n=1, expand=True)
    rows = rows.assign(domain=split[0], concept=split[1])
    order = domain_order(summaries, roster, eval_type)
    ease = (
        subjects(rows, roster)
        .groupby(["domain", "concept"])["mean"]
        .mean()
        .rename("ease")
        .reset_index()
    )
    dressed = style.with_identity(rows.merge(ease, on=["domain", "concept"]), roster)
    dressed = sort_by(dressed.sort_values(["ease", "concept"], kind="stable"), "domain", order)
    return dressed[
        ["domain", "concept", "model", "name", "mean", "ci_low", "ci_high", "n", "ease"]
    ].reset_index(drop=True)


@concepts.drawn_by
def draw_concepts(frame: pd.DataFrame, width: str = "double") -> Figure:
    """The concepts with the lowest mean, and those with the highest, as rows of cells; concepts of
    a domain with equal numbers share a row.
    """
    names = style.names(frame)
    models = list(names)
    wide = frame.pivot(index=["domain", "concept"], columns="model", values="mean")
    wide[["n", "ease"]] = frame.groupby(["domain", "concept"])[["n", "ease"]].max()
    rows = wide.reset_index().assign(concept=lambda part: part["concept"].map(in_words))
    alike = rows.groupby(["domain", *models, "n", "ease"], sort=False, dropna=False)["concept"]
    rows = alike.agg(", ".join).reset_index()
    shown = min(SHOWN_CONCEPTS, len(rows) // 2) or len(rows)
    size = style.label_size(width)
    parts = {
        title: rows.sort_values(  # of equal means, those of more items
            ["ease", "n"], ascending=[title == "lowest", False], kind="stable"
        )[:shown]
        for title in ("lowest", "highest")
    }
    labels_of = {
        title: [f"{name} ({n:.0f})" for name, n in zip(part.concept, part.n, strict=True)]
        for title, part in parts.items()
    }
    total = style.WIDTHS[width]
    widest = style.widest((text for labels in labels_of.values() for text in labels), size) + 0.14
    label = min(widest, 0.72 * total)
    cell = min(0.4, (total - label - 0.1) / len(models))
    columns = 2 if 2 * (label + cell * len(models)) + 0.2 <= total else 1
    head = style.widest(names.values(), size) + 0.12
    right = max(0.1, total / columns - label - cell * len(models) - 0.1)
    figure, grid, plot = style.grid(
        width, 2, columns, 0.15 * shown, label, label + right, head, 0.4, right
    )
    for axes, title in zip(grid, parts, strict=True):
        chosen = parts[title]
        labels = [style.shortened(text, size, label - 0.1) for text in labels_of[title]]
        matrix = chosen.set_index(pd.Index(labels))[models].rename(columns=names)
        has_room = plot / len(models) > style.widest(["0.00"], size) + 0.04
        style.draw_matrix(axes, matrix, size, style.numbers(matrix) if has_room else None)
        axes.tick_params(axis="x", rotation=90)
        style.panel_letter(axes, "", left=label + 0.02, title=title)
    left_out = len(rows) - 2 * shown
    note = f"{left_out} rows between are left out (CSV: all); " if left_out > 0 else ""
    style.corner_note(figure, note + style.AROUND_CHANCE_WORDS, size)
    return figure


#: Rows of the lowest and of the highest concepts that are drawn.
SHOWN_CONCEPTS = 12


@figure(
    inputs=[Summaries],
    title="Model size",
    section="scale",
    caption=(
        "Accuracy by number of parameters. Vertical lines: range over versions; slanted lines: a"
        " family's mean at each size. Models of equal size stand side by side."
    ),
    when=(has_logprobs, has_known_sizes),
    options=[EVAL_TYPE],
    shows_sizes=True,
)
def scaling(summaries: pd.DataFrame, roster: Roster, eval_type: str = "logprobs") -> pd.DataFrame:
    """One row per model with a known number of parameters, and the baselines without one.

    Raises:
        UserError: the registry knows no model's number of parameters.
    """
    rows = style.with_identity(over_versions(pick(summaries, "overall", eval_type)), roster)
    rows = rows[rows.parameters.notna() | rows.model.isin(BASELINES_AND_PEOPLE)]
    if rows.parameters.isna().all():
        raise UserError(
            "--registry",
            "the registry has no model's number of parameters.",
            "Add `parameters` to its entries, or drop this figure.",
        )
    columns = [
        "model",
        "name",
        "family",
        "colour",
        "parameters",
        "eval_type",
        "mean",
        "low",
        "high",
        "ci_low",
        "ci_high",
    ]
    return rows[columns].reset_index(drop=True)


@scaling.drawn_by
def draw_scaling(frame: pd.DataFrame, width: str = "double") -> Figure:
    """A logarithmic scale of parameters; a thin line joins a family's means, bars are the range
    over versions.
    """
    from matplotlib.ticker import LogLocator, NullFormatter

    models = frame[frame.parameters.notna()].copy()
    # Controls differ in more than size: each is a series of its own, and no line joins them.
    models["series"] = models["name"].where(
        models.family == CONTROL_FAMILY, models.family.map(family_name)
    )
    series = list(dict.fromkeys(models.series))
    looks = style.looks({name: _of_largest(models[models.series == name]) for name in series})
    size = style.label_size(width)
    total = style.WIDTHS[width]
    right = (
        style.widest([*series, "humans, range" if HUMAN in set(frame.model) else "chance"], size)
        + 0.42
    )
    plot = (total - 0.45 - right, 2.6 if width == "double" else 1.9)
    figure = style.canvas(width, plot[1] + 0.08 + 0.4)
    axes = style.axes_at(figure, 0.45, 0.08, *plot)
    style.people(axes, frame, across=True)
    style.dash(axes, across=True)
    # Models of one size are drawn a little apart, or they would cover each other.
    models["x"] = models.parameters.astype(float) * 1.035 ** _ranks_within(models.parameters)
    for name, (hue, mark) in looks.items():
        part = models[models.series == name].sort_values(["x", "model"], kind="stable")
        means = part.groupby("parameters").agg(x=("x", "mean"), mean=("mean", "mean"))
        if len(means) > 1:
            axes.plot(means.x, means["mean"], color=hue, lw=0.8, alpha=0.6, zorder=2)
        axes.vlines(part.x, part.low, part.high, color=hue, lw=0.8, zorder=3)
        sure = part[~style.lacks_interval(part)]
        at: dict[str, Any] = {"s": 20, "marker": mark, "zorder": 4}
        axes.scatter(sure.x, sure["mean"], color=hue, edgecolors="white", linewidths=0.4, **at)
        style.blank(axes, part.x, part, mark, size=4.5, zorder=5)
    axes.set_xscale("log")
    span = np.log10(models.x.max() / models.x.min()) if len(models) > 1 else 1
    axes.set_xlim(
        models.x.min() / 10 ** (0.06 * span + 0.03), models.x.max() * 10 ** (0.06 * span + 0.03)
    )
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0) if span < 2.5 else (1.0,)))
    axes.xaxis.set_major_formatter(lambda value, _place: parameters_in_words(value))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_ylim(*style.fitting_limits(frame, ["mean", "low", "high"]))
    axes.tick_params(labelsize=size)
    axes.set_xlabel("parameters", fontsize=size)
    axes.set_ylabel(
        f"accuracy ({in_words(frame.eval_type[~frame.model.isin(BASELINES_AND_PEOPLE)].iloc[0])})",
        fontsize=size,
    )
    handles: list[Any] = [
        style.mark(mark, hue, name, lw=0.8, ls="-") for name, (hue, mark) in looks.items()
    ]
    handles += [*style.hollow(models), style.chance_line("chance")]
    if HUMAN in set(frame.model):
        handles.append(style.human_patch("humans, range"))
    figure.legend(
        handles=handles,
        loc="upper right",
        fontsize=size,
        bbox_to_anchor=(0.999, 0.99),
        borderaxespad=0.1,
        labelspacing=0.55,
    )
    return figure


def _of_largest(series: pd.DataFrame) -> str:
    """A family's colour is that of its largest model, the strongest shade of its hue."""
    return str(series.sort_values(["parameters", "model"], kind="stable").colour.iloc[-1])


def _ranks_within(parameters: pd.Series) -> np.ndarray:
    """0, 1, 2 ... within models of exactly the same size, centred."""
    groups = parameters.groupby(parameters)
    return (groups.cumcount() - (groups.transform("size") - 1) / 2).to_numpy(dtype=float)


def parameters_in_words(count: float) -> str:
    """A parameter count as people say it.

    >>> parameters_in_words(7e9), parameters_in_words(3e5), parameters_in_words(1.5e6)
    ('7B', '300K', '1.5M')
    """
    for size, letter in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "K")):
        if count >= size:
            return f"{count / size:.3g}{letter}"
    return f"{count:.3g}"
