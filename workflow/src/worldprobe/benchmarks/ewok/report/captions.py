"""Which figures and tables each section of the report shows, read from the plans."""

from __future__ import annotations

from dataclasses import dataclass

from worldprobe.benchmarks.ewok.benchmark import BENCHMARK
from worldprobe.benchmarks.ewok.benchmark import SECTIONS as PAGE_SECTIONS


@dataclass(frozen=True)
class Section:
    """A part of the page with the stems of the tables and figures it shows."""

    id: str
    title: str
    intro: str
    figures: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()


def _named(section: str, kind: str) -> tuple[str, ...]:
    return tuple(plan.name for plan in BENCHMARK.plans if plan.section == section and plan.kind == kind)


SECTIONS = tuple(
    Section(section.id, section.title, section.intro, _named(section.id, "figure"), _named(section.id, "table"))
    for section in PAGE_SECTIONS
)
CAPTIONS = {plan.name: plan.caption for plan in BENCHMARK.plans if plan.kind == "figure"}
