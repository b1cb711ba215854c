"""What the shared parts see of a benchmark: one object with all that is its own.

A benchmark is EWoK or WorldSense; a study is one named configuration of them. Adding a benchmark means one folder in
``benchmarks/``, one block in the configuration's schema and one line in ``benchmarks/__init__.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

from worldprobe.config import Check


@dataclass(frozen=True)
class Benchmark:
    """One benchmark.

    Attributes:
        name: its block in the configuration, its folder of results and its commands, e.g. ``ewok``.
        title: as it is written, e.g. EWoK.
        check_settings: finds mistakes in its block that the schema cannot see.
    """

    name: str
    title: str
    check_settings: Check
