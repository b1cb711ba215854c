"""WorldSense as the shared parts see it."""

from __future__ import annotations

from worldprobe.benchmark import Benchmark, Page
from worldprobe.benchmarks.worldsense.plans import FIGURES, SECTIONS, SUMMARIES, TABLES

BENCHMARK = Benchmark(
    name="worldsense",
    title="WorldSense",
    settings="worldprobe.benchmarks.worldsense.settings:WorldSense",
    targets="worldprobe.benchmarks.worldsense.targets:targets",
    asked="worldprobe.benchmarks.worldsense.targets:asked_besides",
    evidence="worldprobe.benchmarks.worldsense.targets:evidence",
    asking="ask",
    adds="worldprobe.benchmarks.worldsense.finetuning.plan:add_models",
    complete="worldprobe.benchmarks.worldsense.settings:complete_registry",
    plans=(*TABLES, *FIGURES),
    page=Page(
        sections=SECTIONS,
        summary=SUMMARIES,
        compose="worldprobe.benchmarks.worldsense.report.part:compose",
        files="worldprobe.benchmarks.worldsense.targets:page_files",
    ),
)
