"""Which figures and tables each section of the report shows, read from the plans."""

from __future__ import annotations

from dataclasses import dataclass

from worldprobe.benchmarks.ewok.benchmark import EWOK


@dataclass(frozen=True)
class Section:
    """A part of the page with the stems of the tables and figures it shows."""

    id: str
    title: str
    intro: str
    figures: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()


def _named(section: str, kind: str) -> tuple[str, ...]:
    return tuple(plan.name for plan in EWOK.plans if plan.section == section and plan.kind == kind)


SECTIONS = tuple(
    Section(section.id, section.title, section.intro, _named(section.id, "figure"), _named(section.id, "table"))
    for section in EWOK.page.sections
)
CAPTIONS = {plan.name: plan.caption for plan in EWOK.plans if plan.kind == "figure"}
