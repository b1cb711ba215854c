"""Formatter, linters and types, as `make format` and an editor see them."""

import subprocess
import sys
from pathlib import Path

import pytest

QUICK = {
    "ruff finds nothing to fix": ["ruff", "check", "--no-cache", "."],
    "ruff would change no file": ["ruff", "format", "--check", "--no-cache", "."],
}
SLOW = {
    "snakefmt would change no file": ["snakefmt", "--check", "Snakefile", "workflow"],
    "snakemake has no advice": ["snakemake", "--lint"],
    "mypy finds no error": ["mypy"],
}


@pytest.mark.parametrize(
    "command",
    [
        *(pytest.param(command, id=name) for name, command in QUICK.items()),
        *(pytest.param(command, id=name, marks=pytest.mark.slow) for name, command in SLOW.items()),
    ],
)
def test_style(repository: Path, command: list[str]) -> None:
    tool = str(Path(sys.executable).with_name(command[0]))
    found = subprocess.run([tool, *command[1:]], cwd=repository, capture_output=True, text=True)
    assert found.returncode == 0, f"{found.stdout[-3000:]}\n{found.stderr[-3000:]}"


@pytest.mark.skipif(not (Path(__file__).parents[2] / ".git").exists(), reason="not a clone")
def test_a_clone_of_a_git_that_converts_line_ends_has_those_of_linux(
    repository: Path, tmp_path: Path
) -> None:
    """magicmonty/bash-git-prompt #345: with core.autocrlf, as git for Windows sets it, no script
    started.
    """
    clone = [
        "git",
        "-c",
        "core.autocrlf=true",
        "clone",
        "--quiet",
        "--depth",
        "1",
        f"file://{repository}",
        str(tmp_path / "clone"),
    ]
    subprocess.run(clone, check=True, capture_output=True)
    told = subprocess.run(
        ["git", "ls-files", "--eol"],
        cwd=tmp_path / "clone",
        capture_output=True,
        text=True,
        check=True,
    )
    kinds = {line.rpartition("\t")[2]: line.split()[1] for line in told.stdout.splitlines()}
    assert kinds["slurm/bin/squeue"] == kinds["workflow/bin/worldprobe"] == "w/lf"
    assert [path for path, kind in kinds.items() if kind not in ("w/lf", "w/none", "w/-text")] == []
