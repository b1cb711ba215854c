"""What the SLURM tests put in place of `worldprobe`, started with the lines that the rules plan.

The quick suite keeps the SLURM suite startable: that one runs only where a SLURM can be installed.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Snakemake = Callable[..., subprocess.CompletedProcess[str]]
STAND_INS = Path(__file__).parent / "slurm"


@pytest.fixture(scope="module")
def planned(snakemake: Snakemake, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Command -> the words of the first line that asks a model, in the SLURM tests' study."""
    folder = tmp_path_factory.mktemp("planned")
    (folder / "series.yaml").write_text("series: [in_steps]\n")
    run = snakemake(
        folder,
        "--dry-run",
        "--printshellcmds",
        configuration=(STAND_INS / "config.yaml", folder / "series.yaml"),
    )
    lines = re.findall(r"^Shell command: (worldprobe .*)$", run.stdout + run.stderr, re.MULTILINE)
    words = [shlex.split(line.partition("&>")[0]) for line in lines]
    asking = [line for line in words if "--" in line]
    return {" ".join(line[line.index("--") :][1:3]): line[1:] for line in reversed(asking)}


@pytest.mark.parametrize("command", ["score all", "series score"])
@pytest.mark.long
def test_a_stand_in_takes_the_line_that_the_rule_plans(
    command: str, planned: dict[str, list[str]], tmp_path: Path
) -> None:
    """It runs as far as the real command, which says that the items are not there."""
    words = planned[command]
    done = subprocess.run(
        [sys.executable, str(STAND_INS / "faulty.py"), *words],
        cwd=tmp_path,
        env=os.environ | {"FAULTS": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 2, done.stderr
    assert "problem:" in done.stderr
    assert "Traceback" not in done.stderr
    assert "items" in done.stderr
    assert f'" -- {command} "' in (STAND_INS / "faults.sh").read_text()
