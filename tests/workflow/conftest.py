"""Real Snakemakes, in folders of their own."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Snakemake = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def snakemake_command(repository: Path) -> Callable[..., list[str]]:
    """The command line of a Snakemake that works in a folder with some configuration files."""

    def command(folder: Path, *arguments: str, configuration: tuple[Path, ...] = ()) -> list[str]:
        files = [repository / "config" / "config.yaml", *configuration]
        base = [sys.executable, "-m", "snakemake", "--snakefile", str(repository / "Snakefile"), "--directory", str(folder)]
        return [*base, "--cores", "2", *arguments, "--configfile", *map(str, files)]

    return command


@pytest.fixture(scope="session")
def environment() -> dict[str, str]:
    """The shell commands of rules find this test's Python first."""
    return os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "200"}


@pytest.fixture(scope="session")
def snakemake(snakemake_command: Callable[..., list[str]], environment: dict[str, str]) -> Snakemake:
    """Run Snakemake to its end."""

    def run(folder: Path, *arguments: str, configuration: tuple[Path, ...] = ()) -> subprocess.CompletedProcess[str]:
        command = snakemake_command(folder, *arguments, configuration=configuration)
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1200)

    return run


@pytest.fixture(scope="session")
def reduced(repository: Path) -> Path:
    """The configuration of a study that takes about a minute."""
    return repository / "tests" / "workflow" / "reduced" / "config.yaml"
