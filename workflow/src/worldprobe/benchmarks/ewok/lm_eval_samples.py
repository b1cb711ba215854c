"""Samples that lm-evaluation-harness logged of our task, read back as target scores: our questions, asked by another tool."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from worldprobe.errors import UserError
from worldprobe.models.engine import NOT_FINITE

FIX = "Export these items again (`worldprobe items export ITEMS --format lm-eval`) and log the samples of that task."


@dataclass(frozen=True)
class Samples:
    """What was logged.

    Attributes:
        scores: contracts.TargetScores; lm-eval does not log numbers of tokens, so n_tokens is 0.
        model: lm-eval's name of the checkpoint.
        revision: of a hub id.
        dtype: float32, bfloat16 or float16.
        packages: lm_eval and transformers, with their versions.
    """

    scores: pd.DataFrame
    model: str
    revision: str | None
    dtype: str | None
    packages: dict[str, str]


def read_samples(folder: Path, items: pd.DataFrame) -> Samples:
    """Read the newest run in a folder that lm-eval wrote (``--output_path``, with ``--log_samples``).

    Args:
        folder: with one results_DATE.json and samples_TASK_DATE.jsonl, possibly in a folder of the model's.
        items: contracts.Items, all of which must have been asked, and no others.

    Raises:
        UserError: there is no run, it asked something else, or a line is not a sample.
    """
    runs = sorted(folder.rglob("results_*.json"), key=lambda path: path.name)
    if not runs:
        problem = "contains no results of lm-eval (results_DATE.json)."
        raise UserError(folder, problem, "Name the folder that --output_path named.")
    if len({path.parent for path in runs}) > 1:
        raise UserError(folder, "contains results of several models.", f"Name one model's folder, e.g. {runs[0].parent}.")
    stated, date = _read_run(runs[-1]), runs[-1].stem.removeprefix("results_")
    files = sorted(runs[-1].parent.glob(f"samples_*_{date}.jsonl"))
    if not files:
        raise UserError(runs[-1], "has no samples next to it.", "Run lm-eval again with --log_samples.")
    wanted: dict[tuple[str, int], list[str]] = {}
    for target in (1, 2):
        columns = ["item_id", "context1", "context2", f"target{target}"]
        wanted |= {(row[0], target): row[1:] for row in items[columns].astype(object).to_numpy().tolist()}
    found: dict[tuple[str, int], list[float]] = {}
    for path in files:
        _read_file(path, wanted, found)
    if missing := sorted(wanted.keys() - found.keys()):
        problem = f"{len(missing)} of {len(wanted)} targets were not asked, e.g. target {missing[0][1]} of {missing[0][0]}."
        raise UserError(runs[-1].parent, problem, FIX)
    config = stated.get("config", {})
    versions = {name: stated.get(f"{name}_version") for name in ("lm_eval", "transformers")}
    return Samples(
        _frame(found),
        str(stated.get("model_name") or "lm-eval"),
        config.get("model_sha") or None,
        str(config["model_dtype"]).removeprefix("torch.") if config.get("model_dtype") else None,
        {name: str(version) for name, version in versions.items() if version},
    )


def _read_run(path: Path) -> dict[str, Any]:
    """What lm-eval says of a run.

    Raises:
        UserError: it is not its JSON, or the run changed the questions.
    """
    try:
        stated = json.loads(path.read_text(encoding="utf-8"))
        shots = max(stated["n-shot"].values(), default=0)
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise UserError(path, "is not a results file of lm-eval.", "Run lm-eval again.") from error
    for is_given, option in (
        (bool(stated.get("chat_template")), "--apply_chat_template"),
        (bool(stated.get("system_instruction")), "--system_instruction"),
        (shots > 0, "--num_fewshot"),
    ):
        if is_given:
            raise UserError(path, f"was asked with {option}, which is another question.", f"Run it again without {option}.")
    return dict(stated)


def _read_file(path: Path, wanted: Mapping[tuple[str, int], Sequence[str]], found: dict[tuple[str, int], list[float]]) -> None:
    """Add a file's log probabilities under both contexts, by item and target.

    Raises:
        UserError: a line is not a sample of these items.
    """
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        where = f"{path}, line {number}"
        try:
            sample = json.loads(line)
            doc, asked, answered = sample["doc"], sample["arguments"], sample["filtered_resps"]
            key = (str(doc["item_id"]), int(doc["target"]))
            pairs = [(asked[f"gen_args_{k}"]["arg_0"], asked[f"gen_args_{k}"]["arg_1"]) for k in (0, 1)]
            values = [float(answered[k][0]) for k in (0, 1)]
        except (ValueError, KeyError, IndexError, TypeError) as error:
            raise UserError(where, "is not a sample of worldprobe's task.", FIX) from error
        if key not in wanted:
            raise UserError(where, f"target {key[1]} of {key[0]} is not among these items.", FIX)
        context1, context2, target = wanted[key]
        if pairs != [(context1, " " + target), (context2, " " + target)]:
            problem = f"target {key[1]} of {key[0]} was asked with other texts than those of these items."
            raise UserError(where, problem, FIX)
        if key in found:
            raise UserError(where, f"target {key[1]} of {key[0]} occurs a second time.", "Name the folder of one run.")
        found[key] = values


def _frame(found: Mapping[tuple[str, int], Sequence[float]]) -> pd.DataFrame:
    rows = [
        (item, target, context, value, 0, "")
        if math.isfinite(value) and value <= 0
        else (item, target, context, None, 0, NOT_FINITE)
        for (item, target), values in sorted(found.items())
        for context, value in zip((1, 2), values, strict=True)
    ]
    columns = ["item_id", "target", "context", "logprob", "n_tokens", "flags"]
    frame = pd.DataFrame(rows, columns=columns)
    return frame.astype({"item_id": "str", "logprob": "float64", "flags": "str"})
