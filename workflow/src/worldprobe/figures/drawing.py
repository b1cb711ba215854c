"""From a tidy table to files: the figure is drawn from the very CSV text that is saved beside it."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from worldprobe.figures import style


def to_csv(frame: pd.DataFrame) -> str:
    """The tidy table as text, nine significant digits."""
    return frame.to_csv(index=False, float_format="%.9g", lineterminator="\n")


def from_csv(text: str) -> pd.DataFrame:
    """The tidy table as the drawing functions take it; empty fields of text columns are empty strings."""
    frame = pd.read_csv(io.StringIO(text), dtype={"model": str, "name": str, "group": str, "panel": str})
    words = frame.select_dtypes(include=["object", "string"]).columns
    return frame.assign(**{column: frame[column].fillna("") for column in words})


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
