"""What a model needs of a machine, from its registry entry alone: GPUs, threads, memory, time; and
who may take which GPU.

The figures are requests to a scheduler, so they err on the large side.
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
from collections.abc import Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from worldprobe import engines
from worldprobe.engines import LITTLE_MEMORY_MB, Needs, Workload
from worldprobe.errors import MachineError, UserError
from worldprobe.files import take_lock
from worldprobe.log import LOGGER
from worldprobe.models.engine_types import BYTES, PARAMETERS, WEIGHT_SHARE, is_small

if TYPE_CHECKING:
    from filelock import FileLock

#: How often a job is tried on a cluster, each time with more memory and time: ``retries`` of
#: slurm/config.yaml, as the first try is no retry and the last one gives up.
ATTEMPTS = 4


def needs(
    card: Mapping[str, Any], gpu_memory_gb: float = 80.0, work: Workload | None = None
) -> Needs:
    """What one job that scores with a model asks for, as its engine says.

    Args:
        card: the model's registry entry.
        gpu_memory_gb: memory of one GPU in GB (1e9 bytes).
        work: what the model is asked, if that is known.

    >>> needs({"parameters": 70_553_706_496, "dtype": "bfloat16"}).gpus
    4
    """
    return engines.of(card).needs(card, gpu_memory_gb, work)


def job_resources(
    needs: Needs, site: Mapping[str, Any], attempt: int, on_cluster: bool
) -> dict[str, Any]:
    """What a job asks for, by the names of Snakemake and its executor for SLURM; where it is None,
    nothing is asked. ``devices`` are its GPUs however the site is asked for them.

    Args:
        needs: of the first attempt.
        site: facts of the cluster.
        attempt: from 1.
        on_cluster: whether jobs are submitted.

    >>> site = {"gres": "gpu:a100", "gpu_model": "a100", "constraint": None, "partition": "long"}
    >>> site |= {"gpu_partition": "gpu", "longest_minutes": None}
    >>> asked = job_resources(Needs(2, 8, 15_000, 84), site, 1, on_cluster=True)
    >>> asked["gpu"], asked["gres"], asked["devices"], asked["slurm_partition"]
    (0, 'gpu:a100:2', 2, 'gpu')
    >>> job_resources(Needs(0, 1, 3_000, 30), site, 1, on_cluster=True)["slurm_partition"]
    'long'
    """
    gpus, _, memory, minutes = needs.in_attempt(attempt, site["longest_minutes"])
    by_gres = on_cluster and bool(site["gres"])
    return {
        "gpu": 0 if by_gres else gpus,
        "gpu_model": site["gpu_model"] if gpus and not by_gres else None,
        "gres": f"{site['gres']}:{gpus}" if gpus and by_gres else None,
        "constraint": site["constraint"] if gpus else None,
        "slurm_partition": (gpus and site["gpu_partition"]) or site["partition"],
        "mem_mb": memory,
        "runtime": minutes,
        "devices": gpus,
    }


def tuning_needs(
    card: Mapping[str, Any], settings: Mapping[str, Any], gpu_memory_gb: float = 80.0
) -> Needs:
    """What one job that fine-tunes a model asks for.

    Args:
        card: the registry entry of its base.
        settings: of the training: tuning, full_up_to, threads, minutes.
        gpu_memory_gb: memory of one GPU in GB (1e9 bytes).

    >>> settings = {"tuning": "auto", "full_up_to": 3_000_000_000, "threads": 1, "minutes": 1440}
    >>> tuning_needs({"parameters": 1_557_611_200, "dtype": "float32"}, settings).gpus
    1
    >>> tuning_needs({"parameters": 68_976_648_192, "dtype": "bfloat16"}, settings).gpus
    4
    >>> tuning_needs(
    ...     {"parameters": 6_738_415_616, "dtype": "bfloat16"}, settings | {"tuning": "full"}
    ... ).gpus
    4
    """
    if is_small(card):
        return Needs(0, settings["threads"], LITTLE_MEMORY_MB, settings["minutes"])
    parameters = card.get("parameters") or PARAMETERS
    is_full = settings["tuning"] == "full" or (
        settings["tuning"] == "auto" and parameters <= settings["full_up_to"]
    )
    # Weights, gradients and AdamW's two moments in float32; or frozen weights, and little else.
    states_gb = parameters * (16 if is_full else 1.15 * BYTES[card["dtype"]]) / 1e9
    gpus = 1
    while states_gb > gpus * gpu_memory_gb * WEIGHT_SHARE:
        gpus *= 2
    # The first process reads the weights, and at the end puts them together in float32.
    return Needs(gpus, 4 * gpus, int(8_000 + 9e-6 * parameters), settings["minutes"])


@dataclass(frozen=True)
class ModelRequest:
    """One model's request, as the workflow makes it to the scheduler.

    Attributes:
        model: id in the registry.
        engine: what runs it.
        dtype: precision.
        weights_gb: size of the weights in that precision, GB (1e9 bytes); None where the parameters
            are unknown.
        gpus: GPUs in one node.
        tensor_parallel: GPUs that share each weight (vLLM); 1 where layers are spread over them
            instead (transformers).
        weights_gb_per_gpu: of them on each GPU.
        threads: CPU cores.
        mem_mb: main memory of the first attempt; later ones get more.
        minutes: time limits, attempt by attempt.
    """

    model: str
    engine: str
    dtype: str
    weights_gb: float | None
    gpus: int
    tensor_parallel: int
    weights_gb_per_gpu: float | None
    threads: int
    mem_mb: int
    minutes: tuple[int, ...]


def list_requests(
    registry: Mapping[str, Mapping[str, Any]],
    models: Iterable[str],
    gpu_memory_gb: float = 80.0,
    work: Mapping[str, Workload | None] | None = None,
) -> list[ModelRequest]:
    """Requests of some models, from their registry entries, and from what a study asks them, if
    one is given.

    >>> [big] = list_requests(
    ...     {"big": {"parameters": 70_553_706_496, "dtype": "bfloat16", "engine": "vllm"}}, ["big"]
    ... )
    >>> big.gpus, big.tensor_parallel, big.weights_gb
    (4, 4, 141.1)
    """
    requests = []
    for model in models:
        entry = registry[model]
        dtype, engine = entry.get("dtype", "float32"), entry.get("engine", engines.USUAL)
        wanted = needs({**entry, "dtype": dtype}, gpu_memory_gb, (work or {}).get(model))
        weights = (
            round(entry["parameters"] * BYTES[dtype] / 1e9, 1) if entry.get("parameters") else None
        )
        requests.append(
            ModelRequest(
                model=model,
                engine=engine,
                dtype=dtype,
                weights_gb=weights,
                gpus=wanted.gpus,
                tensor_parallel=max(wanted.gpus, 1) if engines.of(entry).splits_layers else 1,
                weights_gb_per_gpu=(
                    round(weights / wanted.gpus, 1) if weights and wanted.gpus else None
                ),
                threads=wanted.threads,
                mem_mb=wanted.mem_mb,
                minutes=tuple(
                    wanted.in_attempt(attempt).runtime for attempt in range(1, ATTEMPTS + 1)
                ),
            )
        )
    return requests


#: Locks that this process has taken; they end with it.
_HELD: dict[Path, FileLock] = {}
SECONDS_BETWEEN_TRIES = 2.0
#: In the place of a GPU, where there is none.
_CPU = "cpu"


def visible_gpus(environment: Mapping[str, str] | None = None) -> list[str]:
    """The GPUs that this process may use, by index or identifier: of a list, those before the first
    -1, as CUDA reads it.
    """
    chosen = (os.environ if environment is None else environment).get("CUDA_VISIBLE_DEVICES")
    if chosen is not None:
        names = (name.strip() for name in chosen.split(","))
        return list(
            dict.fromkeys(
                name for name in itertools.takewhile(lambda name: name != "-1", names) if name
            )
        )
    program = shutil.which("nvidia-smi")
    if not program:
        return []
    try:
        command = [program, "--query-gpu=index", "--format=csv,noheader"]
        printed = subprocess.run(
            command, capture_output=True, text=True, timeout=30, check=True
        ).stdout
    except (subprocess.SubprocessError, OSError):
        return []
    return [line.strip() for line in printed.splitlines() if line.strip().isdigit()]


def refuse_more_gpus(wanted: Mapping[str, int], count: int) -> None:
    """Stop where a model's job asks for more GPUs than this machine has; without any, models that
    want one run on the CPU, one at a time (``claim_gpus``).

    Args:
        wanted: model -> GPUs that its job asks for.
        count: GPUs of this machine.

    Raises:
        UserError: a model wants more.
    """
    for model, number in wanted.items():
        if count and number > count:
            raise UserError(
                f"model {model}",
                f"needs {number} GPUs, and this machine has {count}.",
                f"Run it on a cluster (--profile slurm), set tensor_parallel: {count} in its card"
                " if the weights fit, or leave it out of the study's models.",
            )


def claim_gpus(
    number: int | None,
    environment: MutableMapping[str, str] | None = None,
    folder: Path | None = None,
) -> list[str]:
    """Take GPUs of this machine for this process alone, and show no others to it. Waits until
    enough are free.

    Each GPU has a lock file, which the system releases when the process ends, however it ends.
    Without a GPU, a process that wants one takes the CPU, which has such a file, too: large models
    run one at a time.
    Inside a SLURM job, which has been given its own GPUs, only processes of that job wait for each
    other: another job may call other GPUs by the same numbers.

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
    is_cpu = not gpus and "CUDA_VISIBLE_DEVICES" not in environment
    if is_cpu:
        gpus, number = [_CPU], 1
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
            if is_cpu:
                return []
            environment["CUDA_VISIBLE_DEVICES"] = ",".join(kept)
            return kept
        if not has_waited:
            what = "the CPU" if is_cpu else f"{number} free GPU(s) of {len(gpus)}"
            LOGGER.info("waiting for %s", what)
            has_waited = True
        time.sleep(SECONDS_BETWEEN_TRIES)


def _as_name(text: str) -> str:
    return re.sub(r"[^\w.-]", "_", text)


def _try_lock(path: Path) -> FileLock | None:
    """The lock of a GPU, which every user of this machine may take; None while another process has
    it.
    """
    path.parent.mkdir(mode=0o777, exist_ok=True)
    with contextlib.suppress(PermissionError):  # it is another user's
        path.parent.chmod(0o777)  # whatever the umask
    try:
        return take_lock(path, patience=0, mode=0o666)
    except TimeoutError:
        return None
