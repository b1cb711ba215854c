"""The GPUs and the memory of this machine: limits for Snakemake, and a GPU for each process that no other process has.

Nothing here imports torch: a process must choose its GPUs before it does.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Collection, Mapping, MutableMapping
from pathlib import Path

from filelock import FileLock, Timeout

from worldprobe.errors import MachineError, UserError
from worldprobe.log import LOGGER

#: Locks that this process has taken; they end with it.
_HELD: dict[Path, FileLock] = {}
SECONDS_BETWEEN_TRIES = 2.0


def visible_gpus(environment: Mapping[str, str] | None = None) -> list[str]:
    """The GPUs that this process may use, by index or identifier: of a list, those before the first -1, as CUDA reads it."""
    chosen = (os.environ if environment is None else environment).get("CUDA_VISIBLE_DEVICES")
    if chosen is not None:
        names = (name.strip() for name in chosen.split(","))
        return list(dict.fromkeys(name for name in itertools.takewhile(lambda name: name != "-1", names) if name))
    program = shutil.which("nvidia-smi")
    if not program:
        return []
    try:
        command = [program, "--query-gpu=index", "--format=csv,noheader"]
        printed = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout
    except (subprocess.SubprocessError, OSError):
        return []
    return [line.strip() for line in printed.splitlines() if line.strip().isdigit()]


def limits(wanted: Mapping[str, int], given: Collection[str], gpus: int | None = None) -> dict[str, int]:
    """Limits for the jobs of one machine, where ``--resources`` sets none: its GPUs, and its memory in MB.

    Without a GPU, models that want one run on the CPU, one at a time.

    Args:
        wanted: model -> GPUs that its job asks for.
        given: resources that have a limit already.
        gpus: GPUs of this machine (counted).

    Raises:
        UserError: a model wants more GPUs than this machine has.
    """
    found = {}
    if "gpu" not in given:
        count = len(visible_gpus()) if gpus is None else gpus
        if count:
            for model, number in wanted.items():
                if number > count:
                    raise UserError(
                        f"model {model}",
                        f"needs {number} GPUs, and this machine has {count}.",
                        f"Run it on a cluster (--profile slurm), set tensor_parallel: {count} in its card if the weights fit, or "
                        "leave it out of the study's models.",
                    )
        found["gpu"] = max(count, 1)
    if "mem_mb" not in given:
        import psutil  # every command imports this module

        found["mem_mb"] = psutil.virtual_memory().total // 1_000_000
    return found


def claim_gpus(number: int | None, environment: MutableMapping[str, str] | None = None, folder: Path | None = None) -> list[str]:
    """Take GPUs of this machine for this process alone, and show no others to it. Waits until enough are free.

    Each GPU has a lock file, which the system releases when the process ends, however it ends. Inside a SLURM job, which has been
    given its own GPUs, only processes of that job wait for each other: another job may call other GPUs by the same numbers.

    Args:
        number: how many; 0 leaves none visible, None leaves everything as it is.
        environment: where CUDA_VISIBLE_DEVICES is read and set (this process's).
        folder: of the lock files (one in the system's temporary folder).

    Returns:
        The GPUs taken.

    Raises:
        UserError: this process may use fewer GPUs than it asks for, or cannot lock them.
    """
    environment = os.environ if environment is None else environment
    if number is None:
        return []
    if number < 1:
        environment["CUDA_VISIBLE_DEVICES"] = ""
        return []
    gpus = visible_gpus(environment)
    if not gpus:
        return []
    if number > len(gpus):
        fix = f"Ask for {len(gpus)} at most, or make more visible in CUDA_VISIBLE_DEVICES."
        raise MachineError("--gpus", f"{number} are wanted, and {len(gpus)} can be used here.", fix)
    job = environment.get("SLURM_JOB_ID")
    folder = folder or Path(tempfile.gettempdir()) / "worldprobe-gpus"
    folder = folder.with_name(f"{folder.name}-slurm-{_as_name(job)}") if job else folder
    paths = {gpu: folder / f"{_as_name(gpu)}.lock" for gpu in gpus}
    has_waited = False
    while True:
        taken = {gpu: lock for gpu in gpus if (lock := _try_lock(paths[gpu]))}
        # Then those that an earlier call in this process took: nothing else would ever free them.
        kept = [*taken, *(gpu for gpu in gpus if gpu not in taken and paths[gpu] in _HELD)][:number]
        is_enough = len(kept) == number
        for gpu, lock in taken.items():
            if is_enough and gpu in kept:
                _HELD[paths[gpu]] = lock
            else:
                lock.release()
        if is_enough:
            environment["CUDA_VISIBLE_DEVICES"] = ",".join(kept)
            return kept
        if not has_waited:
            LOGGER.info("waiting for %d free GPU(s) of %d", number, len(gpus))
            has_waited = True
        time.sleep(SECONDS_BETWEEN_TRIES)


def _as_name(text: str) -> str:
    return re.sub(r"[^\w.-]", "_", text)


def _try_lock(path: Path) -> FileLock | None:
    """The lock of a GPU, which every user of this machine may take; None while another process has it."""
    try:
        path.parent.mkdir(mode=0o777, exist_ok=True)
        with contextlib.suppress(PermissionError):  # it is another user's
            path.parent.chmod(0o777)  # whatever the umask
        lock = FileLock(path, timeout=0, mode=0o666)
        lock.acquire()
    except Timeout:
        return None
    except (OSError, NotImplementedError) as error:  # a disk without locks, on which it would be waited for ever
        problem = f"cannot be used to keep GPUs apart ({error})."
        raise MachineError(path, problem, "Remove it, or name another place for temporary files: TMPDIR.") from error
    return lock
