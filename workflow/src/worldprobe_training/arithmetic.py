"""The arithmetic of the machine that trains: the same instructions wherever it is."""

from __future__ import annotations

import os
import sys

from worldprobe.models.checkpoint import instructions, processor

#: Variables that PyTorch and its libraries read when they first compute: 1.1 times the time of
#: AVX-512 for our control models.
PINS = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_CBWR": "AVX2"}


def pin() -> bool:
    """Pin the arithmetic of this process; False where torch is loaded already and other
    instructions may be in use.
    """
    was_pinned = all(os.environ.get(name) == value for name, value in PINS.items())
    if "torch" in sys.modules and not was_pinned:
        return False
    os.environ.update(PINS)
    return True


def facts() -> dict[str, str]:
    """Processor and instructions, for the provenance of a model that was trained here."""
    pinned = all(os.environ.get(name) == value for name, value in PINS.items())
    described = "pinned to AVX2" if pinned else "the processor's own"
    return {"processor": processor(), "instructions": instructions(), "arithmetic": described}
