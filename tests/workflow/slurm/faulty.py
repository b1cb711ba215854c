"""``worldprobe score all``, where what $FAULTS/MODEL names befalls the model, once.

The file is renamed to MODEL.reached when it does: for a ``hang`` before the first answer, else when
two parts are on disk and more answers are to come. ``stop`` waits there for what the test does to
the job.
"""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from worldprobe.cli import main
from worldprobe.inference import requests as collecting
from worldprobe.models import batching

[MODEL] = [word.removeprefix("--model=") for word in sys.argv if word.startswith("--model=")]
FAULT = Path(os.environ["FAULTS"]) / MODEL
#: Small parts and small batches, so that there are several of each.
collecting.ANSWERS_PER_PART, batching.CPU_TOKENS = 50, (256, 256)
collect, run = collecting.collect, batching.Budget.run
struck_by = ""


def strike(kind: str) -> None:
    global struck_by
    FAULT.rename(FAULT.with_suffix(".reached"))
    struck_by = kind
    if kind == "memory":
        strike.held = b"x" * 2_200_000_000  # real pages, which SLURM counts
    if kind == "hang":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while kind != "cuda":
        time.sleep(0.1)


def collect_until_struck(
    questions: Any, ask: Callable[[Any, Any], Iterator[Any]], *arguments: Any
) -> list[Any]:
    kind = FAULT.read_text() if FAULT.exists() else ""

    def asking(members: Any, skip: Any) -> Iterator[Any]:
        for number, answer in enumerate(ask(members, skip)):
            if kind and number == (0 if kind == "hang" else 2 * collecting.ANSWERS_PER_PART):
                strike(kind)
            yield answer

    return collect(questions, asking, *arguments)


def run_unless_struck(self: batching.Budget, units: Any, work: Any) -> Any:
    def fail(_units: Any) -> Any:
        raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")

    return run(self, units, fail if struck_by == "cuda" else work)


batching.Budget.run = run_unless_struck
collecting.collect = collect_until_struck  # before anything imports it by name
sys.exit(main())
