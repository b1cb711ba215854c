"""The numbers that the WorldSense paper prints in tables and text (``resources/published/worldsense.csv``)."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd

from worldprobe.errors import UserError
from worldprobe.paths import RESOURCES

COLUMNS = (
    *("block", "quantity", "model", "eval_type", "condition", "problem", "size", "complexity", "query", "domain"),
    *("printed", "digits"),
)
FILE = RESOURCES / "published" / "worldsense.csv"
SOURCE = "Benchekroun et al. 2023, arXiv 2311.15930"
#: Ways of writing a model -> the paper's name of it; letters and digits only.
ALIASES = {
    "gpt35turbo": "GPT3.5",
    "gpt35": "GPT3.5",
    "gpt4": "GPT4",
    "llama2chat": "Llama2-chat",
    "llama2chat70b": "Llama2-chat",
    "llama270bchat": "Llama2-chat",
    "llama270bchathf": "Llama2-chat",
    # The release's files of results leave the size out.
    **{f"llama2ft{number}": f"Llama2-70B-FT+{number}" for number in ("0", "100k", "1M")},
}


def read_published(path: Path = FILE) -> pd.DataFrame:
    """``COLUMNS``, as text but for digits; "all" where a column was averaged over.

    Raises:
        UserError: the file is missing, has other columns, or a cell that is not a number.
    """
    fix = "Restore the file, or leave out --published."
    try:
        numbers = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (OSError, ValueError) as error:
        raise UserError(path, "cannot be read as CSV in UTF-8.", fix) from error
    if tuple(numbers.columns) != COLUMNS:
        raise UserError(path, f"has the columns {', '.join(numbers.columns)}.", f"They must be {', '.join(COLUMNS)}.")
    for column in ("printed", "digits"):
        bad = numbers.index[pd.to_numeric(numbers[column], errors="coerce").isna()]
        if len(bad):
            raise UserError(f"{path}, line {bad[0] + 2}", f'{column}: "{numbers[column][bad[0]]}" is not a number.', fix)
    return numbers.astype({"digits": int})


def published_name(*names: str) -> str | None:
    """The paper's name of a model that is written in any of these ways; None where the paper has no such model.

    >>> published_name("gpt_3_5_turbo"), published_name("Llama2-70B-FT+1M"), published_name("pythia_70m")
    ('GPT3.5', 'Llama2-70B-FT+1M', None)
    """
    known = {_plain(name): paper for name, paper in ALIASES.items()} | {_plain(name): name for name in _FINETUNED}
    return next((known[_plain(name)] for name in names if _plain(name) in known), None)


_FINETUNED = tuple(f"Llama2-{size}B-FT+{number}" for size in (7, 70) for number in ("0", "10k", "100k", "1M"))


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
