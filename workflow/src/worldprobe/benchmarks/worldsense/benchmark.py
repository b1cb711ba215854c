"""WorldSense as the shared parts see it."""

from __future__ import annotations

from worldprobe.benchmark import Benchmark

BENCHMARK = Benchmark(
    name="worldsense",
    title="WorldSense",
    check_settings="worldprobe.benchmarks.worldsense.settings:check_settings",
    targets="worldprobe.benchmarks.worldsense.targets:targets",
    evidence="worldprobe.benchmarks.worldsense.targets:evidence",
    complete="worldprobe.benchmarks.worldsense.settings:complete_registry",
)
