"""Set-up: what the Makefile calls says what it cannot do, and how to go on."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path


def bare_path(folder: Path, *programs: str) -> str:
    """A PATH with these programs and nothing else."""
    for name in programs:
        (folder / name).symlink_to(shutil.which(name))
    return str(folder)


def test_without_r_and_without_a_way_to_install_it_three_ways_out_are_named(
    repository: Path, tmp_path: Path
) -> None:
    path = bare_path(tmp_path, "bash", "cat", "dirname", "env", "grep", "id")
    told = subprocess.run(
        [str(repository / "envs" / "install-r")], env={"PATH": path}, capture_output=True, text=True
    )
    assert told.returncode == 1
    ways = [
        line.split(":")[0].strip() for line in told.stderr.splitlines() if line.startswith("  ")
    ]
    assert ways == ["1. with root", "2. without root", "3. skip it"]
    for words in (
        "apt-get install r-base-core r-cran-lme4",
        "--sdm conda",
        "ewok={mixed_model: {enabled: false}}",
    ):
        assert words in told.stderr


def test_containers_that_no_rule_has_are_refused(
    snakemake: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    """D2: jobs ran outside any container, or did not find their Python."""
    done = snakemake(tmp_path, "--dry-run", "--sdm", "apptainer")
    assert done.returncode
    assert "no rule has a container of its own" in done.stdout + done.stderr
