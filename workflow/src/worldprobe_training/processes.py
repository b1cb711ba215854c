"""Several processes train one model, one for each GPU: they start together, stop together, and an
error is told once.

PyTorch and accelerate read who is who from the environment (``RANK``, ``WORLD_SIZE``, ...), as with
``torchrun`` or ``accelerate launch``. Those launchers are not used because they end with status 1
whatever happened, print a traceback of their own, and kill what is still writing its checkpoint.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from worldprobe.errors import UserError
from worldprobe.inference.preemption import PREEMPTED

#: Exists as soon as one process has told an error, so that no other tells it again.
TOLD = "WORLDPROBE_ERROR_TOLD"
#: Id of the process that started the others.
PARENT = "WORLDPROBE_STARTED_BY"
#: How accelerate and transformers are told that weights are shared (FSDP), and that one process
#: alone reads them.
SHARING = {
    "ACCELERATE_USE_FSDP": "true",
    "FSDP_VERSION": "2",
    "FSDP_STATE_DICT_TYPE": "FULL_STATE_DICT",
    "FSDP_CPU_RAM_EFFICIENT_LOADING": "true",
}
_SECONDS_BETWEEN_LOOKS = 0.1
#: So long the others may take to tell an error, when one has ended with it.
_SECONDS_TO_TELL = 5.0
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG


def is_process() -> bool:
    """Whether this is one of several processes that were started together."""
    return "RANK" in os.environ


def is_first() -> bool:
    """Whether this process alone writes and tells: the only one, or the first of several."""
    return os.environ.get("RANK", "0") == "0"


def on_cpu() -> bool:
    """Whether accelerate was told to compute on the CPU; several processes then share it, each with
    all weights (DDP).
    """
    return os.environ.get("ACCELERATE_USE_CPU", "").lower() in ("1", "true", "yes")


def is_shared() -> bool:
    """Whether weights, gradients and optimiser are shared among processes (FSDP)."""
    return is_process() and os.environ.get("ACCELERATE_USE_FSDP", "").lower() == "true"


def launch(number: int, command: Sequence[str], is_shared: bool) -> int:
    """Run a command in several processes of this machine until all have ended, or one has failed.

    SIGTERM is passed on to all of them; then each ends by itself.

    Args:
        number: of processes.
        command: the same for all.
        is_shared: weights are shared among them (FSDP); else each has all.

    Returns:
        0, or the status of the first that failed.

    Raises:
        UserError: a process was killed by a signal that is not from here.
    """
    import torch

    # Port 0: the system chooses a free one, and no other program can take it in between.
    store = torch.distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    with tempfile.TemporaryDirectory() as folder:
        common = {
            **{
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": str(store.port),
                "TORCHELASTIC_USE_AGENT_STORE": "True",
            },
            **{
                "WORLD_SIZE": str(number),
                "LOCAL_WORLD_SIZE": str(number),
                TOLD: str(Path(folder) / "told"),
            },
            PARENT: str(os.getpid()),
            **{"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")},
            **(SHARING if is_shared else {}),
        }
        processes: list[subprocess.Popen] = []
        asked: list[int] = []

        def pass_on(received: int, frame: FrameType | None) -> None:
            asked.append(received)
            for process in processes:
                process.send_signal(signal.SIGTERM)

        before = signal.signal(signal.SIGTERM, pass_on)
        try:
            for rank in range(number):
                environment = os.environ | common | {"RANK": str(rank), "LOCAL_RANK": str(rank)}
                processes.append(subprocess.Popen(command, env=environment))
            return _wait(processes, asked)
        finally:
            signal.signal(signal.SIGTERM, before)
            for process in processes:
                process.kill()
                process.wait()


def launch_again(number: int, is_shared: bool) -> int:
    """Run the command that this process was given in several processes; see ``launch``."""
    source = str(Path(__file__).resolve().parents[2])
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH")]))
    return launch(number, [sys.executable, "-m", "worldprobe", *sys.argv[1:]], is_shared)


def _wait(processes: Sequence[subprocess.Popen], asked: Sequence[int]) -> int:
    """Until all have ended, or one has ended otherwise than the others will."""
    while True:
        statuses = [process.poll() for process in processes]
        failed = [
            (rank, status) for rank, status in enumerate(statuses) if status and status != PREEMPTED
        ]
        if failed:
            until = time.monotonic() + _SECONDS_TO_TELL
            while time.monotonic() < until and any(process.poll() is None for process in processes):
                time.sleep(_SECONDS_BETWEEN_LOOKS)
            return PREEMPTED if asked else _status_of(*failed[0])
        if None not in statuses:
            return max(status or 0 for status in statuses)
        time.sleep(_SECONDS_BETWEEN_LOOKS)


def _status_of(rank: int, status: int) -> int:
    if status > 0:
        return status
    why = ", as the system does where memory does not suffice" if status == -signal.SIGKILL else ""
    problem = f"was killed ({signal.Signals(-status).name}{why})."
    raise UserError(
        f"process {rank}",
        problem,
        "Give the job more memory; the same command continues from the last checkpoint.",
    )


def end_with_parent() -> None:
    """Let this process end as soon as the one that started it does, however that ends: nobody else
    would stop it.
    """
    if PARENT not in os.environ or not is_process():
        return
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != int(os.environ[PARENT]):  # it had ended before
        raise SystemExit(PREEMPTED)


def begin() -> None:
    """Join the others; to be called before weights are read, so that only the first process reads
    them where they are shared.
    """
    if not is_process():
        return
    import torch
    from accelerate import PartialState

    PartialState(cpu=not torch.cuda.is_available())


def end() -> None:
    """Leave the others."""
    import torch

    if is_process() and torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def is_any(value: bool, device: Any) -> bool:
    """Whether a thing is so in any process."""
    import torch

    if not is_process():
        return value
    flag = torch.tensor(int(value), device=device)
    torch.distributed.all_reduce(flag, torch.distributed.ReduceOp.MAX)
    return bool(flag.item())


@contextlib.contextmanager
def told_once(environment: Mapping[str, str] = os.environ) -> Iterator[None]:
    """Let an error of the user's through in the process that has it first; the others end with
    status 2 and say nothing.

    Raises:
        UserError: as in the block.
        SystemExit: another process tells it.
    """
    try:
        yield
    except UserError as error:
        marker = environment.get(TOLD)
        is_teller = _create(Path(marker)) if marker else is_first()
        if not is_teller:
            raise SystemExit(2) from error
        raise


def _create(marker: Path) -> bool:
    try:
        with marker.open("x"):
            return True
    except FileExistsError:
        return False
