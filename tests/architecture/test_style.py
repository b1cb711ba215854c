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
