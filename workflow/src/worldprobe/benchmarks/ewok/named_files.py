"""Files that a study of EWoK names: each exists, or a rule makes it. Snakemake itself would quietly use older results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from worldprobe.benchmarks.ewok.human.settings import SIMULATED
from worldprobe.benchmarks.ewok.settings import check_settings
from worldprobe.benchmarks.ewok.targets import prompt_file
from worldprobe.config import Finding, Keys

#: The archive of the official materials, which ``fetch_ewok_config`` downloads.
ARCHIVE = "resources/downloads/ewok-config.zip"


def check_study(block: Mapping[str, Any]) -> Iterator[Finding]:
    """What is wrong with the settings of EWoK, and which of the files that they name do not exist."""
    yield from check_settings(block)
    yield from check_files(block)


def check_files(block: Mapping[str, Any]) -> Iterator[Finding]:
    """The files that are named and do not exist, each with its key in the block, the problem and the fix."""
    for keys, name in _named(block):
        if not Path(name).exists():
            yield keys, f"there is no file or folder {name}.", "Correct the path, or put it there."
    for condition in block["conditions"].values():
        name = condition["prompting"]["prompts"]
        if not prompt_file(name).is_file():
            problem = f"there are no prompts {name}."
            yield ("prompting", "prompts"), problem, "Name a set in resources/prompts, or a YAML file."


def _named(block: Mapping[str, Any]) -> Iterator[tuple[Keys, str]]:
    source = block["materials"]["source"]
    if source not in ("builtin", ARCHIVE):
        yield ("materials", "source"), source
    if block["human"]["ratings"]:
        yield ("human", "ratings"), block["human"]["ratings"]
    for name in ("responses", "key"):
        given = block["human"][name]
        if given and given != SIMULATED:
            yield ("human", name), given
    if block["released"]["results"]:
        yield ("released", "results"), block["released"]["results"]
    word2vec = block["baselines"]["word2vec"]
    if word2vec["enabled"] and word2vec["vectors"] != "trained":
        yield ("baselines", "word2vec", "vectors"), word2vec["vectors"]
    for number, name in enumerate(block["baselines"]["frequency"]["files"]):
        yield ("baselines", "frequency", "files", number), name
