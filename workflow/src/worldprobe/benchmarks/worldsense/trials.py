"""Reading trials, whatever the layout."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from worldprobe.benchmarks.worldsense.contracts import Trials
from worldprobe.benchmarks.worldsense.official import check_fields, check_tuples, is_official, read_official
from worldprobe.contracts import read_table


def read_trials(path: Path | str) -> pd.DataFrame:
    """Trials of an official file (``.jsonl``, ``.jsonl.bz2``, ``.jsonl.gz``) or of our table (Parquet), in our columns.

    Raises:
        UserError: as the readers; or a field cannot be read or a tuple is incomplete.
    """
    if is_official(path):
        return read_official(path)
    trials = read_table(path, Trials)
    check_fields(trials, str(path))
    check_tuples(trials, str(path))
    return trials
