"""Parity as the shared parts see it."""

from __future__ import annotations

from worldprobe.benchmark import Benchmark, Input, Page, PageFiles, Plan, Registry, Section, Study
from worldprobe.paths import StudyPaths
from worldprobe.settings.blocks import Block, Count

HERE = "worldprobe.benchmarks.parity"
COUNTS = Input("summaries", f"{HERE}.contracts:Counts", "summaries.parquet")


class Parity(Block):
    """How many numbers are counted."""

    numbers: Count = 10
    """Largest number that is counted."""


def targets(study: Study, registry: Registry) -> list[str]:
    """Every file that a study makes, besides tables, figures and the report."""
    root = StudyPaths.of(study).benchmark("parity")
    return [f"{root}/summaries.parquet"]


def page_files(study: Study, models: list[str]) -> PageFiles:
    """What the report is built from."""
    summary = f"{StudyPaths.of(study).benchmark('parity')}/summaries.parquet"
    return PageFiles(summary=summary, made_from=(summary,))


BENCHMARK = Benchmark(
    name="parity",
    title="Parity",
    settings=f"{HERE}.benchmark:Parity",
    targets=f"{HERE}.benchmark:targets",
    plans=(
        Plan("table", "parity", "Counts", "counts", "Even and odd numbers.", (COUNTS,), f"{HERE}.parity:print_counts", extras=()),
    ),
    page=Page((Section("counts", "Counts"),), COUNTS, f"{HERE}.parity:compose", f"{HERE}.benchmark:page_files"),
)
