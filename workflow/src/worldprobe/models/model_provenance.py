"""Which instructions of the processor compute: pinned for training, so that machines of different types give equal bytes.

Sums in float32 depend on how many numbers an instruction adds at once. Nearly every x86-64 processor since 2013 has AVX2, so
training uses it and nothing newer. Intel's library promises one order of sums for AVX2 on Intel's processors only.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from worldprobe.models.engine import EngineFacts
from worldprobe.models.model_types import CAUSAL
from worldprobe.provenance import Provenance


def made_by_model(
    facts: EngineFacts, method: int, model: str, inputs: Mapping[str, str], details: Mapping[str, Any], **known: Any
) -> Provenance:
    """What made a table of scores or responses.

    Args:
        facts: the engine's.
        method: version of the computation.
        model: our name of the model.
        inputs: name -> digest of what was read besides the checkpoint.
        details: anything else that is stated; ``details["answers"]`` says which processes computed the answers, and with which
            versions of packages, which may be several where a study was continued after an upgrade.
        **known: other fields of ``Provenance``: seed, canary.
    """
    start = {"start": facts.bos} | ({"pseudo_log_likelihood": facts.pseudo} if facts.pseudo else {})
    packages: dict[str, set[str]] = {}
    for entry in details["answers"]["made_by"]:
        for name, version in entry["process"]["packages"].items():
            packages.setdefault(name, set()).add(version)
    return Provenance(
        method=method,
        model=model,
        checkpoint=facts.checkpoint,
        revision=facts.revision,
        dtype=facts.dtype,
        engine=facts.engine,
        kind=None if facts.kind == CAUSAL else facts.kind,
        inputs={**inputs, "checkpoint": facts.checkpoint_digest},
        packages={name: ", ".join(sorted(found)) for name, found in packages.items()},
        details={**start, "max_length": facts.max_length, "pass": facts.notes.get("mode"), **details},
        **known,
    )


#: Variables that PyTorch and its libraries read when they first compute: 1.1 times the time of AVX-512 for our control models.
PINS = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_CBWR": "AVX2"}


def pin() -> bool:
    """Pin the arithmetic of this process; False where torch is loaded already and other instructions may be in use."""
    was_pinned = all(os.environ.get(name) == value for name, value in PINS.items())
    if "torch" in sys.modules and not was_pinned:
        return False
    os.environ.update(PINS)
    return True


def processor() -> str:
    """The processor's type, for the provenance of what depends on it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    facts = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    described = [facts.get(key, "") for key in ("vendor_id", "cpu family", "model", "model name")]
    return " ".join([platform.machine(), *filter(None, described)])


def instructions() -> str:
    """The newest vector instructions that torch uses here, e.g. AVX512."""
    import torch

    return str(torch.backends.cpu.get_cpu_capability())


def facts() -> dict[str, str]:
    """Processor and instructions, for the provenance of a model that was trained here."""
    pinned = all(os.environ.get(name) == value for name, value in PINS.items())
    described = "pinned to AVX2" if pinned else "the processor's own"
    return {"processor": processor(), "instructions": instructions(), "arithmetic": described}
