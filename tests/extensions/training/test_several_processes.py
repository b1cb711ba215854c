"""Several processes that train one model: how they end, and that they leave the weights of one
process.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pandas as pd
import pytest
from safetensors.torch import load_file

import worldprobe
from command_line import run
from worldprobe.cli import main
from worldprobe.inference.preemption import PREEMPTED
from worldprobe_training import processes
from worldprobe_training.arithmetic import PINS

#: The first of two processes ends as told; the other one would wait for ever.
FIRST = "import os, sys, time\nif os.environ['RANK'] == '0':\n    {}\ntime.sleep(60)"


def launch(then: str) -> int:
    return processes.launch(2, [sys.executable, "-c", FIRST.format(then)], is_shared=False)


def test_the_status_of_the_process_that_failed_is_that_of_all_and_the_others_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(processes, "_SECONDS_TO_TELL", 0.1)
    assert launch("sys.exit(2)") == 2


def test_a_request_to_stop_reaches_all_and_they_end_in_their_own_time(tmp_path: Path) -> None:
    code = "import os, signal, sys, time\nfrom pathlib import Path\n"
    code += (
        "signal.signal(15, lambda *_: (time.sleep(0.3), Path(sys.argv[1],"
        " os.environ['RANK']).touch(), sys.exit(75)))\n"
    )
    code += "Path(sys.argv[1], 'ready' + os.environ['RANK']).touch()\ntime.sleep(60)"

    def stop() -> None:
        while not all((tmp_path / f"ready{rank}").exists() for rank in range(2)):
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGTERM)

    asking = threading.Thread(target=stop)
    asking.start()
    assert (
        processes.launch(2, [sys.executable, "-c", code, str(tmp_path)], is_shared=False)
        == PREEMPTED
    )
    asking.join()
    assert (tmp_path / "0").exists()
    assert (tmp_path / "1").exists()


#: Processes of one command, forked from one that has imported everything. accelerate shares weights
#: (FSDP) among GPUs only: here the processor passes for one. Where it is wanted, one process of the
#: two is asked to stop in its fifth batch.
SCRIPT = """
import os, signal, sys
import peft, torch, torch.distributed.fsdp
from accelerate import state
from worldprobe.cli import main
from worldprobe_training import processes
from worldprobe_training import tuning
from worldprobe_training import lessons

def begin(self, *words, _begin=state.PartialState.__init__, **options):
    _begin(self, *words, **options)
    if self.distributed_type == state.DistributedType.MULTI_CPU:
        self.__dict__["distributed_type"] = state.DistributedType.MULTI_GPU

def collate(self, lessons, _collate=lessons.Collator.__call__, seen=[]):
    seen.append(1)
    if len(seen) == 5 and os.environ.get("STOPPED") == os.environ["RANK"]:
        os.kill(os.getpid(), signal.SIGTERM)
    return _collate(self, lessons)

def run(number, **more):
    store = torch.distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    own = {"WORLD_SIZE": number, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": store.port, "TORCHELASTIC_USE_AGENT_STORE": "True"}
    children = []
    for rank in range(number):
        if not (child := os.fork()):
            os.environ.update({key: str(value) for key, value in (own | more | {"RANK": rank, "LOCAL_RANK": rank}).items()})
            try:
                status = main(sys.argv[1:])
            except SystemExit as stop:
                status = stop.code
            except BaseException as error:
                print(repr(error), file=sys.stderr)
                status = 1
            os._exit(status)
        children.append(child)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]

state.PartialState.__init__ = begin
lessons.Collator.__call__ = collate
print(run(2, STOPPED=1, **processes.SHARING), os.path.exists(sys.argv[-1]), run(2, **processes.SHARING))
"""
TEXT = ("--chat", "never", "--prompt-set", "constrained")
SHORT = ("--steps", "6", "--warm-up", "1", "--learning-rate", "0.003")
LORA = {
    "batch": 8,
    "trials": 40,
    "tuning": "lora",
    "lora_rank": 4,
    "gradient_checkpointing": True,
    "checkpoint_every": 6,
}


@pytest.mark.slow
def test_two_processes_that_share_the_weights_are_stopped_and_continued_to_those_of_one(
    tmp_path: Path,
) -> None:
    """FSDP over gloo, with LoRA and gradient checkpointing; in float32 the sums differ by
    rounding alone (1e-6).
    """
    some = "--per-cell 2 --problems Infer.trivial --sizes 3 --skins train_trips"
    trials, start = tmp_path / "train.parquet", tmp_path / "start"
    assert run(f"worldsense generate train-10k {some} --out {trials}") == 0
    small = "--layers 1 --width 32 --heads 2 --vocabulary 300"
    assert run(f"worldsense start-model {trials} {small} --out {start}") == 0
    command = [
        "worldsense",
        "finetune",
        str(start),
        str(trials),
        *TEXT,
        *SHORT,
    ]
    command += ["--settings", json.dumps(LORA)]
    environment = (
        os.environ
        | PINS
        | {
            "PYTHONPATH": str(Path(worldprobe.__file__).parents[1]),
            "ACCELERATE_USE_CPU": "true",
        }
    )
    words = [sys.executable, "-c", SCRIPT, *command, "--gpus", "2", "--out", str(tmp_path / "two")]
    done = subprocess.run(
        words,
        env=environment | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == f"{[PREEMPTED, PREEMPTED]} False [0, 0]\n", done.stderr
    assert done.stderr.count("the same command continues from step") == 1
    assert "are finished already" in done.stderr

    assert main([*command, "--out", str(tmp_path / "one")]) == 0
    one, two, before = (
        load_file(tmp_path / name / "model.safetensors") for name in ("one", "two", "start")
    )
    for name, weight in one.items():
        assert two[name].numpy() == pytest.approx(weight.numpy(), abs=1e-6)
    assert max(float((two[name] - before[name]).abs().max()) for name in before) > 1e-3
    assert (
        json.loads((tmp_path / "two" / "provenance.json").read_text())["details"]["processes"] == 2
    )
    records = [pd.read_csv(tmp_path / name / "training.csv") for name in ("one", "two")]
    assert records[1]["loss"].to_numpy() == pytest.approx(records[0]["loss"].to_numpy(), abs=1e-5)
    assert records[1]["step"].tolist() == [1, 2, 3, 4, 5, 6]
