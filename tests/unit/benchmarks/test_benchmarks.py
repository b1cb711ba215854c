"""What the shared parts learn of a study's benchmarks: each adds its files and its part of the report."""

import sys
from types import ModuleType

import pytest

from worldprobe import benchmarks
from worldprobe.benchmark import Benchmark, Input, Page, PageFiles, Plan, Section

SUMMARY = Input("summaries", "worldprobe.benchmarks.ewok.contracts:Summaries", "summaries.parquet")
FIGURE = Plan("figure", "shape", "Shape", "shapes", "A shape.", (SUMMARY,), "tests:build", "tests:draw")


def page_files(study, models):
    return PageFiles(f"results/{study['study']}/third/summaries.parquet", made_from=tuple(models))


@pytest.fixture
def third(monkeypatch) -> Benchmark:
    """One more benchmark, made known by one line."""
    module = ModuleType("worldprobe_third")
    module.page_files = page_files
    module.BENCHMARK = Benchmark(
        name="third",
        title="Third",
        settings="tests:none",
        targets="tests:none",
        plans=(FIGURE,),
        page=Page(
            (Section("shapes", "Shapes"),), SUMMARY, "worldprobe.benchmarks.third.part:compose", "worldprobe_third:page_files"
        ),
    )
    monkeypatch.setitem(sys.modules, "worldprobe_third", module)
    monkeypatch.setattr(benchmarks, "MODULES", {**benchmarks.MODULES, "third": "worldprobe_third"})
    return module.BENCHMARK


def test_each_benchmark_of_a_study_adds_its_figures_and_its_part_of_the_report(third):
    study = {"study": "mine", "third": {}}
    assert benchmarks.of_study(study) == [third]
    assert benchmarks.plan_files(study, {}, "figure", "svg") == ["results/mine/third/figures/shape.svg"]
    assert len(benchmarks.plan_files(study, {}, "figure")) == 4
    assert benchmarks.plan_files(study, {}, "table") == []
    assert benchmarks.page_files(study, ["a", "b"]) == [PageFiles("results/mine/third/summaries.parquet", "auto", ("a", "b"))]


def test_a_study_without_a_benchmark_that_has_a_page_has_no_report():
    assert benchmarks.page_files({"study": "mine"}, []) == []


def test_no_model_leaves_files_where_released_results_replace_its_answers():
    ewok = {"eval_types": ["logprobs"], "conditions": {"main": {}}, "released": {"results": "archive.zip"}}
    study = {"study": "mine", "models": ["gpt2_xl"], "ewok": ewok}
    assert benchmarks.evidence(study, "gpt2_xl") == []
    ewok["released"] = {"results": None}
    assert benchmarks.evidence(study, "gpt2_xl") == ["results/mine/ewok/scores/main/logprobs/gpt2_xl.parquet"]
