"""What the shared parts learn of a study's benchmarks: each adds its files and its part of the
report.
"""

import sys
import tomllib
from importlib.metadata import EntryPoint
from types import ModuleType

import pandas as pd
import pytest

from worldprobe import benchmarks, extensions
from worldprobe.benchmark import (
    Benchmark,
    Input,
    Page,
    PageFiles,
    Section,
    figure,
    find_displays,
    table,
)
from worldprobe.benchmarks.ewok.contracts import Items, Summaries
from worldprobe.cli.report import declared_displays
from worldprobe.errors import UserError
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
    """One more benchmark, as an installed package would make it known."""
    benchmark = Benchmark(
        name="third",
        title="Third",
        settings=Block,
        displays=(shape,),
        page=Page(
            (Section("shapes", "Shapes"),), Input(Summaries), lambda material: None, page_files
        ),
    )
    module = ModuleType("third_benchmark")
    module.BENCHMARK = benchmark
    monkeypatch.setitem(sys.modules, "third_benchmark", module)
    point = EntryPoint("third", f"{module.__name__}:BENCHMARK", benchmarks.GROUP)
    points = benchmarks.installed() | {"third": point}
    monkeypatch.setattr(benchmarks, "installed", lambda: points)
    yield benchmark
    benchmarks._with_extensions.cache_clear()


def test_each_benchmark_of_a_study_adds_its_figures_and_its_part_of_the_report(third):
    study = {"study": "mine", "benchmarks": ["third"], "third": {}}
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


def test_two_figures_of_one_name_are_refused_whoever_has_them(third, monkeypatch):
    own = next(one for one in benchmarks.benchmarks()["ewok"].displays if one.kind == "figure")
    monkeypatch.setattr(third.displays[0], "name", own.name)
    with pytest.raises(UserError, match=f"benchmark third: and ewok both have a figure {own.name}"):
        benchmarks.benchmarks()


def test_our_own_benchmarks_are_entry_points_like_any_other(repository):
    declared = tomllib.loads((repository / "pyproject.toml").read_text())["project"][
        "entry-points"
    ][benchmarks.GROUP]
    assert declared == {name: benchmarks.installed()[name].value for name in benchmarks.OWN}


def test_two_packages_with_a_benchmark_of_one_name_are_refused(monkeypatch):
    points = [
        EntryPoint("third", f"{package}:BENCHMARK", benchmarks.GROUP)
        for package in ("mine", "theirs")
    ]
    monkeypatch.setattr(benchmarks, "entry_points", lambda group: points)
    with pytest.raises(
        UserError,
        match="is the name of two installed benchmarks, mine:BENCHMARK and theirs:BENCHMARK",
    ):
        benchmarks.installed.__wrapped__()


def test_a_benchmark_that_cannot_be_loaded_breaks_only_what_needs_it(monkeypatch, caplog):
    points = benchmarks.installed() | {
        "broken": EntryPoint("broken", "no_such_module:BENCHMARK", benchmarks.GROUP)
    }
    monkeypatch.setattr(benchmarks, "installed", lambda: points)
    assert list(benchmarks.benchmarks()) == list(benchmarks.OWN)
    assert "benchmark broken is left out: no_such_module:BENCHMARK cannot be loaded" in caplog.text
    with pytest.raises(UserError, match="benchmark broken: no_such_module:BENCHMARK cannot be"):
        benchmarks.find("broken")


def test_an_extension_that_cannot_be_loaded_is_left_out(monkeypatch, caplog):
    broken = EntryPoint("broken", "no_such_module:EXTENSION", extensions.GROUP)
    usable = extensions.load_usable({"broken": broken}, extensions.Extension)
    assert not usable
    assert "extension broken is left out" in caplog.text


def test_a_declaration_says_what_its_function_does_not():
    assert (shape.name, shape.title, shape.__doc__) == (
        "shape",
        "Shape",
        "The summaries as they are.",
    )
    assert shape(7) == 7
    assert shape.inputs_of({}, "results/mine/third") == ["results/mine/third/summaries.parquet"]
    items = Input(Items, lambda study: f"{study['study']}.parquet")
    both = table(inputs=[items], section="shapes", caption="Items.", name="twice")(
        lambda items: items
    )
    assert both.inputs_of({"study": "mine"}, "results") == ["mine.parquet"]
    assert both.paths("results")[0] == "results/tables/twice.csv"


def test_options_that_are_stated_for_help_are_those_of_benchmarks_and_displays():
    """Help of ``evaluate``, ``table`` and ``figure`` loads no benchmark."""
    stated = extensions.options_of_evaluation()
    evaluations = {name: one.evaluation for name, one in benchmarks.benchmarks().items()}
    assert {name: kind for name, (_, kind) in stated.items()} == {
        name: one.options for name, one in evaluations.items() if one and one.options
    }
    assert {name: title for name, (title, _) in stated.items()} == {
        name: benchmarks.find(name).title for name in stated
    }
    declared = {option for display in declared_displays() for option in display.options}
    assert declared == {*extensions.options_of_displays()}


def test_displays_are_found_once_where_they_are_declared():
    from worldprobe_training import displays

    names = [one.name for one in find_displays(displays)]  # it imports another figure
    assert names == ["worldsense_training", "worldsense_finetuning"]


def test_no_model_leaves_files_where_released_results_replace_its_answers():
    ewok = {
        "eval_types": ["logprobs"],
        "conditions": {"main": {}},
        "released": {"results": "archive.zip"},
    }
    study = {"study": "mine", "models": ["gpt2_xl"], "benchmarks": ["ewok"], "ewok": ewok}
    assert benchmarks.answers(study, "gpt2_xl") == []
    ewok["released"] = {"results": None}
    assert benchmarks.answers(study, "gpt2_xl") == [
        "results/mine/ewok/scores/main/logprobs/gpt2_xl.parquet"
    ]
