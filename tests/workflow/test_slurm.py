"""``snakemake --profile slurm`` on a real SLURM, and the faults of clusters: nothing finished is lost or done twice."""

import contextlib
import hashlib
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slurm

HERE = Path(__file__).parent
#: The profile waits 20 s before it first asks after a job, and 10 s between questions; tests are less patient.
IMPATIENT = ("--slurm-init-seconds-before-status-checks", "1", "--max-status-checks-per-second", "1", "--latency-wait", "10")
TABLES = ("mean_accuracy", "accuracy_by_domain", "fixed_effects")


def wait_until(test: Callable[[], Any], seconds: float = 600) -> Any:
    end = time.monotonic() + seconds
    while not (found := test()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.2)
    return found


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A SLURM of two nodes; installed where WORLDPROBE_INSTALL_SLURM says so, else the tests are skipped where it is missing."""
    specification = importlib.util.spec_from_file_location("local_slurm", HERE / "local_slurm.py")
    local_slurm = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(local_slurm)
    missing = local_slurm.install() if os.environ.get("WORLDPROBE_INSTALL_SLURM") else local_slurm.missing()
    if missing:
        pytest.skip(f"SLURM is not installed here ({', '.join(missing)} missing); `make test-slurm` as root installs it")
    cluster = local_slurm.LocalSlurm(tmp_path_factory.mktemp("s"))
    try:
        cluster.up()
    except RuntimeError as error:
        cluster.down()
        pytest.skip(f"SLURM does not start here: {str(error)[:300]}")
    yield cluster
    cluster.down()


class Study:
    """A study in a folder of its own, run on the cluster."""

    def __init__(self, folder: Path, repository: Path, cluster: Any, models: tuple[str, ...]) -> None:
        self.folder, self.repository, self.cluster, self.models = folder, repository, cluster, models
        self.faults = folder / "faults"
        self.faults.mkdir()
        self.environment = os.environ | {
            "SLURM_CONF": cluster.environment["SLURM_CONF"],
            "PATH": f"{Path(sys.executable).parent}:{cluster.environment['PATH']}",
            "BASH_ENV": str(HERE / "slurm" / "faults.sh"),
            "FAULTS": str(self.faults),
            "WORLDPROBE_SECONDS_PER_SHARD": "2",
        }
        self.study = folder / "study.yaml"
        self.study.write_text(f"models: [{', '.join(models)}]\n")

    def command(self, *arguments: str, profile: bool = True) -> list[str]:
        files = [self.repository / "config" / "config.yaml", HERE / "slurm" / "config.yaml", self.study]
        base = [
            sys.executable,
            "-m",
            "snakemake",
            "--snakefile",
            str(self.repository / "Snakefile"),
            "--directory",
            str(self.folder),
        ]
        how = ["--profile", str(self.repository / "slurm"), *IMPATIENT] if profile else ["--cores", "2"]
        return [*base, *how, *arguments, "--configfile", *map(str, files)]

    def run(self, *arguments: str, profile: bool = True) -> subprocess.CompletedProcess[str]:
        command = self.command(*arguments, profile=profile)
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=1800)

    @contextlib.contextmanager
    def running(self, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
        with open(self.folder / "snakemake.log", "wb") as log:
            process = subprocess.Popen(
                self.command(*arguments), env=self.environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)  # never only SIGTERM: a Snakemake that waits for a job ignores it
                process.wait()
            self.cluster.run("scancel", "--full", "--user", "root", check=False)

    def printed(self) -> str:
        return (self.folder / "snakemake.log").read_text(errors="replace")[-4000:]

    def job(self, model: str, state: str = "RUNNING") -> str | None:
        """SLURM's number of the job that scores a model."""
        listed = self.cluster.run("squeue", "--noheader", "--format", "%i|%T|%k", check=False)
        for line in listed.splitlines():
            number, found, comment = line.split("|")
            if found == state and comment.strip() == f"rule_score_wildcards_{model}":
                return number
        return None

    def node(self, model: str) -> str:
        return self.cluster.run("squeue", "--noheader", "--job", self.job(model), "--format", "%N").strip()

    def digests(self, *names: str) -> dict[str, str]:
        paths = [self.folder / "results" / "ewok" / "tables" / f"{name}.csv" for name in names]
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


