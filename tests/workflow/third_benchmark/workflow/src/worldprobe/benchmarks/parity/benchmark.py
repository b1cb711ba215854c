"""Parity as the shared parts see it."""

from __future__ import annotations

from worldprobe.benchmarks.parity.contracts import Counts
from worldprobe.benchmarks.parity.parity import compose, parity

from worldprobe.benchmark import Benchmark, Input, Page, PageFiles, Registry, Section, Study
from worldprobe.paths import StudyPaths
from worldprobe.settings.blocks import Block, Count


class Parity(Block):
    """How many numbers are counted."""

    numbers: Count = 10
    """Largest number that is counted."""


def outputs(study: Study, registry: Registry) -> list[str]:
    """Every file that a study makes, besides tables, figures and the report."""
    return [f"{StudyPaths.of(study).benchmark('parity')}/summaries.parquet"]


def page_files(study: Study, models: list[str]) -> PageFiles:
    """What the report is built from."""
    (summary,) = outputs(study, {})
    return PageFiles(summary=summary, made_from=(summary,))


BENCHMARK = Benchmark(
    name="parity",
    title="Parity",
    settings=Parity,
    outputs=outputs,
    displays=(parity,),
    page=Page((Section("counts", "Counts"),), Input(Counts, "summaries.parquet"), compose, page_files),
)
