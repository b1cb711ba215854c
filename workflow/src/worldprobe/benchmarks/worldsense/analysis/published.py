"""The numbers that the WorldSense paper prints in tables and text (``resources/published/worldsense.csv``)."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd

from worldprobe.analysis.reproduction import read_numbers
from worldprobe.contracts.results import ALL, JOINT, OVERALL
from worldprobe.paths import RESOURCES

GROUPED = ("problem", "size", "complexity", "query", "domain")
COLUMNS = ("block", "quantity", "model", "eval_type", "condition", *GROUPED, "printed", "digits")
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
    """``COLUMNS``, as text but for digits, "all" where a column was averaged over; and the grouping and group of the summaries.

    Raises:
        UserError: as ``read_numbers``.
    """
    numbers = read_numbers(path, COLUMNS)
    named = [[(name, row[name]) for name in GROUPED if row[name] != ALL] for row in numbers[list(GROUPED)].to_dict("records")]
    groupings = ["_".join(name for name, _ in row) or OVERALL for row in named]
    return numbers.assign(grouping=groupings, group=[JOINT.join(value for _, value in row) or ALL for row in named])


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
