"""Coloured matrices: cells around chance, with or without their numbers."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, Normalize, to_hex
from matplotlib.figure import Figure

from worldprobe.report import style
from worldprobe.report.style import is_dark


def to_csv(frame: pd.DataFrame) -> str:
    """The tidy table as text, nine significant digits."""
    return frame.to_csv(index=False, float_format="%.9g", lineterminator="\n")


def from_csv(text: str, is_text: Mapping[str, bool]) -> pd.DataFrame:
    """The tidy table as the drawing functions take it.

    A text field is taken letter by letter: a concept named "null" is not missing, and a column of empty fields is text too.

    Args:
        text: of the CSV file.
        is_text: column -> whether it contains text; all others contain numbers, or nothing.
    """
    frame = pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)
    numbers = {column: pd.to_numeric(frame[column]) for column in frame.columns if not is_text[column]}
    return frame.assign(**numbers)


def text_columns(frame: pd.DataFrame) -> dict[str, bool]:
    """Which columns of a tidy table contain text; yes and no are text."""
    types = pd.api.types
    return {str(name): not types.is_numeric_dtype(kind) or types.is_bool_dtype(kind) for name, kind in frame.dtypes.items()}


def render(
    frame: pd.DataFrame, draw: Callable[..., Figure], paths: Sequence[Path | str], note: str = "", **options: object
) -> None:
    """Write a figure in every form that ``paths`` names by suffix (.pdf, .svg, .png, .csv).

    Args:
        frame: the tidy table; only what its CSV text contains reaches the drawing.
        draw: a drawing function of this package.
        paths: outputs.
        note: for the pictures' metadata; see ``style.write``.
        options: passed to ``draw``.
    """
    style.apply_settings()
    text = to_csv(frame)
    style.write(draw(from_csv(text, text_columns(frame)), **options), text, paths, note)


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
