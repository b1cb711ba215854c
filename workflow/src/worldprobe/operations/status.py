"""How far a study is: which models have answers, which failed and why, from its files and logs.

What runs and waits is Snakemake's and SLURM's to say.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from worldprobe.benchmark import Registry
from worldprobe.benchmarks import all_models, answers_by_rule, downloads
from worldprobe.missing import Stage, forget_missing, missing_below, read_missing
from worldprobe.models.controls import corpus
from worldprobe.operations.access import refusal
from worldprobe.paths import StudyPaths
from worldprobe.sources import by_reason, shipped_files

#: The rules that make a model ready, before those that evaluate it.
FIRST = ("fetch_model", "train_control")
#: The last line of a job that gave up (``worldprobe attempt``).
_GIVEN_UP = re.compile(r"^\S+ WARNING \S+ is missing: (.+)$")


def refused(study: Mapping[str, Any], registry: Registry, folder: Path = Path()) -> dict[str, str]:
    """The models without answers that cannot be had before somebody sets a token or a key, and why.

    Args:
        study: a validated study.
        registry: model id -> card.
        folder: where Snakemake runs.
    """
    reasons = {
        model: refusal(registry[model], study["accept_terms"])
        for model, left in unfinished(study, folder).items()
        if left
    }
    return {model: why for model, why in reasons.items() if why}


def unfinished(study: Mapping[str, Any], folder: Path = Path()) -> dict[str, list[str]]:
    """Each model that is evaluated -> the rules that have not made all their files, or that gave
    up.
    """
    files = {model: answers_by_rule(study, model) for model in all_models(study)}
    return {
        model: [rule for rule in rules if not all(_is_there(folder / path) for path in rules[rule])]
        for model, rules in files.items()
        if rules
    }


def _is_there(path: Path) -> bool:
    return path.exists() and read_missing(path) is None


def not_rehearsed(study: Mapping[str, Any], folder: Path = Path()) -> dict[str, str]:
    """The files that a rehearsal, which has no network, lacks, and why; nothing of another study.

    Args:
        study: a validated study.
        folder: where Snakemake runs.
    """
    if not study.get("rehearsal"):
        return {}
    reason = "it is not here, and a rehearsal downloads nothing"
    files = downloads(study).keys() & shipped_files().keys()
    return {name: reason for name in files if not (folder / name).exists()}


def after_run(
    study: Mapping[str, Any], left_out: Mapping[str, str], again: Collection[Stage]
) -> Iterator[str]:
    """What is not in the tables of a run that ended, line by line; what is tried again is missing
    without a trace from here on.

    Args:
        study: a validated study.
        left_out: model or file -> why the run did not try to have it.
        again: what is tried again.
    """
    paths = StudyPaths.of(study)
    folders = [Path(root) for root in (paths.root, paths.models, corpus(study).root)]
    notes = list(missing_below(folders))
    # notes of fetched models and control models are all studies'
    names = {note.name for path, note in notes if path.is_relative_to(paths.root)}
    names |= {*all_models(study)}
    given_up = [(path, note) for path, note in notes if note.name in names]
    reasons = {name: [why] for name, why in left_out.items()}
    for _, note in given_up:
        whys = reasons.setdefault(note.name, [])
        whys += [note.reason] if note.reason not in whys else []
    for why, missing in by_reason(
        {name: "; ".join(whys) for name, whys in reasons.items()}
    ).items():
        yield f"Without {', '.join(missing)}: {why}."
    tried = [(path, note) for path, note in given_up if note.stage in again]
    left = {note.name for _, note in given_up if note.stage not in again}
    if tried and left:
        [them] = by_reason({note.name: "" for _, note in tried}).values()
        yield f"The next run tries {', '.join(them)} again."
    elif tried:
        yield "The next run tries them again."
    forget_missing(path for path, _ in tried)


def progress(study: Mapping[str, Any], folder: Path = Path()) -> list[tuple[str, str, str]]:
    """Each model that is evaluated, whether it is done, failed, unfinished or not begun, and why or
    how far.

    Args:
        study: a validated study.
        folder: where Snakemake runs.
    """
    logs = folder / StudyPaths.of(study).logs
    given_up = {
        note.name: note.reason for _, note in missing_below([folder / StudyPaths.of(study).root])
    }
    lines = []
    for model, left in unfinished(study, folder).items():
        log = latest_log(logs, model, left)
        if not left:
            lines.append((model, "done", ""))
        elif why := given_up.get(model) or reason(log):
            lines.append((model, "failed", why))
        elif log.strip():
            lines.append((model, "unfinished", log.strip().splitlines()[-1]))
        else:
            lines.append((model, "not begun", ""))
    return lines


def latest_log(logs: Path, model: str, rules: Iterable[str]) -> str:
    """The log of a model's last job, or nothing; ``rules`` are those that evaluate it."""
    files = [
        path
        for step in (*FIRST, *rules)
        for path in [logs / step / f"{model}.log", *sorted((logs / step).glob(f"*/{model}.log"))]
    ]
    files += sorted((logs / "fetch_model" / model).glob("*.log"))
    present = [path for path in files if path.is_file()]
    latest = max(present, key=lambda path: path.stat().st_mtime, default=None)
    return latest.read_text(encoding="utf-8", errors="replace") if latest else ""


def reason(log: str) -> str:
    r"""The last error that a log reports, in one line; nothing where it reports none.

    >>> reason("loading\nerror: my/model\n  problem: is not in the cache.\n  fix: Fetch it.\n")
    'is not in the cache'
    >>> reason("Traceback (most recent call last):\n  ...\nValueError: no\n")
    'ValueError: no'
    >>> reason("17:02:11 WARNING mine is missing: has no weights\n")
    'has no weights'
    >>> reason("1,000 of 4,036 items\n")
    ''
    """
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    if lines and (given_up := _GIVEN_UP.search(lines[-1])):
        return given_up[1]
    if not lines:
        return ""
    problems = [
        line.removeprefix("problem:").strip().rstrip(".")
        for line in lines
        if line.startswith("problem:")
    ]
    if problems and lines[-1].startswith(("fix:", "problem:")):
        return problems[-1]
    if any(line.startswith("Traceback") for line in lines):
        return lines[-1]
    return ""
