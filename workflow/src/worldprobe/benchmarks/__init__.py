"""The benchmarks: each folder is all that is one benchmark's. A further one is one more line in ``all_benchmarks``."""

from __future__ import annotations

from worldprobe.benchmark import Benchmark


def all_benchmarks() -> tuple[Benchmark, ...]:
    """Every benchmark, in the order of the report."""
    from worldprobe.benchmarks.ewok.benchmark import EWOK

    return (EWOK,)
