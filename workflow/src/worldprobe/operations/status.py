"""How far a study is: which models are done, running, waiting or failed, from the results tree, the
processes and the queue.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shlex
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from worldprobe.errors import UserError
from worldprobe.files import write_text
from worldprobe.paths import StudyPaths

#: The study and a model -> the files that evaluating it leaves, by the rule that makes them.
Answers = Callable[[Mapping[str, Any], str], Mapping[str, Sequence[str]]]

#: What slurm/config.yaml puts before the names of its jobs.
JOB_PREFIX = "worldprobe"
#: Of a model that several rules evaluate, the rule that says most is shown.
BY_WEIGHT = ("running", "failed", "unknown", "waiting", "not started")
LINES_SHOWN = 3
#: A log without a new line for longer may belong to a job that hangs; a working one writes every
#: ten seconds.
MINUTES_OF_SILENCE = 10
#: States of squeue in which a job has not ended.
ALIVE = {
    "RUNNING",
    "PENDING",
    "COMPLETING",
    "CONFIGURING",
    "SUSPENDED",
    "REQUEUED",
    "REQUEUE_HOLD",
    "REQUEUE_FED",
    "STOPPED",
}
#: Why SLURM never starts a job as it was asked for: squeue's reason -> what to change.
NEVER = {
    "PartitionTimeLimit": (
        "it asks for more time than the partition allows: name another partition in"
        " config/cluster.yaml"
    ),
    "PartitionNodeLimit": (
        "it asks for more nodes than the partition has: name another partition in"
        " config/cluster.yaml"
    ),
    "BadConstraints": (
        "no node matches: check constraint, gpu_model and gpu_memory_gb in config/cluster.yaml"
    ),
    "QOSMaxWallDurationPerJobLimit": (
        "it asks for more time than the QOS allows: name another qos in config/cluster.yaml"
    ),
    "AssocMaxWallDurationPerJobLimit": (
        "its time is more than the account allows: name another account in config/cluster.yaml"
    ),
    "InvalidAccount": "the account is unknown: correct account in config/cluster.yaml",
    "InvalidQOS": "the QOS is unknown: correct qos in config/cluster.yaml",
}


class Job(NamedTuple):
    """A job of SLURM's, in the queue or lately ended.

    Attributes:
        number: SLURM's id.
        state: SLURM's word, e.g. RUNNING or PENDING.
        elapsed: time it has run.
        reason: why it waits, or its node.
        comment: the plugin's note of rule and wildcards.
    """

    number: str
    state: str
    elapsed: str
    reason: str
    comment: str

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended."""
        return self.state in ALIVE

    @property
    def why(self) -> str:
        """Its reason without brackets."""
        return self.reason.strip("()")


class ModelState(NamedTuple):
    """One line of the overview.

    Attributes:
        model: its id.
        state: done, running, waiting, failed, not started, or unknown.
        detail: what it is at, or the last lines of its log.
        job: its latest job of SLURM's.
        rule: the rule whose job or log this is about.
        is_lost: whether a Snakemake is at work on a cluster, but no job of the model is in the
            queue.
    """

    model: str
    state: str
    detail: str
    job: Job | None = None
    rule: str = ""
    is_lost: bool = False


def read_queue(folder: Path) -> tuple[list[Job], str] | None:
    """This user's jobs that were submitted from a folder (or from here), and why SLURM does not
    answer, if so.

    The latest comes first; jobs that ended are among them as long as SLURM remembers them, usually
    five minutes. None where there is no SLURM, or none is set up.
    """
    if not shutil.which("squeue"):
        return None
    command = [
        "squeue",
        "--me",
        "--states=all",
        "--noheader",
        "--sort=-i",
        "--format",
        "%j|%i|%T|%M|%R|%k|%Z",
    ]
    try:
        printed = subprocess.run(
            command, capture_output=True, text=True, timeout=60, check=True
        ).stdout
    except subprocess.CalledProcessError as error:
        last = (error.stderr.strip().splitlines() or ["squeue failed"])[-1]
        return None if "configuration source" in last else ([], last)
    except (subprocess.SubprocessError, OSError) as error:
        return [], str(error)
    places = {os.path.realpath(folder), os.path.realpath(".")}
    rows = [line.split("|", 6) for line in printed.splitlines()]
    ours = [
        row
        for row in rows
        if len(row) == 7
        and row[0].startswith(JOB_PREFIX)
        and os.path.realpath(row[6].strip()) in places
    ]
    return [Job._make([*row[1:5], row[5].strip()]) for row in ours], ""


