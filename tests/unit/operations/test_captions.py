"""Snakemake's own report shows the captions that the plans have."""

import re
from pathlib import Path
from types import SimpleNamespace

import jinja2
import pytest
from docutils.core import publish_string

from worldprobe.benchmark import Plan
from worldprobe.benchmarks import benchmarks
from worldprobe.operations.captions import write_caption

PLANS = [plan for benchmark in benchmarks().values() for plan in benchmark.plans]


def shown(path: str, **wildcards: str) -> str:
    """The words of a caption file, as Snakemake renders it; a fault in it is an error."""
    text = jinja2.Template(Path(path).read_text()).render(snakemake=SimpleNamespace(wildcards=SimpleNamespace(**wildcards)))
    page = publish_string(text, writer="pseudoxml", settings_overrides={"halt_level": 2, "output_encoding": "unicode"})
    assert "<emphasis" not in page
    assert page.count("<paragraph>") == 1
    return " ".join(re.sub(r"^ *<\w+.*>$", "", page, flags=re.MULTILINE).split())


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: f"{plan.kind} {plan.name}")
def test_the_words_of_a_plan_are_shown_as_they_are(plan: Plan, tmp_path: Path) -> None:
    assert shown(write_caption(plan, tmp_path)) == plan.caption


def test_signs_of_markup_are_shown_as_they_are(tmp_path: Path) -> None:
    plan = Plan("table", "odd", "Odd", "s", "*a* {{ b }} c_ `d` {% e %} |f| \\g", (), "m:f")
    assert shown(write_caption(plan, tmp_path)) == plan.caption


def test_a_rule_with_a_wildcard_shows_the_caption_of_each_value(tmp_path: Path) -> None:
    mixed, fixed = (next(plan for plan in PLANS if plan.name == name) for name in ("mixed_model", "fixed_effects"))
    path = write_caption(mixed, tmp_path, fixed)
    assert shown(path, fit="mixed_model") == mixed.caption
    assert shown(path, fit="fixed_effects") == fixed.caption


def test_a_caption_that_says_the_same_is_left_alone(tmp_path: Path) -> None:
    path = Path(write_caption(PLANS[0], tmp_path))
    before = path.stat().st_mtime_ns
    write_caption(PLANS[0], tmp_path)
    assert path.stat().st_mtime_ns == before
