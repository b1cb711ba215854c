"""How far a study is: which models have answers, which failed and why, from its files and logs.

What runs and waits is Snakemake's and SLURM's to say.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from worldprobe.benchmark import Registry
from worldprobe.benchmarks import all_models, answers_by_rule, downloads, outdated
from worldprobe.operations.access import refusal
from worldprobe.paths import DOWNLOADS, StudyPaths
from worldprobe.sources import by_reason

#: What the main process passes to its jobs on a cluster, which read the configuration again while
#: answers come in.
VARIABLE = "WORLDPROBE_MISSING"
#: The rules that make a model ready, before those that evaluate it.
FIRST = ("fetch_model", "train_control")


def missing_models(
    study: Mapping[str, Any], folder: Path = Path(), without: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The study's models without answers, and why, in one line each; none where the study allows
    none to be missing.

    A study of which no model at all has answers has no missing ones: there is nothing to summarise
    yet.

    Args:
        study: a validated study.
        folder: where Snakemake runs.
        without: model -> why it cannot be had (``refused``), whatever an earlier run said.
    """
    logs = folder / StudyPaths.of(study).logs
    if not study.get("allow_missing"):
        return {}
    missing = {}
    for model, left in unfinished(study, folder).items():
        why = (without or {}).get(model) or (reason(latest_log(logs, model, left)) if left else "")
        if left and why:
            missing[model] = why
    return missing if len(missing) < len(all_models(study)) else {}


def refused(study: Mapping[str, Any], registry: Registry, folder: Path = Path()) -> dict[str, str]:
    """The models without answers that cannot be had before somebody sets a token or a key, and why.

    Args:
        study: a validated study.
        registry: model id -> card.
        folder: where Snakemake runs.
    """
    reasons = {
        model: refusal(registry[model]) for model, left in unfinished(study, folder).items() if left
    }
    return {model: why for model, why in reasons.items() if why}


def unfinished(study: Mapping[str, Any], folder: Path = Path()) -> dict[str, list[str]]:
    """Each model that is evaluated -> the rules that have not made all their files."""
    files = {model: answers_by_rule(study, model) for model in all_models(study)}
    return {
        model: [rule for rule in rules if not all((folder / path).exists() for path in rules[rule])]
        for model, rules in files.items()
        if rules
    }


def not_fetched(study: Mapping[str, Any], folder: Path = Path()) -> dict[str, str]:
    """What an earlier run tried to fetch in vain, and why: models, baselines and files, by the
    names of their logs' folders.

    Args:
        study: a validated study.
        folder: where Snakemake runs.
    """
    logs = folder / StudyPaths.of(study).logs
    files = logs / "fetch_source"
    named = {
        path: f"{DOWNLOADS}/{path.relative_to(files).with_suffix('')}"
        for path in files.rglob("*.log")
    } | {path: path.parent.name for path in logs.glob("fetch_[bm]*/*/*.log")}
    reasons = {
        named[path]: reason(path.read_text(encoding="utf-8", errors="replace"))
        for path in sorted(named, key=_age)
    }
    return {name: why for name, why in reasons.items() if why}


def _age(path: Path) -> float:
    return path.stat().st_mtime


def unfetched(study: Mapping[str, Any], folder: Path = Path()) -> dict[str, str]:
    """The files and baselines of a study that an earlier run tried to fetch in vain and that are
    still not there, and why; in a rehearsal all files that are not there. None where the study
    allows nothing to be missing.

    Args:
        study: a validated study.
        folder: where Snakemake runs.
    """
    if not study.get("allow_missing"):
        return {}
    failed = not_fetched(study, folder)
    if study.get("rehearsal"):  # without a network
        failed |= {
            name: "it is not here, and a rehearsal downloads nothing"
            for name, path in downloads(study).items()
            if name == path
        }
    if not failed:
        return {}
    absent = {name for name, path in downloads(study).items() if not (folder / path).exists()}
    return {name: why for name, why in failed.items() if name in absent}


def left_out(
    study: Mapping[str, Any],
    missing: Mapping[str, str],
    without: Mapping[str, str],
    lacking: Mapping[str, str],
) -> dict[str, str]:
    """What a run does not try, and why.

    Args:
        study: a validated study.
        missing: models that this run does without, and why.
        without: models that cannot be had, and why.
        lacking: files and baselines that could not be fetched, and why.
    """
    names = {model for model in missing if model in without}
    if study.get("rehearsal"):
        names |= lacking.keys()
    if not study["fetch_again"]:
        names |= not_fetched(study).keys()
    if not study["ask_again"]:
        names |= missing.keys()
    return {name: why for name, why in {**missing, **lacking}.items() if name in names}


