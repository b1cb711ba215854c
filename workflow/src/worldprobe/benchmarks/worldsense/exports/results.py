"""Responses in the official layout: ``<prompting>___<model>___results.jsonl``, one object with ``Key`` and ``resp`` a line."""

from __future__ import annotations

import bz2
import json
from pathlib import Path

import pandas as pd

from worldprobe.errors import UserError
from worldprobe.files import whole_file
from worldprobe.log import LOGGER


def results_name(prompting: str, model: str, is_compressed: bool = True) -> str:
    """The name of a file of results, from which official readers take prompting and model.

    Raises:
        UserError: a reader could not tell prompting and model apart in the name.

    >>> results_name("basic", "GPT4")
    'basic___GPT4___results.jsonl.bz2'
    """
    name = f"{prompting}___{model}___results.jsonl{'.bz2' if is_compressed else ''}"
    if not model or "/" in name or name.split("___")[:2] != [prompting, model] or model.endswith("_"):
        problem = "cannot be parts of an official file's name, which are joined by ___."
        fix = "Rename it: letters, digits, dot, dash and single underscores, none of them last."
        raise UserError(f"prompting {prompting}, model {model}", problem, fix)
    return name


def write_results(responses: pd.DataFrame, model: str, folder: Path, is_compressed: bool = True) -> list[Path]:
    """Write greedy responses, or the first sample of each trial, one file per prompting; no answer is an empty string.

    Args:
        responses: contract Responses.
        model: the model's name.
        folder: where the files go.
        is_compressed: ``.bz2``, as the released files are.

    Returns:
        The files.
    """
    written = []
    first = responses[responses["sample"] == 0]
    if len(first) < len(responses):
        LOGGER.warning("%s: the layout has one answer per trial; of several samples, the first is written", model)
    for prompting, rows in first.groupby("prompting", sort=True):
        lines = [
            json.dumps({"Key": int(key), "resp": answer if isinstance(answer, str) else ""}, separators=(",", ":")) + "\n"
            for key, answer in zip(rows["trial_id"], rows["answer"], strict=True)
        ]
        content = "".join(lines).encode()
        place = folder / results_name(str(prompting), model, is_compressed)
        with whole_file(place) as temporary:
            temporary.write_bytes(bz2.compress(content) if is_compressed else content)
        written.append(place)
    return written
