"""Maps around chance: skins by problems, and the places in the line that wrong answers are about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from worldprobe.benchmark import figure
from worldprobe.benchmarks.worldsense.outputs import has_places, is_asked
from worldprobe.benchmarks.worldsense.selection import (
    PROBLEM_NAMES,
    SUMMARIES,
    language_models,
    of_main,
    pick,
    problems_of,
    sorted_by,
)
from worldprobe.benchmarks.worldsense.skins.skins import TEST_SKINS
from worldprobe.errors import UserError
from worldprobe.report import style
from worldprobe.report.model_names import Roster
from worldprobe.report.style import Block, draw_block

if TYPE_CHECKING:
    from matplotlib.figure import Figure


#: Short headings of the problems.
HEADINGS = {name: title.replace(", ", ",\n") for name, title in PROBLEM_NAMES.items()}


@figure(
    name="worldsense_skins",
    inputs=[SUMMARIES],
    title="Skins by problem",
    section="skins",
    caption="Accuracy by skin and problem, averaged over models. White is chance.",
    when=is_asked,
)
def skins(summaries: pd.DataFrame, roster: Roster) -> pd.DataFrame:
    """Accuracy by skin and problem, the mean over models; rules of known behaviour stay out where there are others."""
    rows = of_main(pick(summaries, "problem_skin", columns=("problem", "skin")))
    rows = rows[rows["model"].isin(language_models(list(rows["model"].unique()), roster))]
    means = rows.groupby(["skin", "problem"], sort=False)["mean"].agg(["mean", "count"]).reset_index()
    skins = sorted(set(means["skin"]), key=lambda name: (TEST_SKINS.index(name) if name in TEST_SKINS else 99, name))
    problems = problems_of(means)
    ranks = [(skins.index(s), problems.index(p)) for s, p in zip(means["skin"], means["problem"], strict=True)]
    return sorted_by(means, ranks).rename(columns={"count": "n_models"})


@skins.drawn_by
def draw_skins(frame: pd.DataFrame, width: str = "double") -> Figure:
    """Numbers on colours."""
    skins, problems = list(dict.fromkeys(frame["skin"])), problems_of(frame)
    matrix = frame.pivot(index="skin", columns="problem", values="mean").reindex(index=skins, columns=problems)
    size = style.BODY if width == "double" else style.SMALL - 0.6
    names = [skin.replace("_", ", ") for skin in skins]
    left = style.widest(names, size) + 0.1
    plot = (style.WIDTHS[width] - left - 0.08, 0.16 * len(skins))
    figure = style.canvas(width, 0.36 + plot[1] + 0.22)
    axes = style.axes_at(figure, left, 0.36, *plot)
    headings = [HEADINGS[name] for name in problems]
    draw_block(axes, Block(matrix.to_numpy(float), names, headings), size=size, numbers=True)
    style.corner_note(figure, style.AROUND_CHANCE_WORDS, size)
    return figure


@figure(
    name="worldsense_places",
    inputs=[SUMMARIES],
    title="Where answers are wrong",
    section="difficulty",
    caption="Share of wrong answers by the two places in the line that a binary question is about (1: first of all), averaged"
    " over models.",
    when=(is_asked, has_places),
)
def places(summaries: pd.DataFrame, roster: Roster) -> pd.DataFrame:
    """Accuracy by problem, size and the two places that are asked about, the mean over models.

    Raises:
        UserError: no question is about two places.
    """
    rows = of_main(pick(summaries, "problem_size_places", columns=("problem", "size", "places")))
    rows = rows[rows["model"].isin(language_models(list(rows["model"].unique()), roster))]
    rows = rows[rows["problem"].isin(("Infer.normal", "Consist.normal"))]
    if rows.empty:
        raise UserError("summaries", "no question asks about two places.", "Leave this figure out.")
    means = rows.groupby(["problem", "size", "places"], sort=True)["mean"].agg(["mean", "count"]).reset_index()
    places = means["places"].str.split("-", expand=True).astype(int)
    means = means.assign(first=places[0], second=places[1], wrong=1 - means["mean"], n_models=means["count"])
    order = {name: number for number, name in enumerate(problems_of(means))}
    means = means.sort_values(["problem", "size"], key=lambda c: c.map(order) if c.name == "problem" else c, kind="stable")
    return means[["problem", "size", "first", "second", "wrong", "n_models"]].astype({"size": int}).reset_index(drop=True)


@places.drawn_by
def draw_places(frame: pd.DataFrame, width: str = "double") -> Figure:
    """A triangle for each problem and size: the share of wrong answers about each pair of places."""
    panels = list(dict.fromkeys(zip(frame["problem"], frame["size"], strict=True)))
    size = style.BODY if width == "double" else style.SMALL - 0.4
    problems = problems_of(frame)
    cell, left, gap = 0.34, 0.3, 0.45
    tallest = int(frame["size"].max()) - 2
    row_height = 0.5 + cell * tallest + 0.06
    figure = style.canvas(width, row_height * len(problems) + 0.22)
    scale = min(1.0, (style.WIDTHS[width] - left - 0.1) / sum(cell * (n - 2) + gap for p, n in panels if p == problems[0]))
    for row, problem in enumerate(problems):
        at = left
        for _, entities in (panel for panel in panels if panel[0] == problem):
            here = frame[(frame["problem"] == problem) & (frame["size"] == entities)]
            matrix = here.pivot(index="first", columns="second", values="wrong")
            extent = (cell * scale * len(matrix.columns), cell * scale * len(matrix))
            axes = style.axes_at(figure, at, row * row_height + 0.5, *extent)
            block = Block(matrix.to_numpy(float), [str(n) for n in matrix.index], [str(n) for n in matrix.columns])
            draw_block(axes, block, size=size, numbers=True, colours=style.diverging().reversed())
            title = f"{PROBLEM_NAMES[problem]}, " if at == left else ""
            axes.set_title(f"{title}{entities} entities", fontsize=size, pad=4)
            at += max(extent[0], style.text_width(f"{title}{entities} entities", size)) + gap * scale
    text = "rows: the first place asked about, columns: the second; white: chance (0.5), blue: fewer wrong, grey: not asked"
    style.corner_note(figure, text, size)
    return figure
