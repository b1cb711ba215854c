"""Coloured matrices: cells around chance, with or without their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, Normalize, to_hex

from worldprobe.present import style
from worldprobe.present.palette import is_dark

MISSING_COLOUR = "#E4E4E4"


@dataclass(frozen=True)
class Block:
    """A matrix with its row and column labels; missing cells are NaN."""

    values: np.ndarray
    rows: Sequence[str]
    columns: Sequence[str]


def draw_block(
    axes: Axes,
    block: Block,
    size: float,
    numbers: bool = False,
    colours: Colormap = style.DIVERGING,
    limits: tuple[float, float] = (0.0, 1.0),
    places: int = 2,
) -> None:
    """Fill the axes with the matrix: rows downwards, column labels on top.

    Args:
        axes: empty axes.
        block: the matrix.
        size: points of all labels.
        numbers: print each value in its cell.
        colours: colour map over ``limits``.
        limits: values of the map's two ends.
        places: decimals of the printed numbers.
    """
    height, width = block.values.shape
    scale = Normalize(*limits)
    shown = np.ma.masked_invalid(block.values)
    palette = colours.with_extremes(bad=MISSING_COLOUR)
    axes.pcolormesh(
        np.arange(width + 1), np.arange(height + 1), shown, cmap=palette, norm=scale, edgecolors="white", linewidth=0.35
    )
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.xaxis.tick_top()
    axes.set_xticks(np.arange(width) + 0.5, list(block.columns), fontsize=size)
    axes.set_yticks(np.arange(height) + 0.5, list(block.rows), fontsize=size)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    if numbers:
        for (i, j), value in np.ndenumerate(block.values):
            if np.isnan(value):
                continue
            colour = "white" if is_dark(to_hex(palette(scale(value)))) else style.INK
            axes.text(j + 0.5, i + 0.53, f"{value:.{places}f}", ha="center", va="center", fontsize=size, color=colour)
