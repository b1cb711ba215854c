"""The benchmarks: each folder is all that is one benchmark's, and one line here makes it known."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from worldprobe.benchmark import Benchmark, Registry, Study, load
from worldprobe.config import Check

#: Name -> module; a module's BENCHMARK is all that the shared parts see.
MODULES: Mapping[str, str] = {
    "ewok": "worldprobe.benchmarks.ewok.benchmark",
    "worldsense": "worldprobe.benchmarks.worldsense.benchmark",
}


def benchmarks() -> dict[str, Benchmark]:
    """Every benchmark by name, in the order of reports."""
    return {name: import_module(module).BENCHMARK for name, module in MODULES.items()}


def settings_checks() -> dict[str, Check]:
    """What finds mistakes in each benchmark's block of a configuration."""
    return {name: load(benchmark.check_settings) for name, benchmark in benchmarks().items()}


def of_study(study: Study) -> list[Benchmark]:
    """The benchmarks that a study has a block of."""
    return [benchmark for name, benchmark in benchmarks().items() if study.get(name) is not None]


def targets(study: Study, registry: Registry) -> list[str]:
    """Every file that a study is for, without the report."""
    return [path for benchmark in of_study(study) for path in load(benchmark.targets)(study, registry)]


def evidence(study: Study, model: str) -> list[str]:
    """The files that asking a model leaves, benchmark by benchmark."""
    asking = [benchmark for benchmark in of_study(study) if benchmark.evidence]
    return [path for benchmark in asking for path in load(benchmark.evidence)(study, model)]


def complete_registry(study: Study, registry: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The registry with what depends on the study, e.g. the folders of the models that it trains."""
    for benchmark in of_study(study):
        if benchmark.complete:
            registry = load(benchmark.complete)(study, registry)
    return registry
