"""From a tidy table to files: the figure is drawn from the very CSV text that is saved with it."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from worldprobe.present import style


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
