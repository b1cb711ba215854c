"""Which concepts fail for whom: concepts by domain against models, the framework's first-class object as one picture."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import TYPE_CHECKING

import pandas as pd

from worldprobe.benchmark import figure
from worldprobe.benchmarks.ewok.contracts import Summaries
from worldprobe.benchmarks.ewok.selection import EVAL_TYPE, domain_order, in_words, over_versions, pick
from worldprobe.benchmarks.ewok.study import has_logprobs
from worldprobe.report import style
from worldprobe.report.model_names import WORD2VEC, Roster
from worldprobe.report.style import Block, draw_block

if TYPE_CHECKING:
    from matplotlib.figure import Figure


#: How much wider bold letters are.
BOLD = 1.12
#: Blank rows between two domains in one column, their name included.
ROWS_BETWEEN = 1.6


@figure(
    inputs=[Summaries],
    title="Concepts",
    section="concepts",
    caption="Accuracy by concept and model. White is chance, blue above, orange below; within each domain, concepts are "
    "ordered by the models' mean, the lowest first; two concepts that occur only as a pair have equal numbers.",
    when=has_logprobs,
    options=[EVAL_TYPE],
)
def concepts(summaries: pd.DataFrame, roster: Roster, eval_type: str = "logprobs") -> pd.DataFrame:
    """A row per concept and model; domains from the highest mean to the lowest, their concepts from the lowest to the highest."""
    rows = over_versions(pick(summaries, "concept", eval_type))
    rows = rows[rows.model != WORD2VEC]
    split = rows.group.str.split("/", n=1, expand=True)
    rows = rows.assign(domain=split[0], concept=split[1])
    order = domain_order(pick(summaries, "domain", eval_type), roster)
    ease = rows[rows.model != "human"].groupby(["domain", "concept"])["mean"].mean().rename("ease").reset_index()
    dressed = style.with_identity(rows.merge(ease, on=["domain", "concept"]), roster)
    place = {domain: number for number, domain in enumerate(order)}
    dressed = dressed.assign(place=dressed.domain.map(place)).sort_values(["place", "ease", "concept"], kind="stable")
    return dressed[["domain", "concept", "model", "name", "mean", "ci_low", "ci_high", "n"]].reset_index(drop=True)


@concepts.drawn_by
def draw(frame: pd.DataFrame, width: str = "double") -> Figure:
    """Newspaper columns of small matrices, one per domain."""
    models = list(dict.fromkeys(frame.model))
    names = dict(zip(frame.model, frame.name, strict=True))
    domains = list(dict.fromkeys(frame.domain))
    size = 5.0
    label = min(0.95, style.widest((in_words(c) for c in frame.concept.unique()), size) + 0.06)
    total = style.WIDTHS[width]
    columns = 1 if width == "single" else max(1, min(4, int((total - 0.1) // (label + len(models) * 0.066 + 0.12))))
    columns = min(columns, len(domains))
    gap = 0.14
    cell = min(0.26, (total - 0.08 - columns * label - (columns - 1) * gap) / columns / len(models))
    pitch = 0.098
    stacks = _stacks({domain: frame[frame.domain == domain].concept.nunique() for domain in domains}, columns)
    head = min(1.2, style.widest(names.values(), size) + 0.08)
    tallest = max(sum(rows + ROWS_BETWEEN for _domain, rows in stack) for stack in stacks) * pitch
    figure = style.canvas(width, head + tallest + 0.45)
    for number, stack in enumerate(stacks):
        left = 0.04 + number * (label + cell * len(models) + gap) + label
        at = head
        for position, (domain, rows) in enumerate(stack):
            at += ROWS_BETWEEN * pitch
            axes = style.axes_at(figure, left, at, cell * len(models), rows * pitch)
            part = frame[frame.domain == domain]
            concepts = list(dict.fromkeys(part.concept))
            matrix = part.pivot(index="concept", columns="model", values="mean").reindex(index=concepts, columns=models)
            shown = [style.shortened(in_words(concept), size, label - 0.04) for concept in concepts]
            draw_block(axes, Block(matrix.to_numpy(dtype=float), shown, [""] * len(models)), size=size)
            axes.tick_params(axis="y", pad=1)
            title = style.shortened(in_words(domain), size + 0.6, label + cell * len(models))
            fits = style.widest([title], size + 0.6) * BOLD <= cell * len(models)
            axes.text(
                0 if fits else 1,
                1 + 0.025 / (rows * pitch),
                title,
                transform=axes.transAxes,
                ha="left" if fits else "right",  # over the labels: to the right there is another column, or the edge
                va="bottom",
                fontsize=size + 0.6,
                fontweight="bold",
            )
            if position == 0:
                axes.set_xticks([i + 0.5 for i in range(len(models))], [names[m] for m in models], fontsize=size, rotation=90)
                axes.tick_params(axis="x", pad=ROWS_BETWEEN * pitch * 72 * 0.9)
            at += rows * pitch
    _key(figure, size)
    return figure


def _stacks(rows_of: dict[str, int], columns: int) -> list[list[tuple[str, int]]]:
    """Domains in reading order, cut into columns so that the tallest is as short as it can be.

    >>> _stacks({"a": 3, "b": 3, "c": 7}, 2)
    [[('a', 3), ('b', 3)], [('c', 7)]]
    """
    blocks = list(rows_of.items())
    best: list[list[tuple[str, int]]] = []
    lowest = float("inf")
    for cuts in combinations(range(1, len(blocks)), columns - 1):
        stacks = [blocks[start:end] for start, end in pairwise((0, *cuts, len(blocks)))]
        tallest = max(sum(rows + ROWS_BETWEEN for _domain, rows in stack) for stack in stacks)
        if tallest < lowest:
            best, lowest = stacks, tallest
    return best


def _key(figure: Figure, size: float) -> None:
    """A small colour bar with chance in its middle."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    width, height = figure.get_size_inches()
    axes = style.axes_at(figure, width - 1.55, height - 0.26, 1.4, 0.07)
    bar = figure.colorbar(ScalarMappable(Normalize(0, 1), style.diverging()), cax=axes, orientation="horizontal")
    bar.set_ticks([0, 0.5, 1], labels=["0", "0.5 (chance)", "1"], fontsize=size)
    bar.outline.set_visible(False)
    figure.text((width - 1.62) / width, (0.19 + 0.035) / height, "accuracy", fontsize=size, ha="right", va="center")
