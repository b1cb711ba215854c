"""Other benchmarks of fine-tuned models (paper, Table 7), as lm-evaluation-harness measures them,
next to the printed numbers.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd

from worldprobe.benchmarks.worldsense.analysis.reproduction import read_published
from worldprobe.errors import UserError

COLUMNS = ("model", "task", "shots", "metric", "value", "stderr", "source")
#: Metrics in the order in which a task's one number is chosen.
METRICS = (
    "exact_match,flexible-extract",
    "exact_match,strict-match",
    "exact_match,none",
    "math_verify,none",
    "acc,none",
)
#: Start of a task's name -> the benchmark as the paper's Table 7 names it.
PAPERS = {"mmlu": "MMLU", "gsm8k": "GSM8K", "minerva_math": "MATH", "hendrycks_math": "MATH"}


def measure_tasks(
    model: str,
    checkpoint: str,
    tasks: Sequence[tuple[str, int | None]],
    options: Mapping[str, Any],
    include: Path | None = None,
) -> list[dict[str, Any]]:
    """One row per task.

    Args:
        model: its name.
        checkpoint: folder, or hub id that was fetched.
        tasks: names and numbers of examples; None: the task's own.
        options: of the harness's model: dtype, revision, trust_remote_code.
        include: folder of further tasks.

    Raises:
        UserError: the harness is not installed, a task or its data are not here, or it gives no
            number that is known.
    """
    if find_spec("lm_eval") is None:
        raise UserError(
            "Python package lm_eval",
            "is not installed, and these benchmarks need it.",
            "pip install lm_eval",
        )
    return [_measure(model, checkpoint, task, shots, options, include) for task, shots in tasks]


def _measure(
    model: str,
    checkpoint: str,
    task: str,
    shots: int | None,
    options: Mapping[str, Any],
    include: Path | None,
) -> dict[str, Any]:
    stated = ",".join(
        f"{key}={value}" for key, value in {"pretrained": checkpoint, **options}.items()
    )
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "lm_eval",
            "run",
            "--model",
            "hf",
            "--model_args",
            stated,
            "--tasks",
            task,
        ]
        command += ["--output_path", f"{folder}/found.json", "--seed", "0"]
        command += ["--num_fewshot", str(shots)] if shots is not None else []
        command += ["--include_path", str(include)] if include else []
        offline = {
            "HF_HUB_OFFLINE": "1",
            "HF_DATASETS_OFFLINE": "1",
        }  # only `fetch` uses the network
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env=os.environ | offline
        )
        written = sorted(Path(folder).rglob("*.json"))
        if done.returncode or not written:
            last = (done.stderr.strip().splitlines() or ["it wrote nothing"])[-1][:300]
            fix = (
                "Check the task's name (`lm-eval ls tasks`), and put its data into the cache where"
                " there is internet."
            )
            raise UserError(
                f"task {task}", f"lm-evaluation-harness cannot measure it here: {last}", fix
            )
        return _row(model, task, shots, json.loads(written[-1].read_text(encoding="utf-8")))


def _row(model: str, task: str, shots: int | None, document: Mapping[str, Any]) -> dict[str, Any]:
    results = {**document.get("results", {}), **document.get("groups", {})}.get(task, {})
    metric = next((name for name in METRICS if name in results), None)
    metric = metric or next(
        (
            name
            for name, value in results.items()
            if isinstance(value, float) and "stderr" not in name
        ),
        None,
    )
    if metric is None:
        raise UserError(
            f"task {task}",
            "has no number in what lm-evaluation-harness wrote.",
            "Name another task.",
        )
    name, _, kind = metric.partition(",")
    stderr = results.get(f"{name}_stderr,{kind}")
    used = document.get("n-shot", {}).get(task, shots)
    return {
        "model": model,
        "task": task,
        "shots": used if shots is None else shots,
        "metric": metric,
        "value": results[metric],
        "stderr": stderr if isinstance(stderr, float) else None,
        "source": "this run",
    }


def next_to_published(paths: Iterable[Path]) -> pd.DataFrame:
    """Our rows, and below those of a task that the paper's Table 7 has the paper's.

    Args:
        paths: files with rows of ``COLUMNS``, e.g. one for each model.

    Raises:
        UserError: a file is not such a table.
    """
    parts = []
    for path in paths:
        try:
            parts.append(pd.read_csv(path)[list(COLUMNS)])
        except (OSError, ValueError, KeyError) as error:
            problem = f"is not a table of other benchmarks ({error})."
            raise UserError(
                path, problem, "Give files that `worldsense ask-external` wrote."
            ) from error
    ours = pd.concat(parts, ignore_index=True)
    named = ours["task"].map(
        lambda task: next(
            (title for start, title in PAPERS.items() if str(task).startswith(start)), None
        )
    )
    numbers = read_published()
    numbers = numbers[numbers["block"] == "table7"]
    rows = []
    for task, title in dict(zip(ours["task"], named, strict=True)).items():
        for model, group in numbers[numbers["condition"] == title].groupby("model", sort=False):
            printed = group.set_index("quantity")["printed"].astype(float)
            shots = int(group["eval_type"].iloc[0].split()[-1].partition("-")[0])
            half = printed["accuracy_conf95"] / 1.96
            rows.append((model, task, shots, "as printed", printed["accuracy"], half, "paper"))
    theirs = pd.DataFrame(rows, columns=list(COLUMNS))
    both = pd.concat([ours, theirs], ignore_index=True) if rows else ours
    order = {task: number for number, task in enumerate(dict.fromkeys(ours["task"]))}
    return both.sort_values(
        "task", key=lambda column: column.map(order), kind="stable"
    ).reset_index(drop=True)
