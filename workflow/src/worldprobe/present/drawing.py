"""From a tidy table to files: the figure is drawn from the very CSV text that is saved with it."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from worldprobe.present import style


def to_csv(frame: pd.DataFrame) -> str:
    """The tidy table as text, nine significant digits."""
    return frame.to_csv(index=False, float_format="%.9g", lineterminator="\n")


#: Columns of tidy tables that hold text; all others hold numbers, or nothing.
TEXT_COLUMNS = {
    "panel",
    "group",
    "block",
    "row",
    "row_id",
    "condition",
    "reference",
    "model",
    "name",
    "family",
    "colour",
    "eval_type",
    "paradigm",
    "setup",
    "domain",
    "concept",
    "feature",
    "stars",
    "likert",
    "choice",
    "templates",
    "fillers",
    "is_untrained",
}


def from_csv(text: str) -> pd.DataFrame:
    """The tidy table as the drawing functions take it.

    A text field is taken letter by letter: a concept named "null" is no missing value, and a column of empty fields is text too.
    """
    frame = pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)
    numbers = {column: pd.to_numeric(frame[column]) for column in frame.columns if column not in TEXT_COLUMNS}
    return frame.assign(**numbers)


def render(frame: pd.DataFrame, draw: Callable[..., Figure], paths: Sequence[Path | str], **options: object) -> None:
    """Write a figure in every form that ``paths`` names by suffix (.pdf, .svg, .png, .csv).

    Args:
        frame: the tidy table; only what its CSV text holds reaches the drawing.
        draw: a drawing function of this package.
        paths: outputs.
        options: passed to ``draw``.
    """
    style.apply_settings()
    text = to_csv(frame)
    style.write(draw(from_csv(text), **options), text, paths)
