"""One machine never starts more GPU jobs than it has GPUs, and no two processes share one."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from worldprobe.errors import UserError
from worldprobe.files import take_lock
from worldprobe.operations import resources
from worldprobe.operations.resources import claim_gpus, refuse_more_gpus
from worldprobe.paths import PACKAGE


@contextlib.contextmanager
def another_process(code: str, folder: Path) -> Iterator[str]:
    """One that runs code and keeps what it has taken, and the line that it prints."""
    begin = "import sys; from pathlib import Path; from worldprobe.operations import resources; "
    command = [sys.executable, "-c", f"{begin}{code}; sys.stdin.read()", str(folder)]
    environment = os.environ | {"PYTHONPATH": str(PACKAGE.parent)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, env=environment, text=True, **pipes) as process:
        assert process.stdout
        assert process.stdin
        yield process.stdout.readline().strip()
        process.stdin.close()


def test_a_model_that_needs_more_gpus_than_there_are_is_refused() -> None:
    refuse_more_gpus({"small": 1}, 1)
    refuse_more_gpus({"small": 2}, 0)  # on the CPU
    with pytest.raises(UserError, match="needs 2 GPUs, and this machine has 1"):
        refuse_more_gpus({"small": 1, "large": 2}, 1)


def test_without_a_gpu_models_that_want_one_run_one_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resources, "visible_gpus", lambda _: [])
    code = (
        "resources.visible_gpus = lambda _: []; resources.claim_gpus(2, {}, Path(sys.argv[1]));"
        " print('has it', flush=True)"
    )
    with another_process(code, tmp_path) as printed:
        assert printed == "has it"
        with pytest.raises(TimeoutError):
            take_lock(tmp_path / "cpu.lock", patience=0)
    mine: dict[str, str] = {}
    assert claim_gpus(1, mine, tmp_path) == []
    assert mine == {}, "the CPU is no GPU"


def test_each_process_takes_gpus_that_no_other_has(tmp_path: Path) -> None:
    code = (
        "e = {'CUDA_VISIBLE_DEVICES': '0,1,2'}; resources.claim_gpus(2, e, Path(sys.argv[1]));"
        " print(*e.values(), flush=True)"
    )
    with another_process(code, tmp_path) as printed:
        assert printed == "0,1"
        mine = {"CUDA_VISIBLE_DEVICES": "0,1,2"}
        assert claim_gpus(1, mine, tmp_path) == ["2"]
        assert mine["CUDA_VISIBLE_DEVICES"] == "2"


def test_jobs_inside_one_job_of_slurm_share_its_gpus_and_another_job_has_its_own(
    tmp_path: Path,
) -> None:
    """Snakemake itself may run in a job with several GPUs: without locks all its jobs would
    take the first.
    """
    locks = tmp_path / "locks"

    def given(job: str) -> dict[str, str]:
        return {"CUDA_VISIBLE_DEVICES": "3,4,5", "SLURM_JOB_ID": job}

    one, two, other = given("7"), given("7"), given("8")
    assert claim_gpus(2, one, locks) == ["3", "4"]
    assert claim_gpus(1, two, locks) == ["5"]
    assert claim_gpus(2, other, locks) == ["3", "4"]
    assert [found["CUDA_VISIBLE_DEVICES"] for found in (one, two, other)] == ["3,4", "5", "3,4"]
    with pytest.raises(UserError, match="4 are wanted, and 3 can be used"):
        claim_gpus(4, given("9"), locks)
