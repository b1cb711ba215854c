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
import yaml

from command_line import check_success
from rehearsals import PAPER, check_complete, check_paper
from worldprobe.contracts import read_table
from worldprobe.operations.settings import StudySettings, read_settings
from worldprobe.settings import merge, read_registry, read_yaml
from worldprobe_lab.contracts import CheckpointScores, Curves, Onsets

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
ONE_FILE = "results/slurm/ewok/scores/main/logprobs/{}.parquet"


def settings_of(repository: Path, files: list[str]) -> StudySettings:
    """A study as Snakemake reads it from these files, with the folders of its control models."""
    merged: dict[str, Any] = {}
    for path in files:
        merged = merge(merged, read_yaml(path).document)
    return read_settings(merged, files, {})


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
def cluster_of(folder: Path) -> Iterator[Any]:
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
    cluster = local_slurm.LocalSlurm(folder)
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
    """A SLURM of three nodes."""
    with cluster_of(tmp_path_factory.mktemp("s")) as cluster:
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
            timeout=1800,
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
    everything = {"undisturbed", *FAULTS}
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
    check_success(done)
    configuration = json.loads((trained / "config.json").read_text())
    registry = read_registry(HERE / "slurm" / "models.yaml")
    for model, folder in checkpoints.items():  # the others are it with other heads
        if model != "undisturbed":
            shutil.copytree(trained, folder)
            other = json.dumps(configuration | {"n_head": registry[model]["control"]["heads"]})
            (folder / "config.json").write_text(other)
    done = study.run("tables", how=here)
    check_success(done)
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

    def kill_snakemake(self) -> None:
        """``kill -9`` while a job of it runs, and what a user does then."""
        if "killed" not in self.models:
            return
        with self.running(ONE_FILE.format("killed")) as run:
            wait_until(lambda: self.has_reached("killed"), self, run)
            os.killpg(run.pid, signal.SIGKILL)
            run.wait()
        [self.left_behind] = self.jobs("killed")
        self.cluster.run("scancel", self.left_behind)
        wait_until(lambda: self.state(self.left_behind) == "CANCELLED", self)
        self.start_with_lock = self.run(ONE_FILE.format("killed"))
        self.unlocked = self.run("--unlock")

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

    def lose_slurmctld(self, run: subprocess.Popen[bytes]) -> None:
        """It is away until Snakemake has noticed; then it is back, and has heard from the
        nodes, else no job can start.
        """
        self.cluster.stop("slurmctld")
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
        storm.kill_snakemake()
        storm.break_out()
        yield storm
    finally:
        slurm.run("scancel", "--full", "--user", "root", check=False)
        storm.end_what_hangs()


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
    ],
)
def test_a_job_that_fails_is_submitted_again_and_one_that_slurm_restarts_is_not(
    storm: Storm, model: str, history: list[tuple[str, int]]
) -> None:
    assert storm.history(model) == history


def test_a_job_gets_the_gpus_memory_and_time_of_its_model(storm: Storm) -> None:
    asked_for = storm.asked_for["cuda_out_of_memory"]
    assert "TRES=cpu=1,mem=2000M,node=1" in asked_for
    assert "JOB_GRES=gpu:a100:2" in asked_for
    assert "TimeLimit=00:20:00" in asked_for


def test_after_a_killed_snakemake_nothing_starts_before_its_lock_is_removed(storm: Storm) -> None:
    assert storm.start_with_lock.returncode != 0
    assert "LockException" in storm.start_with_lock.stderr + storm.start_with_lock.stdout
    assert storm.unlocked.returncode == 0


def test_a_series_in_several_jobs_has_the_curves_of_one_job(
    slurm: Any, repository: Path, tmp_path: Path
) -> None:
    study = Study(tmp_path, repository, slurm)
    study.configuration.append(str(tmp_path / "series.yaml"))
    (tmp_path / "series.yaml").write_text("series: [in_steps]\n")
    study.environment["WORLDPROBE_CHECKPOINTS_PER_JOB"] = "2"
    results = tmp_path / "results" / "slurm" / "ewok"
    done = study.run("results/slurm/ewok/curves.parquet")
    check_success(done)
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
    check_success(done)
    assert len(list(results.glob("series/in_steps/*.parquet"))) == 1
    in_one = [
        read_table(results / f"{name}.parquet", table)
        for name, table in (("curves", Curves), ("onsets", Onsets))
    ]
    for split, whole in zip(in_jobs, in_one, strict=True):
        pd.testing.assert_frame_equal(split, whole)


def test_a_rehearsal_of_both_papers_goes_through_slurm_to_its_last_figure(
    slurm: Any, repository: Path, tmp_path: Path, reduced: tuple[Path, ...]
) -> None:
    study = Study(tmp_path, repository, slurm)
    del study.environment["BASH_ENV"]  # the real commands
    more = tmp_path / "more.yaml"
    more.write_text(yaml.safe_dump({"rehearsal": True, **PAPER}))
    files = (repository / "config" / "paper.yaml", more, *reduced[1:])
    study.configuration = list(map(str, files))
    done = study.run("all")
    check_success(done)
    submitted = set(re.findall(r"SLURM jobid \d+ \(log: \S*/rule_(\w+)/", done.stderr))
    assert {"score", "ask"} <= submitted
    assert not {"ask_server", "make_stand_ins"} & submitted
    check_paper(check_complete(tmp_path, files))
    assert "Nothing to be done" in study.run("all", "--dry-run").stdout
