"""Memory that a pass frees is there for the next one, without new page faults."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

#: Fills and frees blocks, each larger than all before, which glibc would get anew each time; prints the page faults.
PROGRAM = """
import resource, sys
from worldprobe.models.loading import keep_freed_memory
if sys.argv[1] == "kept":
    assert keep_freed_memory()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for size in range(10, 31, 2):
    block = b"x" * (size << 20)
    del block
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the setting is glibc's")
def test_freed_memory_is_used_again_without_page_faults(repository: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(repository / "workflow" / "src")}
    faults = {
        way: int(subprocess.run([sys.executable, "-c", PROGRAM, way], env=environment, capture_output=True, check=True).stdout)
        for way in ("kept", "given back")
    }
    assert faults["kept"] < faults["given back"] / 3


def test_loading_a_model_asks_for_it(tiny_checkpoint, monkeypatch) -> None:
    pytest.importorskip("torch")
    from worldprobe.models import loading
    from worldprobe.models.checkpoint import locate

    asked = []
    monkeypatch.setattr(loading, "keep_freed_memory", lambda: asked.append(True))
    loading.load(locate(str(tiny_checkpoint())), "float32", "cpu")
    assert asked == [True]