def model_states(
    study: Mapping[str, Any],
    registry: Mapping[str, Any],
    answers: Answers,
    folder: Path,
    queue: Sequence[Job],
    is_snakemake_running: bool,
    on_cluster: bool = False,
    silence: str = "",
    models: Sequence[str] | None = None,
) -> list[ModelState]:
    """Every model that the study evaluates, in its order.

    Args:
        study: a validated study.
        registry: model id -> card, with the folders of the control models.
        answers: the study and a model -> the files that evaluating it leaves, by the rule that
            makes them.
        folder: where Snakemake runs.
        queue: jobs of ours, the latest first.
        is_snakemake_running: whether a Snakemake is at work in the folder, or may be, on another
            machine.
        on_cluster: whether that Snakemake submits jobs to SLURM.
        silence: why SLURM does not answer, if so.
        models: ids of all that are evaluated; by default those of the study.
    """
    at_work = _commands_here(folder)
    logs = folder / StudyPaths.of(study).logs

    def state_of(model: str, rule: str, files: Sequence[str]) -> ModelState:
        place = (
            f"{Path(registry[model]['checkpoint']).parent.name}/" if rule == "train_control" else ""
        )
        comments = {
            f"rule_{rule}_wildcards_{wildcards}"
            for wildcards in (model, *_train_wildcards(registry[model], model))
        }
        job = next((job for job in queue if job.comment in comments), None)
        log = logs / rule / f"{place}{model}.log"
        lines = _last_lines(log)
        verb = "training" if rule == "train_control" else "asking"
        ended = f"job {job.number} ended: {job.state}" if job and not job.is_alive else ""
        if job and job.state in ("RUNNING", "COMPLETING"):
            where = f"job {job.number} on {job.reason}, {verb} for {job.elapsed}"
            return ModelState(
                model, "running", "; ".join([where, *lines[-1:], *_silence(log)]), job, rule
            )
        if job and job.is_alive:
            return ModelState(
                model, "waiting", f"job {job.number} is {job.state.lower()} ({job.why})", job, rule
            )
        if pid := next((pid for pid, words in at_work.items() if words.intersection(files)), 0):
            return ModelState(
                model,
                "running",
                "; ".join([f"process {pid}", *lines[-1:], *_silence(log)]),
                None,
                rule,
            )
        if lines and silence:
            return ModelState(model, "unknown", "SLURM does not answer; " + lines[-1], None, rule)
        if (lines or job) and not is_snakemake_running:
            return ModelState(
                model, "failed", " / ".join([*([ended] if ended else []), *lines]), job, rule
            )
        if is_snakemake_running:
            begun = bool(lines or job)
            detail = "; ".join(
                [*([ended] if ended else []), f"queued for {verb}" + (" (retry)" if begun else "")]
            )
            return ModelState(model, "waiting", detail, job, rule, is_lost=begun and on_cluster)
        return ModelState(model, "not started", "", None, rule)

    states = []
    for model in study["models"] if models is None else models:
        left = {
            rule: paths
            for rule, paths in answers(study, model).items()
            if not all((folder / p).exists() for p in paths)
        }
        if (
            left
            and registry[model].get("control")
            and not (folder / registry[model]["checkpoint"]).is_dir()
        ):
            left = {"train_control": [registry[model]["checkpoint"]]}
        found = [state_of(model, rule, files) for rule, files in left.items()] or [
            ModelState(model, "done", "")
        ]
        states.append(min(found, key=lambda state: (*BY_WEIGHT, "done").index(state.state)))
    return states


