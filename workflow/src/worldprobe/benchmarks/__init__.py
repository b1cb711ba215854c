"""The benchmarks: each folder is all that is one benchmark's, and one line here makes it known."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from worldprobe.benchmark import Benchmark, load
from worldprobe.config import Check

#: Name -> module; a module's BENCHMARK is all that the shared parts see.
MODULES: Mapping[str, str] = {
    "ewok": "worldprobe.benchmarks.ewok.benchmark",
}


def benchmarks() -> dict[str, Benchmark]:
    """Every benchmark by name, in the order of reports."""
    return {name: import_module(module).BENCHMARK for name, module in MODULES.items()}


def settings_checks() -> dict[str, Check]:
    """What finds mistakes in each benchmark's block of a configuration."""
    return {name: load(benchmark.check_settings) for name, benchmark in benchmarks().items()}
