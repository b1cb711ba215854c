"""What the shared parts learn of a study's benchmarks: each adds its files and its part of the
report.
"""

import sys
from types import ModuleType

import pandas as pd
import pytest

from worldprobe import benchmarks
from worldprobe.benchmark import Benchmark, Input, Page, PageFiles, Section, figure
from worldprobe.benchmarks.ewok.contracts import Summaries
from worldprobe.settings import Block


def page_files(study, models):
    return PageFiles(f"results/{study['study']}/third/summaries.parquet", made_from=tuple(models))


@figure(
    inputs=[Summaries],
    section="shapes",
    caption="A shape.",
    when=lambda study, registry: study["study"] in registry,
)
def shape(summaries: pd.DataFrame, size: str = "small") -> pd.DataFrame:
    """The summaries as they are."""
    return summaries


@pytest.fixture
def third(monkeypatch) -> Benchmark:
    """One more benchmark, as a folder would make it known."""
    module = ModuleType("worldprobe.benchmarks.third.benchmark")
    module.BENCHMARK = Benchmark(
        name="third",
        title="Third",
        settings=Block,
        displays=(shape,),
        page=Page(
            (Section("shapes", "Shapes"),), Input(Summaries), lambda material: None, page_files
        ),
    )
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(benchmarks, "NAMES", (*benchmarks.NAMES, "third"))
    return module.BENCHMARK


def test_each_benchmark_of_a_study_adds_its_figures_and_its_part_of_the_report(third):
    study = {"study": "mine", "third": {}}
    assert benchmarks.of_study(study) == [third]
    assert benchmarks.display_files(study, {"mine": {}}, "figure", "svg") == [
        "results/mine/third/figures/shape.svg"
    ]
    assert len(benchmarks.display_files(study, {"mine": {}}, "figure")) == 4
    assert benchmarks.display_files(study, {"mine": {}}, "table") == []
    assert (
        benchmarks.display_files(study, {}, "figure") == []
    )  # as its condition says, which looks at the registry
    assert benchmarks.page_files(study, ["a", "b"]) == [
        PageFiles("results/mine/third/summaries.parquet", "auto", ("a", "b"))
    ]


def test_no_model_leaves_files_where_released_results_replace_its_answers():
    ewok = {
        "eval_types": ["logprobs"],
        "conditions": {"main": {}},
        "released": {"results": "archive.zip"},
    }
    study = {"study": "mine", "models": ["gpt2_xl"], "ewok": ewok}
    assert benchmarks.answers(study, "gpt2_xl") == []
    ewok["released"] = {"results": None}
    assert benchmarks.answers(study, "gpt2_xl") == [
        "results/mine/ewok/scores/main/logprobs/gpt2_xl.parquet"
    ]
