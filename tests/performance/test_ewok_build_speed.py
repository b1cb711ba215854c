"""How long compiling the official archive and filling five versions takes, as a whole process,
imports included.

``pytest tests/performance/test_ewok_build_speed.py --benchmark-enable -s`` prints seconds and
ratio. The original generator takes 31.7 s for the same on the same kind of machine: 4.8 s to
compile and 26.9 s for five versions.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from worldprobe.benchmarks.ewok.contracts import Items
from worldprobe.contracts import read_table

ORIGINAL_SECONDS = 31.7
PACKAGE = Path(__file__).parents[2] / "workflow" / "src"


@pytest.mark.usefixtures("commands_are_measured")
def test_compiling_and_filling_the_official_archive(reference, tmp_path, benchmark):
    out = tmp_path / "items.parquet"
    options = [
        "--versions",
        "0-4",
        "--mode",
        "fixed",
        "--compat",
        "--release-filter",
        "--out",
        str(out),
    ]
    command = [
        sys.executable,
        "-m",
        "worldprobe",
        "items",
        "build",
        str(reference / "ewok-config.zip"),
        *options,
    ]
    environment = os.environ | {"PYTHONPATH": str(PACKAGE), "WORLDPROBE_MATERIALS_PASSWORD": "ewok"}
    benchmark.pedantic(
        subprocess.run,
        (command,),
        {"check": True, "env": environment, "capture_output": True},
        rounds=5,
        warmup_rounds=1,
    )
    assert len(read_table(out, Items)) == 4374
    if benchmark.stats is not None:
        seconds = benchmark.stats.stats.min
        print(
            f"\n{seconds:.2f} s (best of 5), {ORIGINAL_SECONDS / seconds:.0f} times as fast as the"
            " original"
        )