@pytest.fixture(scope="module")
def trained(slurm: Any, repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Study:
    """All models of the tests, trained (which costs nothing here) on the cluster, and their items; nothing is scored yet."""
    models = ("undisturbed", "cancelled", "crashed", "out_of_memory", "cuda_out_of_memory", "hangs")
    study = Study(tmp_path_factory.mktemp("trained"), repository, slurm, models)
    done = study.run("results/ewok/items.parquet", *(f"results/controls/models/{model}" for model in models))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return study


@pytest.fixture
def study(trained: Study, slurm: Any, repository: Path, tmp_path: Path) -> Callable[..., Study]:
    """A fresh copy of the trained models in a folder of its own, with some of them to be asked."""

    def make(*models: str) -> Study:
        folder = tmp_path / "study"
        for name in (".snakemake", "results"):
            shutil.copytree(trained.folder / name, folder / name, copy_function=shutil.copy2)
        shutil.rmtree(folder / ".snakemake" / "locks", ignore_errors=True)
        return Study(folder, repository, slurm, models)

    return make


def assert_every_question_was_answered_once(study: Study) -> None:
    folders = [folder for folder in (study.folder / "results" / ".shards").iterdir() if folder.is_dir()]
    assert len(folders) == len(study.models)
    for folder in folders:
        answered = [json.loads(line)[0] for shard in folder.glob("shard-*.jsonl") for line in shard.read_text().splitlines()]
        assert sorted(answered) == list(range(len(answered))), "a finished shard was computed again, or lost"


def progress(study: Study, model: str) -> bool:
    """Whether the log says that some items are scored."""
    log = study.folder / "results" / "logs" / "score" / f"{model}.log"
    return log.exists() and " items, " in log.read_text()


def n_shards(study: Study) -> int:
    return len(list((study.folder / "results" / ".shards").rglob("shard-*.jsonl")))


def test_faults_of_jobs_and_nodes_leave_the_tables_of_an_undisturbed_run(study: Callable[..., Study], slurm: Any) -> None:
    models = ("undisturbed", "cancelled", "crashed", "out_of_memory", "cuda_out_of_memory", "hangs")
    calm, stormy = study(*models), None
    done = calm.run("tables", profile=False)  # the same workflow, without a cluster
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    shutil.move(calm.folder, calm.folder.with_name("calm"))
    calm.folder = calm.folder.with_name("calm")
    stormy = study(*models)
    for model, kind in {"out_of_memory": "memory", "cuda_out_of_memory": "cuda", "hangs": "hang"}.items():
        (stormy.faults / model).write_text(kind)
    with stormy.running("tables", "--set-resources", "score:runtime=1+20*(attempt-1)") as run:
        number = wait_until(lambda: progress(stormy, "cancelled") and stormy.job("cancelled"))
        assert slurm.run("scontrol", "show", "job", number).count("gres/gpu=1")
        slurm.run("scancel", number)
        wait_until(lambda: progress(stormy, "crashed") and n_shards(stormy) >= 2)
        node, before = stormy.node("crashed"), stormy.job("crashed")
        slurm.stop(node, kill=True)
        slurm.run("scontrol", "update", f"nodename={node}", "state=down", "reason=test")  # at once, not after SlurmdTimeout
        slurm.stop("slurmctld")
        slurm.up()  # the controller comes back, and so does the node
        assert run.wait(1800) == 0, stormy.printed()
    assert stormy.digests(*TABLES) == calm.digests(*TABLES)
    assert not list(stormy.faults.iterdir()), "a fault did not happen"
    assert_every_question_was_answered_once(stormy)
    finished = (slurm.folder / "log" / "finished.txt").read_text()
    assert "JobState=CANCELLED" in finished
    assert "JobState=TIMEOUT" in finished
    assert before


def test_a_killed_snakemake_leaves_jobs_that_status_names_and_the_next_run_finishes(
    study: Callable[..., Study], slurm: Any
) -> None:
    one = study("undisturbed")
    with one.running(one_target := "results/ewok/scores/logprobs/undisturbed.parquet") as run:
        wait_until(lambda: n_shards(one))
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
        number = one.job("undisturbed")
        assert number, "the job goes on without its Snakemake"
        told = subprocess.run(
            [
                sys.executable,
                "-m",
                "worldprobe",
                "status",
                "--directory",
                str(one.folder),
                "--configfile",
                str(HERE / "slurm" / "config.yaml"),
                str(one.study),
            ],
            cwd=one.repository,
            env=one.environment | {"PYTHONPATH": str(one.repository / "workflow" / "src")},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert f"scancel {number}" in told
        assert "worldprobe unlock" in told
        slurm.run("scancel", number)
        wait_until(lambda: not one.job("undisturbed"))
        refused = one.run(one_target)
        assert refused.returncode != 0
        unlock = [sys.executable, "-m", "worldprobe", "unlock", str(one.folder)]
        subprocess.run(unlock, env=one.environment | {"PYTHONPATH": str(one.repository / "workflow" / "src")}, check=True)
        done = one.run(one_target)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert_every_question_was_answered_once(one)


def test_a_preempted_job_is_requeued_and_goes_on(study: Callable[..., Study], slurm: Any) -> None:
    one = study("undisturbed")
    one.environment["WORLDPROBE_PARTITION"] = "low"  # the site's facts may come from the environment
    with one.running("results/ewok/scores/logprobs/undisturbed.parquet") as run:
        wait_until(lambda: n_shards(one))
        number = one.job("undisturbed")
        slurm.run("sbatch", "--partition=high", "--nodes=2", "--exclusive", "--time=1", "--output=/dev/null", "--wrap", "sleep 2")
        wait_until(lambda: one.job("undisturbed", "PENDING") == number)
        assert run.wait(1200) == 0, one.printed()
    assert_every_question_was_answered_once(one)


def test_a_full_disk_is_one_clear_message_and_the_next_run_goes_on(study: Callable[..., Study]) -> None:
    one = study("undisturbed")
    small = one.folder / "results" / "ewok" / "scores"
    small.mkdir(parents=True)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", str(small)], capture_output=True)
    if mounted.returncode:
        pytest.skip("a small disk cannot be mounted here (no root)")
    try:
        (small / "filler").write_bytes(b"x" * 4096)
        failed = one.run("results/ewok/scores/logprobs/undisturbed.parquet", "--retries", "0")
        assert failed.returncode != 0
        log = (one.folder / "results" / "logs" / "score" / "undisturbed.log").read_text()
        assert "cannot be written (No space left on device)" in log
        assert "Traceback" not in log
    finally:
        subprocess.run(["umount", str(small)], check=True)
    done = one.run("results/ewok/scores/logprobs/undisturbed.parquet")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert_every_question_was_answered_once(one)


def test_the_bare_command_uses_our_profile_from_the_root(repository: Path, slurm: Any) -> None:
    environment = os.environ | slurm.environment | {"PATH": f"{Path(sys.executable).parent}:{slurm.environment['PATH']}"}
    command = [sys.executable, "-m", "snakemake", "--profile", "slurm", "--dry-run", "figures"]
    told = subprocess.run(command, cwd=repository, env=environment, capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    assert "Using profile slurm" in told.stdout + told.stderr


def test_one_models_file_is_one_job_and_figures_touch_no_score(study: Callable[..., Study], slurm: Any) -> None:
    one = study("undisturbed", "cancelled")
    planned = one.run("--dry-run", "results/ewok/scores/logprobs/cancelled.parquet")
    assert planned.stdout.count("Asking ") + planned.stderr.count("Asking ") == 1
    assert "Asking cancelled" in planned.stdout + planned.stderr
