"""Where a study stands: which models are done, running, waiting or failed, from the results tree, the processes and the queue."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from worldprobe import locks

#: What slurm/config.yaml puts before the names of its jobs.
JOB_PREFIX = "worldprobe"
#: The two steps a model goes through: rule -> what it leaves.
STEPS = {"train_control": "trained", "score": "scored"}
LINES_SHOWN = 3


class Job(NamedTuple):
    """A job of the queue.

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


class ModelState(NamedTuple):
    """One line of the overview.

    Attributes:
        model: its id.
        state: done, running, waiting, failed or not started.
        detail: what it is at, or the last lines of its log.
    """

    model: str
    state: str
    detail: str


def read_queue() -> list[Job] | None:
    """This user's jobs of ours; None where there is no SLURM or it does not answer."""
    if not shutil.which("squeue"):
        return None
    command = ["squeue", "--me", "--noheader", "--format", "%j|%i|%T|%M|%R|%k"]
    try:
        printed = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout
    except (subprocess.SubprocessError, OSError):
        return None
    rows = [line.split("|", 5) for line in printed.splitlines()]
    return [Job(*row[1:]) for row in rows if len(row) == 6 and row[0].startswith(JOB_PREFIX)]


def evidence_of(study: Mapping[str, Any], model: str, folder: Path) -> list[Path]:
    """The files that scoring a model leaves."""
    ewok = folder / "results" / "ewok"
    names = study["eval_types"]
    return [ewok / ("scores/logprobs" if name == "logprobs" else f"responses/{name}") / f"{model}.parquet" for name in names]


def model_states(
    study: Mapping[str, Any], registry: Mapping[str, Any], folder: Path, queue: Sequence[Job], is_snakemake_running: bool
) -> list[ModelState]:
    """Every model of the study, in its order.

    Args:
        study: a validated study.
        registry: model id -> card.
        folder: where Snakemake runs.
        queue: jobs of ours in SLURM's queue.
        is_snakemake_running: whether a Snakemake of this machine is at work in the folder.
    """
    at_work = _scored_here(folder)
    states = []
    for model in study["models"]:
        left = [path for path in evidence_of(study, model, folder) if not path.exists()]
        rule = "score"
        if "control" in registry[model] and not (folder / registry[model]["checkpoint"]).is_dir():
            rule = "train_control"
        job = next((job for job in queue if job.comment.strip() == f"rule_{rule}_wildcards_{model}"), None)
        lines = _last_lines(folder / "results" / "logs" / rule / f"{model}.log")
        verb = "training" if rule == "train_control" else "asking"
        if not left:
            states.append(ModelState(model, "done", ""))
        elif job and job.state == "RUNNING":
            where = f"job {job.number} on {job.reason}, {verb} for {job.elapsed}"
            states.append(ModelState(model, "running", "; ".join([where, *lines[-1:]])))
        elif job:
            states.append(ModelState(model, "waiting", f"job {job.number} is {job.state.lower()} {job.reason}"))
        elif (rule, model) in at_work:
            states.append(ModelState(model, "running", "; ".join([f"process {at_work[rule, model]}", *lines[-1:]])))
        elif lines and not is_snakemake_running:
            states.append(ModelState(model, "failed", " / ".join(lines)))
        elif is_snakemake_running:
            states.append(ModelState(model, "waiting", f"for its turn at {verb}" + (", again" if lines else "")))
        else:
            states.append(ModelState(model, "not started", ""))
    return states


def next_steps(
    states: Iterable[ModelState], folder: Path, queue: Sequence[Job], pids: Sequence[int], on_cluster: bool
) -> list[str]:
    """What to do now, in words and commands; the first matters most.

    Args:
        states: the models' states.
        folder: where Snakemake runs.
        queue: jobs of ours in SLURM's queue.
        pids: Snakemakes of this machine at work in the folder.
        on_cluster: whether there is a queue at all.
    """
    counted = {state.state for state in states}
    again = "snakemake --profile slurm" if on_cluster else "snakemake --cores all --rerun-incomplete"
    if pids and on_cluster and not queue and counted & {"waiting", "failed"} and "running" not in counted:
        return [
            f"Snakemake (process {pids[0]}) runs, but none of its jobs is in the queue. If that lasts five minutes, it has lost",
            f"them: press Ctrl-C in its terminal (or kill -INT {pids[0]}), then run `{again}` again; finished shards are kept.",
        ]
    if pids:
        return [f"Snakemake (process {pids[0]}) is at work here; nothing to do."]
    steps = []
    if queue:
        numbers = " ".join(job.number for job in queue)
        steps.append(
            f"Jobs are left of a Snakemake that is gone from this machine: `scancel {numbers}`, unless it runs elsewhere."
        )
    if locks.is_locked(folder):
        steps.append("A lock is left behind: `python -m worldprobe unlock`.")
    if "failed" in counted:
        steps.append("Mend what the logs say (results/logs/score, results/logs/train_control).")
    if counted - {"done"}:
        steps.append(f"Run `{again}` (again); what is finished is not done twice.")
    return steps or ["All models are done."]


def _scored_here(folder: Path) -> dict[tuple[str, str], int]:
    """(rule, model) -> process id of the commands of ours that work in this folder on this machine."""
    found = {}
    for process in psutil.process_iter():
        try:
            words = process.cmdline()
            if "worldprobe" not in words or process.cwd() != str(folder.resolve()):
                continue
        except (psutil.Error, OSError):
            continue
        if "score" in words and "--model" in words:
            found["score", words[words.index("--model") + 1]] = process.pid
        elif "train" in words and "--out" in words:
            found["train_control", Path(words[words.index("--out") + 1]).name] = process.pid
    return found


def _last_lines(log: Path) -> list[str]:
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    return [line.strip() for line in lines if line.strip()][-LINES_SHOWN:]
