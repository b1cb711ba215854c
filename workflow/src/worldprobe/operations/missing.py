"""Models whose answers could not be computed: what their logs say, so that the others are summarised without them.

A model counts as missing only if its last job ended with an error of its own and its answers are not all there. What was
interrupted or never begun does not: it is simply asked.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from worldprobe.operations.status import Answers
from worldprobe.paths import StudyPaths

#: What the main process passes to its jobs on a cluster, which read the configuration again while answers come in.
VARIABLE = "WORLDPROBE_MISSING"
#: The rules that make a model ready, before those that evaluate it.
FIRST = ("fetch_model", "train_control")


def missing_models(
    study: Mapping[str, Any],
    answers: Answers,
    models: Sequence[str],
    folder: Path = Path(),
) -> dict[str, str]:
    """The study's models without answers, and why, in one line each; none where the study allows none to be missing.

    A study of which no model at all has answers has no missing ones: there is nothing to summarise yet.

    Args:
        study: a validated study.
        answers: the study and a model -> the files that evaluating it leaves, by the rule that makes them.
        models: ids of all that are evaluated.
        folder: where Snakemake runs.
    """
    logs = folder / StudyPaths.of(study).logs
    if not study.get("allow_missing") or not logs.is_dir():
        return {}
    found = {}
    for model in models:
        left = answers(study, model)
        if all((folder / path).exists() for paths in left.values() for path in paths):
            continue
        if reason := failure(logs, model, left):
            found[model] = reason
    return found if len(found) < len(models) else {}


def failure(logs: Path, model: str, rules: Iterable[str]) -> str:
    """Why a model's last job failed, or nothing; ``rules`` are those that evaluate it."""
    files = [
        path
        for step in (*FIRST, *rules)
        for path in [logs / step / f"{model}.log", *sorted((logs / step).glob(f"*/{model}.log"))]
    ]
    files += sorted((logs / "fetch_model" / model).glob("*.log"))
    present = [path for path in files if path.is_file()]
    if not present:
        return ""
    return reason(max(present, key=lambda path: path.stat().st_mtime).read_text(encoding="utf-8", errors="replace"))


def reason(log: str) -> str:
    r"""The last error that a log reports, in one line; nothing where it reports none.

    >>> reason("loading\nerror: my/model\n  problem: is not in the cache.\n  fix: Fetch it.\n")
    'is not in the cache'
    >>> reason("Traceback (most recent call last):\n  ...\nValueError: no\n")
    'ValueError: no'
    >>> reason("1,000 of 4,036 items\n")
    ''
    """
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    if not lines:
        return ""
    problems = [line.removeprefix("problem:").strip().rstrip(".") for line in lines if line.startswith("problem:")]
    if problems and lines[-1].startswith(("fix:", "problem:")):
        return problems[-1]
    if any(line.startswith("Traceback") for line in lines):
        return lines[-1]
    return ""


def share_with_jobs(missing: Mapping[str, str], is_main_process: bool) -> dict[str, str]:
    """The same missing models in every process of one run: what the main process found, handed to its jobs."""
    if is_main_process:
        os.environ[VARIABLE] = json.dumps(dict(missing))
        return dict(missing)
    return json.loads(os.environ[VARIABLE]) if VARIABLE in os.environ else dict(missing)
