"""The article of a study, as a target of its own."""

import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from worldprobe.cli import parse

Snakemake = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.parametrize("has_tex", [True, False])
def test_the_paper_is_planned_and_typeset_only_where_latexmk_is(
    snakemake: Snakemake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_tex: bool
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    if has_tex:
        (folder / "latexmk").write_text("#!/bin/sh\n")
        (folder / "latexmk").chmod(0o755)
    elif shutil.which("latexmk"):
        pytest.skip("latexmk is installed here, so what happens without it cannot be seen")
    import os

    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    run = snakemake(tmp_path, "--dry-run", "--printshellcmds", "paper")
    assert run.returncode == 0, run.stderr
    lines = [
        line.removeprefix("Shell command: ")
        for line in (run.stdout + run.stderr).splitlines()
        if "worldprobe paper " in line
    ]
    assert len(lines) == (2 if has_tex else 1)
    for line in lines:
        assert parse(shlex.split(line)[1:-2]) is not None