def progress(study: Mapping[str, Any], folder: Path = Path()) -> list[tuple[str, str, str]]:
    """Each model that is evaluated, whether it is done, failed, unfinished or not begun, and why or
    how far.

    Args:
        study: a validated study.
        folder: where Snakemake runs.
    """
    logs = folder / StudyPaths.of(study).logs
    lines = []
    for model, left in unfinished(study, folder).items():
        log = latest_log(logs, model, left)
        if not left:
            lines.append((model, "done", ""))
        elif why := reason(log):
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
    >>> reason("1,000 of 4,036 items\n")
    ''
    """
    lines = [line.strip() for line in log.splitlines() if line.strip()]
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


def share_with_jobs(
    missing: Mapping[str, str], is_main_process: bool, variable: str = VARIABLE
) -> dict[str, str]:
    """The same missing models in every process of one run: what the main process found, handed to
    its jobs.
    """
    if is_main_process:
        os.environ[variable] = json.dumps(dict(missing))
        return dict(missing)
    return json.loads(os.environ[variable]) if variable in os.environ else dict(missing)


def after_failure(
    study: Mapping[str, Any],
    registry: Registry,
    missing: Collection[str],
    lacking: Collection[str] = (),
    goes_on: bool = False,
) -> Iterator[str]:
    """What a run that failed has not got, and how to go on without it, line by line. What an
    earlier run made with a model that is still missing is removed, e.g. comparisons.

    Args:
        study: a validated study, with what could not be fetched.
        registry: model id -> card.
        missing: ids of the models that this run did without.
        lacking: files and baselines that it did without.
        goes_on: the rest is made without it now (``rest_of_run``).
    """
    failed = missing_models({**study, "allow_missing": True})
    for model, why in failed.items():
        yield f"{model} has no answers: {why}"
    files = unfetched({**study, "allow_missing": True})
    for why, names in by_reason(files).items():
        yield f"{', '.join(names)} could not be fetched: {why}"
    if not study["allow_missing"]:
        return
    if {*failed, *files} - {*missing, *lacking} and not goes_on:
        yield (
            "Run the same command again: the rest is made without what is named here, and it is"
            " tried again."
        )
    still = [model for model in failed if model in missing]
    for path in filter(os.path.isfile, outdated(study, still, registry)):
        os.remove(path)
        yield f"Removed, as it was made with {' and '.join(still)}: {path}"


#: What tells the Snakemake that makes the rest of a run that nothing is tried again: its command
#: line says the same as the run's, and what a profile says is not on it.
REST = "WORLDPROBE_REST"
#: What Snakemake's log has of a run that somebody stopped: by Ctrl-C, by a signal to its process.
_STOPPED = ("Terminating processes on user request", "Will exit after finishing currently running")


def without_retries(study: Mapping[str, Any]) -> dict[str, Any]:
    """The study of this process: in the rest of a run, what failed in it is not tried again."""
    is_rest = REST in os.environ
    return {**study, **(dict.fromkeys(("fetch_again", "ask_again"), False) if is_rest else {})}


def was_stopped(logs: Iterable[str | Path]) -> bool:
    """Whether somebody stopped the run, by Snakemake's logs of it."""
    texts = (Path(log).read_text(encoding="utf-8", errors="replace") for log in logs)
    return any(words in text for text in texts for words in _STOPPED)


def rest_of_run(
    study: Mapping[str, Any],
    missing: Collection[str],
    lacking: Collection[str],
    arguments: Sequence[str],
    places: Sequence[str] = (),
) -> list[str]:
    """The command that makes the rest after a run that kept going: without what failed in it, which
    is not tried again (``make_rest``). Empty where there is no such rest: nothing new failed,
    something else has yet to be done (the run was interrupted), files were asked for by name, or
    Snakemake was not called by its own command.

    Args:
        study: a validated study, with what could not be fetched.
        missing: ids of the models that the run did without.
        lacking: files and baselines that it did without.
        arguments: the words of its command line, the program first.
        places: where ``--directory`` has moved to another folder, from which relative paths lead
            elsewhere: options that name Snakefile, folder and configuration once more.
    """
    program, *words = arguments
    allowed = {**study, "allow_missing": True}
    failed = {*missing_models(allowed), *unfetched(allowed)}
    left = {model for model, rules in unfinished(study).items() if rules}
    files = tuple(downloads(study).values())
    results = f"{StudyPaths.of(study).results}/"
    has_profile = any("-profile" in word for word in words)
    reasons_against = (
        not study["allow_missing"],
        not (study["fetch_again"] or study["ask_again"]),
        not failed - {*missing, *lacking},
        left - {*failed, *missing},
        any(word.startswith(results) or word in files for word in words),
        places and has_profile,  # a profile that is not found from there may be ignored
        Path(program).name not in ("snakemake", "__main__.py"),
    )
    if any(reasons_against):
        return []
    end = words.index("--") if "--" in words else len(words)
    again = [*words[:end], *places, "--nolock", *words[end:]]
    return [sys.executable, "-m", "snakemake", *again]


def make_rest(command: Sequence[str]) -> None:
    """Run the command of ``rest_of_run`` to its end. Ctrl-C reaches it, too: it stops its jobs."""
    rest = subprocess.Popen(command, env={**os.environ, REST: "1"})
    while rest.returncode is None:
        with contextlib.suppress(KeyboardInterrupt):
            rest.wait()


def after_success(missing: Collection[str], left_out: Mapping[str, str]) -> Iterator[str]:
    """What is not in the tables of a run that succeeded, line by line.

    Args:
        missing: models, files and baselines that the run did without.
        left_out: what it did not try, and why.
    """
    for why, names in by_reason(left_out).items():
        yield f"Without {', '.join(names)}: {why}."
    if left_out:
        yield "The next run tries them again."
    if new := sorted(set(missing) - set(left_out)):
        names = by_reason(dict.fromkeys(new, "")).get("", [])
        yield f"{', '.join(names)}: there now. Run the same command again to include them."