def next_steps(
    states: Iterable[ModelState],
    folder: Path,
    queue: Sequence[Job],
    pids: Sequence[int],
    on_cluster: bool,
    silence: str = "",
    options: str = "",
    logs: str = "results/default/logs",
    others: Mapping[int, Sequence[str]] | None = None,
) -> list[str]:
    """What to do now, in words and commands; the first matters most.

    Args:
        states: the models' states.
        folder: where Snakemake runs.
        queue: jobs of ours, the latest first.
        pids: Snakemakes of this machine at work in the folder.
        on_cluster: whether there is a SLURM at all.
        silence: why SLURM does not answer, if so.
        options: what Snakemake was given besides, e.g. " --configfile config/paper.yaml".
        logs: folder of the study's logs.
        others: Snakemakes at work in the folder on another study -> their configuration files.
    """
    states = list(states)
    counted = {state.state for state in states}
    start = "snakemake --profile slurm" if on_cluster else "snakemake --cores all"
    again = (start if on_cluster else f"{start} --rerun-incomplete") + options
    restart = (
        f"press Ctrl-C in its terminal (or kill -INT {pids[0]}), then run `{again}` again"
        if pids
        else ""
    )
    alive = [job for job in queue if job.is_alive]
    steps = [step for state in states if (step := _about_a_job(state))]
    if silence:
        steps.append(
            f"SLURM does not answer ({silence}). No action needed: jobs continue, and Snakemake"
            " asks again for an hour."
        )
    lost = [state.model for state in states if state.is_lost]
    if lost and not silence:
        steps.append(
            f"{', '.join(lost)}: Snakemake (process {pids[0]}) is at work, but none of its jobs is"
            " in the queue for it. It submits again within three minutes; if not, it has lost"
            f" them: {restart}; finished answers are kept."
        )
    if pids:
        return steps or [f"Snakemake (process {pids[0]}) is at work here; nothing to do."]
    for pid, files in (others or {}).items():
        shown = f"worldprobe status{' --configfile ' * bool(files)}{shlex.join(files)}"
        told = (
            f"No run of this study is in progress: Snakemake (process {pid}) is at work here on"
            f" another one (`{shown}`)."
        )
        return (
            [*steps, told, f"When it has ended: `{again}`."]
            if counted - {"done"}
            else [*steps, "All models are done."]
        )
    if host := held_elsewhere(folder):
        return [
            *steps,
            (
                f"A run that began on {host} holds the lock. If it has ended: `worldprobe unlock`"
                " there."
            ),
        ]
    if alive:
        numbers = " ".join(job.number for job in alive)
        steps.append(
            "A Snakemake that no longer runs on this machine left jobs behind: `scancel"
            f" {numbers}`, unless it runs elsewhere."
        )
    if is_locked(folder):
        steps.append("A lock is left behind: `worldprobe unlock`.")
    if "failed" in counted:
        failed = dict.fromkeys(
            f"{logs}/{state.rule}" for state in states if state.state == "failed"
        )
        steps.append(f"Fix what the logs say ({', '.join(failed)}).")
    if counted == {"not started"} and not steps:
        steps.append(
            "No run of this study is in progress, and no model has begun. Start it:"
            f" `{start}{options}`."
        )
    elif counted - {"done"}:
        steps.append(f"Run `{again}` (again); finished work is reused.")
    return steps or ["All models are done."]


def _train_wildcards(card: Mapping[str, Any], model: str) -> list[str]:
    """How SLURM's comment names the training of a control model: digest of how it is trained, and
    the model.
    """
    return [f"{Path(card['checkpoint']).parent.name}_{model}"] if card.get("control") else []


