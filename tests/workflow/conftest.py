"""Real Snakemakes, in folders of their own."""

import contextlib
import io
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from command_line import check_success

#: Not for pytest, which would import them to look for examples: what jobs of the SLURM tests run,
#: and a benchmark to install.
collect_ignore = ["slurm", "aaa"]

Snakemake = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def snakemake_command(repository: Path) -> Callable[..., list[str]]:
    """The command line of a Snakemake that works in a folder with some configuration files, or
    the default study.
    """

    def command(folder: Path, *arguments: str, configuration: tuple[Path, ...] = ()) -> list[str]:
        files = configuration or (repository / "config" / "config.yaml",)
        base = [
            sys.executable,
            "-m",
            "snakemake",
            "--snakefile",
            str(repository / "Snakefile"),
            "--directory",
            str(folder),
        ]
        return [*base, "--cores", "2", *arguments, "--configfile", *map(str, files)]

    return command


@pytest.fixture(scope="session")
def environment() -> dict[str, str]:
    """The shell commands of rules find this test's Python first."""
    return os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "200",
    }


@pytest.fixture(scope="session")
def installed(
    environment: dict[str, str], repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[Path], dict[str, str]]:
    """A function: source of a package -> the environment of a Python in which it is installed."""

    def install(source: Path) -> dict[str, str]:
        home = tmp_path_factory.mktemp("installed")
        options = f"--quiet --no-index --no-deps --no-build-isolation --target {home}".split()
        subprocess.run([sys.executable, "-m", "pip", "install", *options, str(source)], check=True)
        return environment | {"PYTHONPATH": f"{repository / 'workflow' / 'src'}:{home}"}

    return install


#: What starts no job is done in the process of the tests: a third of the time, as nothing is
#: imported again.
PLANS = {"--dry-run", "--list-rules", "--rulegraph", "--summary", "--touch"}


@pytest.fixture(scope="session")
def plan() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Call Snakemake's command line in this process, which is afterwards as it was."""
    from snakemake.cli import main

    def call(command: list[str], folder: Path | None = None) -> subprocess.CompletedProcess[str]:
        words = command[command.index("snakemake") + 1 :]
        here, environment, path, at_end = (
            Path.cwd(),
            dict(os.environ),
            list(sys.path),
            signal.getsignal(signal.SIGTERM),
        )
        stdout, stderr = io.StringIO(), io.StringIO()
        try:
            os.chdir(folder or here)
            with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
                main(words)
        except SystemExit as ended:  # always
            code = ended.code
        finally:
            os.chdir(here)
            os.environ.clear()
            os.environ.update(environment)
            sys.path[:] = path
            signal.signal(signal.SIGTERM, at_end)
        if isinstance(code, str):
            stderr.write(code)
        return subprocess.CompletedProcess(
            command, code if isinstance(code, int) else 1, stdout.getvalue(), stderr.getvalue()
        )

    return call


@pytest.fixture(scope="session")
def snakemake(
    snakemake_command: Callable[..., list[str]],
    environment: dict[str, str],
    plan: Callable[..., subprocess.CompletedProcess[str]],
) -> Snakemake:
    """Run Snakemake to its end."""

    def run(
        folder: Path, *arguments: str, configuration: tuple[Path, ...] = ()
    ) -> subprocess.CompletedProcess[str]:
        command = snakemake_command(folder, *arguments, configuration=configuration)
        if PLANS & set(arguments):
            return plan(command)
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        now = os.environ | {
            "PATH": path,
            "COLUMNS": environment["COLUMNS"],
        }  # with what a test has set since
        return subprocess.run(command, env=now, capture_output=True, text=True, timeout=3000)

    return run


@pytest.fixture(scope="session")
def experiment(
    snakemake: Snakemake, repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> Snakemake:
    """A function: name of an experiment -> its plan, which is made once."""

    def planned(name: str) -> subprocess.CompletedProcess[str]:
        folder = tmp_path_factory.mktemp(name)
        accepted = folder / "accepted.yaml"
        accepted.write_text("accept_terms: [gemma]\n")
        files = (repository / "config" / "experiments" / f"{name}.yaml", accepted)
        return snakemake(folder, "--dry-run", "--printshellcmds", configuration=files)

    return cache(planned)


@pytest.fixture(scope="session")
def reduced(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    """The configuration of a study that takes about a minute; without the mixed-effects model
    where R is missing.
    """
    code = "from rpy2.robjects.packages import importr; importr('lme4')"
    has_r = (
        subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True).returncode
        == 0
    )
    without_r = tmp_path_factory.mktemp("configuration") / "without_r.yaml"
    without_r.write_text("ewok:\n  mixed_model:\n    enabled: false\n")
    return (repository / ".test" / "config" / "config.yaml", *([] if has_r else [without_r]))


@pytest.fixture(scope="session")
def finished(
    snakemake: Snakemake, reduced: tuple[Path, ...], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The folder of a whole run of the reduced study. Tests read it; those that change it work
    on a copy.
    """
    folder = tmp_path_factory.mktemp("finished")
    done = snakemake(folder, "--show-failed-logs", configuration=reduced)
    check_success(done)
    return folder


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that need a whole run of the reduced study, so that they can be chosen or
    left out.
    """
    for item in items:
        if "finished" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.whole_run)
