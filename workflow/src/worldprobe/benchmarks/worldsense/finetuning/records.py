"""The record of a training: loss and learning rate of every step, as a model's folder has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from worldprobe.errors import UserError

#: Name of the file in a model's folder.
RECORD = "training.csv"
COLUMNS = {"step": "int64", "lessons": "int64", "loss": "float64", "learning_rate": "float64", "gradient_norm": "float64"}


def write_record(steps: Sequence[Mapping[str, float]], path: Path) -> None:
    """Write the steps of one training."""
    pd.DataFrame(steps, columns=list(COLUMNS)).to_csv(path, index=False, lineterminator="\n")


def read_record(path: Path) -> pd.DataFrame:
    """The steps of one training.

    Raises:
        UserError: the file is missing or is not such a record.
    """
    fix = "Give a folder that `worldsense finetune` wrote."
    try:
        record = pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise UserError(path, "cannot be read as CSV in UTF-8.", fix) from error
    if list(record.columns) != list(COLUMNS):
        raise UserError(path, f"has the columns {', '.join(map(str, record.columns))}.", fix)
    try:
        return record.astype(COLUMNS)
    except ValueError as error:
        raise UserError(path, "contains a cell that is not a number.", fix) from error