def _about_a_job(state: ModelState) -> str:
    """What to do about a job that will not go on by itself."""
    job = state.job
    if job is None or job.state != "PENDING":
        return ""
    if "held" in job.why.lower() or job.why.startswith("JobHeld"):
        return (
            f"{state.model}: job {job.number} is held ({job.why}): `scontrol release {job.number}`."
        )
    if (reason := job.why.split(",")[0]) in NEVER:
        return (
            f"{state.model}: job {job.number} will not start: {NEVER[reason]}, then `scancel"
            f" {job.number}` and start again."
        )
    return ""


def _silence(log: Path) -> list[str]:
    """A remark on a log without new lines, if it has none."""
    try:
        minutes = (time.time() - log.stat().st_mtime) / 60
    except OSError:
        return []
    remark = (
        f"no new line for {minutes:.0f} min: if it hangs, its time limit ends it, or scancel;"
        " finished answers are kept"
    )
    return [remark] if minutes > MINUTES_OF_SILENCE else []


def _commands_here(folder: Path) -> dict[int, set[str]]:
    """Process id -> words of the commands of ours that work in this folder on this machine; they
    name the files they make.
    """
    found = {}
    for process in psutil.process_iter():
        try:
            words = set(process.cmdline())
            if "worldprobe" in words and process.cwd() == str(folder.resolve()):
                found[process.pid] = words
        except (psutil.Error, OSError):
            continue
    return found


def _last_lines(log: Path) -> list[str]:
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    return [line.strip() for line in lines if line.strip()][-LINES_SHOWN:]


#: The configuration that the Snakefile reads where no other is given.
BASE = Path("config", "config.yaml")
#: The machine of the latest run, noted as it starts: Snakemake's own lock does not say whose it is.
HOLDER = Path(".snakemake", "worldprobe-run.json")


def running(folder: Path) -> list[int]:
    """Process ids of the Snakemakes of this machine that work in a folder.

    This process's own ancestors are left out, and so are the Snakemakes that a cluster's jobs
    consist of.
    """
    here, mine = (
        folder.resolve(),
        {os.getpid(), *(parent.pid for parent in psutil.Process().parents())},
    )
    found = []
    for process in psutil.process_iter():
        try:
            words = process.cmdline()
            is_snakemake = any(Path(word).name == "snakemake" for word in words[:2]) or words[
                1:3
            ] == ["-m", "snakemake"]
            is_job = "--target-jobs" in words
            if (
                is_snakemake
                and not is_job
                and process.pid not in mine
                and Path(process.cwd()).resolve() == here
            ):
                found.append(process.pid)
        except (psutil.Error, OSError):
            continue
    return sorted(found)


def is_on_cluster(pids: Iterable[int]) -> bool:
    """Whether one of these Snakemakes was told to use SLURM."""
    for pid in pids:
        with contextlib.suppress(psutil.Error):
            if any("slurm" in Path(word).name for word in psutil.Process(pid).cmdline()[1:]):
                return True
    return False


def config_files(words: Sequence[str]) -> list[str]:
    """The configuration files that the command line of a Snakemake names.

    >>> (
    ...     config_files(["snakemake", "--configfile", "a.yaml", "b.yaml", "--cores", "2"]),
    ...     config_files(["snakemake", "all"]),
    ... )
    (['a.yaml', 'b.yaml'], [])
    """
    found: list[str] = []
    for place, word in enumerate(words):
        if word in ("--configfile", "--configfiles"):
            found += itertools.takewhile(lambda one: not one.startswith("-"), words[place + 1 :])
        elif word.startswith(("--configfile=", "--configfiles=")):
            found.append(word.partition("=")[2])
    return found


