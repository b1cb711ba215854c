"""Set-up: what the Makefile calls says what it cannot do, and how to go on."""

import shutil
import subprocess
from pathlib import Path


def bare_path(folder: Path, *programs: str) -> str:
    """A PATH with these programs and nothing else."""
    for name in programs:
        (folder / name).symlink_to(shutil.which(name))
    return str(folder)


def test_without_r_and_without_a_way_to_install_it_three_ways_out_are_named(repository: Path, tmp_path: Path) -> None:
    path = bare_path(tmp_path, "bash", "cat", "dirname", "env", "grep", "id")
    told = subprocess.run([str(repository / "envs" / "install-r")], env={"PATH": path}, capture_output=True, text=True)
    assert told.returncode == 1
    ways = [line.split(":")[0].strip() for line in told.stderr.splitlines() if line.startswith("  ")]
    assert ways == ["1. with root", "2. without root", "3. skip it"]
    for words in ("apt-get install r-base-core r-cran-lme4", "--sdm conda", "ewok={mixed_model: {enabled: false}}"):
        assert words in told.stderr


def test_the_third_way_out_is_a_configuration_that_needs_no_r(snakemake, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    planned = snakemake(tmp_path, "--dry-run", "--config", "ewok={mixed_model: {enabled: false}}")
    assert planned.returncode == 0, planned.stderr
    assert "fit_fixed_effects" in planned.stdout + planned.stderr
    assert "fit_mixed_model" not in planned.stdout + planned.stderr


def test_without_a_python_that_fits_set_up_stops_with_the_fix(repository: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(repository / "envs", copy / "envs")
    shutil.copy(repository / "pyproject.toml", copy)
    path = bare_path(tmp_path, "bash", "cat", "cksum", "dirname", "env", "grep", "id")
    old = tmp_path / "python3"
    old.write_text("#!/bin/bash\nexit 1\n")
    old.chmod(0o755)
    told = subprocess.run([str(copy / "envs" / "install-python")], env={"PATH": path}, capture_output=True, text=True)
    assert told.returncode == 2
    assert "3.11, 3.12 or 3.13" in told.stderr
    assert "python3-venv" in told.stderr
    assert not (copy / ".venv").exists()
