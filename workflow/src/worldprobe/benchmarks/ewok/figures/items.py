"""Parts of an item, the paper's Figures 1 and 2. Sentences are drawn only if they are ours."""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING

import pandas as pd

from worldprobe.benchmark import Input, figure
from worldprobe.benchmarks.ewok.canaries import is_own
from worldprobe.benchmarks.ewok.contracts import Items
from worldprobe.benchmarks.ewok.frequency import is_wide
from worldprobe.benchmarks.ewok.outputs import item_table
from worldprobe.benchmarks.ewok.selection import in_words
from worldprobe.benchmarks.ewok.tables.materials import KIND, choose_items, show_concepts
from worldprobe.provenance import Provenance
from worldprobe.report import style
from worldprobe.report.sheet import is_absent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Cells of the grid: header, fitting pair, other pair.
HEADER, FITS, OTHER = "#F3F3F3", style.AROUND_CHANCE[-3], style.AROUND_CHANCE[2]
#: A plain item shows best what an item is.
PLAIN = {"context_type": "direct", "target_contrast": "concept swap"}


@figure(
    inputs=[Input(Items, item_table)],
    title="What an item is made of",
    section="materials",
    caption=(
        "One item: two concepts, two contexts, two targets, and which context each target fits. A"
        " model is right about a target if it finds it more likely after the context that it fits."
        " Like Figures 1 and 2 of the EWoK paper."
    ),
)
def sample_item(items: pd.DataFrame, provenance: Provenance) -> pd.DataFrame:
    """A row for each pair of a context and a target of one item (Figures 1 and 2)."""
    is_plain = (items[list(PLAIN)] == pd.Series(PLAIN)).all(axis=1) & items.concept_b.notna()
    item = choose_items(items[is_plain] if is_plain.any() else items).iloc[0]
    is_shown = is_own(provenance.canary)
    row = item[["item_id", "domain", "concept_a", "concept_b", *KIND]].to_dict()
    row = {name: "" if is_absent(value) else value for name, value in row.items()}
    row["fillers"] = _show_fillers(str(item["fillers"])) if is_shown else ""
    pairs = [
        row
        | {"context": context, "target": target}
        | {"context_text": item[f"context{context}"] if is_shown else ""}
        | {"target_text": item[f"target{target}"] if is_shown else ""}
        | {"pair": "fits" if context == target else "does not fit"}
        for context in (1, 2)
        for target in (1, 2)
    ]
    return pd.DataFrame(pairs)


def _show_fillers(fillers: str) -> str:
    """The slots, without their restrictions, and what fills them.

    >>> _show_fillers('{"agent1": "Ben", "object1:large=true": "the chair"}')
    'agent1: Ben; object1: the chair'
    """
    return "; ".join(
        f"{slot.partition(':')[0]}: {text}" for slot, text in json.loads(fillers).items()
    )


@sample_item.drawn_by
def draw(frame: pd.DataFrame, width: str = "double") -> Figure:
    """A grid: contexts downwards, targets across, and in each cell whether the two fit."""
    size, total = style.label_size(width), style.WIDTHS[width]
    row = frame.iloc[0]
    columns = [0.4 * total, *[0.3 * total - 0.04] * 2]
    targets, contexts = (
        frame.drop_duplicates(part).set_index(part)[f"{part}_text"]
        for part in ("target", "context")
    )
    heads = ["", *(_sentence(f"Target {n}", targets[n], size, columns[1]) for n in (1, 2))]
    sides = [_sentence(f"Context {n}", contexts[n], size, columns[0]) for n in (1, 2)]
    heads[0] = _wrapped(_tags(row), size, columns[0])
    line = 1.45 * size / 72
    heights = [line * (max(text.count("\n") for text in heads) + 2)]
    heights += [line * (text.count("\n") + 2) for text in sides]
    foot = _wrapped(f"Fillers: {row.fillers}", size, total - 0.1) if row.fillers else ""
    below = line * (foot.count("\n") + 1.6) * bool(foot)
    figure = style.canvas(width, sum(heights) + below + 0.08)
    axes = style.axes_at(figure, 0.04, 0.04, total - 0.08, sum(heights))
    axes.set(xlim=(0, sum(columns)), ylim=(sum(heights), 0))
    axes.axis("off")
    _row(axes, 0, heights[0], columns, [(text, HEADER) for text in heads], size)
    for number, side in enumerate(sides, start=1):
        pairs = frame[frame.context == number].sort_values("target").pair
        cells = [(side, HEADER), *((pair, FITS if pair == "fits" else OTHER) for pair in pairs)]
        _row(axes, sum(heights[:number]), heights[number], columns, cells, size)
    if foot:
        axes.text(0.08, sum(heights) + 0.4 * line, foot, fontsize=size, va="top", color=style.INK)
    return figure


def _tags(row: pd.Series) -> str:
    contrast = f", contrast: {in_words(row.context_contrast)}" if row.context_contrast else ""
    return "\n".join(
        [
            f"Domain: {in_words(row.domain)}",
            f"Concepts: {show_concepts(row.concept_a, row.concept_b or None)}",
            f"Contexts: {row.context_type}{contrast}",
            f"Targets: {in_words(row.target_contrast)}",
        ]
    )


def _sentence(name: str, text: str, size: float, inches: float) -> str:
    return _wrapped(f"{name}\n{text}" if text else name, size, inches)


def _wrapped(text: str, size: float, inches: float) -> str:
    """Lines that are as wide as a cell at most."""
    letters = int((inches - 0.18) / (style.text_width("n", size) * 1.08))
    return "\n".join(
        wrapped
        for line in text.split("\n")
        for wrapped in textwrap.wrap(line, letters // 2 if is_wide(line) else letters) or [""]
    )


def _row(
    axes: Axes,
    top: float,
    height: float,
    columns: list[float],
    cells: list[tuple[str, str]],
    size: float,
) -> None:
    """Cells side by side, each with its text and colour."""
    from matplotlib.patches import Rectangle

    left = 0.0
    for (text, colour), across in zip(cells, columns, strict=True):
        axes.add_patch(
            Rectangle((left, top), across, height, facecolor=colour, edgecolor="white", lw=1.5)
        )
        is_pair = colour != HEADER
        axes.text(
            left + (across / 2 if is_pair else 0.08),
            top + (height / 2 if is_pair else 0.09),
            text,
            ha="center" if is_pair else "left",
            va="center" if is_pair else "top",
            fontsize=size,
            color=style.INK,
            linespacing=1.35,
            fontweight="bold" if text == "fits" else "normal",
        )
        left += across