def of_other_studies(pids: Iterable[int], files: Sequence[Path | str]) -> dict[int, list[str]]:
    """Of these Snakemakes those that were given other configuration files -> their files.

    Args:
        pids: process ids.
        files: configuration files of a study; none: config/config.yaml.
    """

    def places(names: Iterable[Path | str]) -> list[Path]:
        return [Path(name).resolve() for name in names] or [BASE.resolve()]

    found = {}
    for pid in pids:
        with contextlib.suppress(psutil.Error):
            given = config_files(psutil.Process(pid).cmdline())
            if places(given) != places(files):
                found[pid] = given
    return found


def is_locked(folder: Path) -> bool:
    """Whether Snakemake would refuse to start here."""
    locks = folder / ".snakemake" / "locks"
    return locks.is_dir() and any(locks.iterdir())


def sign(folder: Path) -> None:
    """Note that this machine holds the lock.

    Args:
        folder: where this Snakemake, which has just taken the lock, runs.
    """
    write_text(folder / HOLDER, json.dumps({"host": socket.gethostname()}) + "\n")


def held_elsewhere(folder: Path) -> str:
    """The other machine on which the lock was taken, or "" where it was here, or nobody knows."""
    locks = folder / ".snakemake" / "locks"
    try:
        host = str(json.loads((folder / HOLDER).read_bytes())["host"])
        taken = max(path.stat().st_mtime for path in locks.iterdir())
        is_of_this_lock = (folder / HOLDER).stat().st_mtime >= taken
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return host if is_of_this_lock and host != socket.gethostname() else ""


def unlock(folder: Path) -> bool:
    """Remove a lock that nobody holds; True where there was one.

    Raises:
        UserError: a Snakemake of this machine is at work here, or one of another machine took the
            lock.
    """
    if not is_locked(folder):
        return False
    if pids := running(folder):
        raise UserError(
            folder,
            f"a Snakemake is running here (process {pids[0]}).",
            "Wait for it, or stop it with Ctrl-C in its terminal.",
        )
    if host := held_elsewhere(folder):
        raise UserError(
            folder,
            f"the lock was taken on {host}, and whether that run is still at work cannot be seen"
            f" from {socket.gethostname()}.",
            f"Run this command on {host}. If that machine is gone, `snakemake --unlock` removes the"
            " lock unasked.",
        )
    shutil.rmtree(folder / ".snakemake" / "locks")
    return True


#: What the main process passes to its jobs on a cluster, which read the configuration again while
#: answers come in.
VARIABLE = "WORLDPROBE_MISSING"
#: The rules that make a model ready, before those that evaluate it.
FIRST = ("fetch_model", "train_control")


def missing_models(
    study: Mapping[str, Any],
    answers: Answers,
    models: Sequence[str],
    folder: Path = Path(),
) -> dict[str, str]:
    """The study's models without answers, and why, in one line each; none where the study allows
    none to be missing.

    A study of which no model at all has answers has no missing ones: there is nothing to summarise
    yet.

    Args:
        study: a validated study.
        answers: the study and a model -> the files that evaluating it leaves, by the rule that
            makes them.
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


#: A model whose fetching failed in so many seconds before a run is left out of it: the command
#: before has just tried.
JUST_TRIED = 600


def not_fetched(
    study: Mapping[str, Any], models: Iterable[str], folder: Path = Path()
) -> list[str]:
    """Those of the models that could not be fetched a moment ago, so that a run leaves them alone.

    Args:
        study: a validated study.
        models: ids of models without answers.
        folder: where Snakemake runs.
    """
    logs = folder / StudyPaths.of(study).logs
    recent = {
        path.parent.name
        for path in logs.glob("fetch_*/*/*.log")
        if time.time() - path.stat().st_mtime < JUST_TRIED
        and reason(path.read_text(encoding="utf-8", errors="replace"))
    }
    return [model for model in models if model in recent]


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
    return reason(
        max(present, key=lambda path: path.stat().st_mtime).read_text(
            encoding="utf-8", errors="replace"
        )
    )


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
