"""One machine never starts more GPU jobs than it has GPUs, and no two processes share one."""

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from worldprobe.errors import UserError
from worldprobe.operations import resources
from worldprobe.operations.resources import claim_gpus, limits, visible_gpus
from worldprobe.paths import PACKAGE


def test_a_machine_with_one_gpu_runs_one_model_at_a_time_unless_told_otherwise() -> None:
    assert limits({"small": 1}, (), gpus=1)["gpu"] == 1
    assert limits({"small": 1}, (), gpus=0)["gpu"] == 1  # on the CPU, one at a time
    assert limits({"small": 1}, (), gpus=4)["gpu"] == 4
    assert "gpu" not in limits({"small": 1}, {"gpu"}, gpus=1)
    assert limits({}, (), gpus=0)["mem_mb"] > 100


def test_a_model_that_wants_more_gpus_than_there_are_is_refused_before_the_first_job() -> None:
    with pytest.raises(UserError, match="needs 4 GPUs, and this machine has 2"):
        limits({"small": 1, "large": 4}, (), gpus=2)


def test_each_process_takes_gpus_that_no_other_has(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from worldprobe.operations.resources import"
        " claim_gpus;e = {'CUDA_VISIBLE_DEVICES': '0,1,2'}; claim_gpus(2, e, Path(sys.argv[1]));"
        " print(*e.values(), flush=True);sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": str(PACKAGE.parent)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, env=environment, text=True, **pipes) as other:
        assert other.stdout
        assert other.stdin
        assert other.stdout.readline().strip() == "0,1"
        mine = {"CUDA_VISIBLE_DEVICES": "0,1,2"}
        assert claim_gpus(1, mine, tmp_path) == ["2"]
        assert mine["CUDA_VISIBLE_DEVICES"] == "2"
        other.stdin.close()


def test_jobs_inside_one_job_of_slurm_share_its_gpus_and_another_job_has_its_own(
    tmp_path: Path,
) -> None:
    """Snakemake itself may run in a job with several GPUs: without locks all its jobs would take
    the first.
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


def test_a_model_that_needs_no_gpu_sees_none(tmp_path: Path) -> None:
    """Else a small model would be spread over the GPUs that others have taken."""
    for given in (
        {"CUDA_VISIBLE_DEVICES": "0,1"},
        {"CUDA_VISIBLE_DEVICES": "3", "SLURM_JOB_ID": "7"},
        {},
    ):
        assert claim_gpus(0, given, tmp_path) == []
        assert visible_gpus(given) == []
    mine = {"CUDA_VISIBLE_DEVICES": "0,1"}
    assert claim_gpus(None, mine, tmp_path) == []
    assert visible_gpus(mine) == ["0", "1"]


def test_more_gpus_than_can_be_used_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="2 are wanted, and 1 can be used"):
        claim_gpus(2, {"CUDA_VISIBLE_DEVICES": "0"}, tmp_path)


def test_hidden_gpus_do_not_count() -> None:
    assert visible_gpus({"CUDA_VISIBLE_DEVICES": "-1"}) == []
    assert visible_gpus({"CUDA_VISIBLE_DEVICES": "0,-1,1"}) == ["0"], (
        "CUDA shows those before the first -1"
    )
    assert visible_gpus({"CUDA_VISIBLE_DEVICES": ""}) == []


def test_a_gpu_named_twice_is_one(tmp_path: Path) -> None:
    """It was waited for ever: this process held the lock that it waited for."""
    assert visible_gpus({"CUDA_VISIBLE_DEVICES": "0, 0"}) == ["0"]
    with pytest.raises(UserError, match="2 are wanted, and 1 can be used"):
        claim_gpus(2, {"CUDA_VISIBLE_DEVICES": "0,0"}, tmp_path)


def test_a_second_command_in_one_process_keeps_its_gpus(tmp_path: Path, no_waiting: None) -> None:
    mine = {"CUDA_VISIBLE_DEVICES": "0,1,2"}
    assert claim_gpus(2, mine, tmp_path) == ["0", "1"]
    assert claim_gpus(2, mine, tmp_path) == ["0", "1"]
    assert claim_gpus(1, mine, tmp_path) == ["0"]


def test_every_user_of_a_machine_can_lock(tmp_path: Path) -> None:
    """The first user's umask made a folder in which nobody else could make a file."""
    before = os.umask(0o077)
    try:
        claim_gpus(1, {"CUDA_VISIBLE_DEVICES": "0"}, tmp_path / "locks")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "locks").stat().st_mode) == 0o777
    assert stat.S_IMODE((tmp_path / "locks" / "0.lock").stat().st_mode) == 0o666


def test_locks_that_cannot_be_used_are_an_error_with_a_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_waiting: None
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="cannot be used to keep GPUs apart"):
        claim_gpus(1, {"CUDA_VISIBLE_DEVICES": "0"}, tmp_path / "file")

    def without_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", without_locks)
    with pytest.raises(UserError, match="No locks available"):
        claim_gpus(1, {"CUDA_VISIBLE_DEVICES": "0"}, tmp_path / "locks")


def test_an_odd_number_of_a_job_names_a_folder_all_the_same(tmp_path: Path) -> None:
    assert claim_gpus(
        1, {"CUDA_VISIBLE_DEVICES": "0", "SLURM_JOB_ID": "7/../8"}, tmp_path / "locks"
    ) == ["0"]
    assert [path.name for path in tmp_path.iterdir()] == ["locks-slurm-7_.._8"]


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: float) -> None:
        raise AssertionError("waits for ever")

    monkeypatch.setattr(resources.time, "sleep", refuse)
