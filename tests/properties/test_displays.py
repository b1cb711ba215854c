"""Every table and figure of a study is built, whatever its materials and its models' answers lack."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drawn_studies import MODELS, Drawn, Pair, Road, show_worldsense, studies, write_materials
from worldprobe import benchmarks
from worldprobe.benchmark import FORMATS
from worldprobe.benchmarks.ewok.contracts import Templates
from worldprobe.benchmarks.ewok.vocabulary import EVAL_TYPES
from worldprobe.contracts import read_table
from worldprobe.settings import read_registry, read_study, read_yaml
from worldprobe_authoring.balance import bag_of_words

#: The cheapest form of each kind that needs the whole display.
CHEAP = {"table": ("json",), "figure": ("svg",)}
#: Forms that are text.
TEXT = (".json", ".csv", ".md", ".tex", ".svg")
SAME = Pair(contexts=(0,))
STUDIES = {
    "one concept, one model, which answers nothing": Drawn(
        domains=((Pair(has_second=False),),), models=("silent",), eval_types=EVAL_TYPES
    ),
    "sentences of one pair of concepts again in another, some answers alike everywhere": Drawn(
        domains=((SAME, SAME), (Pair(is_direct=(False,)),)),
        models=("tied", "good", "perfect"),
        versions=2,
        baselines=("word2vec",),
        conditions=2,
    ),
}


def some(values: list[str], most: int) -> st.SearchStrategy[list[str]]:
    """Some of the values, each once."""
    return st.lists(st.sampled_from(values), min_size=1, max_size=most, unique=True)


def show(drawn: Drawn, forms: dict[str, tuple[str, ...]]) -> None:
    """Walk a study's way in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        road = Road.of(drawn, str(write_materials(Path("materials"), drawn.domains)))
        road.walk()
        shown = road.show(forms)
        assert shown
        assert all(path.stat().st_size for path in shown)
        assert {"sample_item", "sample_items"} <= {path.stem for path in shown}
        drawn_texts = [path for path in shown if path.stem.startswith("sample_item")]
        assert not any(
            "Gardener" in path.read_text() for path in drawn_texts if path.suffix in TEXT
        )
        road.report(shown, Path("report.html"))


@pytest.mark.parametrize("drawn", STUDIES.values(), ids=STUDIES)
@pytest.mark.long
def test_a_study_that_lacks_much_has_all_its_tables_and_figures(drawn):
    show(drawn, CHEAP)


@pytest.mark.slow
@settings(max_examples=12)
@given(studies())
def test_any_study_has_all_its_tables_and_figures(drawn):
    show(drawn, FORMATS)


def test_a_pair_of_concepts_without_a_sentence_of_its_own_is_judged_by_the_words_of_others(
    tmp_path,
):
    with contextlib.chdir(tmp_path):
        road = Road.of(STUDIES[list(STUDIES)[1]], str(write_materials(Path("m"), ((SAME, SAME),))))
        road.do(f"templates compile m --out {road.files.table('templates')}")
        found = bag_of_words(read_table(road.files.table("templates"), Templates))
    assert found["domain"].tolist() == ["garden-a", "all"]
    assert found["side_words"].between(0, 1).all()


def show_trials(models, problems, skins, promptings, asked_set="test"):
    """Walk a study of WorldSense in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        files = show_worldsense(models, problems, skins, promptings, "csv", asked_set)
        assert all(path.is_file() for path in files)
        made_of = {"worldsense_trial_problems", "worldsense_entities", "worldsense_samples"}
        assert made_of <= {path.stem for path in files}


@pytest.mark.parametrize("models", [["silent"], ["silent", "halting", "perfect"]])
@pytest.mark.long
def test_trials_of_one_problem_and_one_skin_with_few_answers_have_all_tables_and_figures(models):
    show_trials(models, ["Compl.normal"], ["tall/short"], 1)


@pytest.mark.parametrize(
    ("asked_set", "problem"),
    [("test-motion", "Compl.motion"), ("test-hard", "Consist.hard"), ("ood-query", None)],
)
@pytest.mark.long
def test_other_sets_of_one_problem_that_nobody_answers_have_all_tables_and_figures(
    asked_set, problem
):
    show_trials(["silent"], [problem] if problem else [], [], 1, asked_set)


@pytest.mark.slow
@settings(max_examples=12)
@given(
    some(list(MODELS), 3),
    some(["Infer.trivial", "Infer.normal", "Consist.normal", "Compl.trivial"], 4),
    some(["tall/short", "trips", "obj_LeftRight"], 3),
    st.integers(1, 2),
)
def test_any_trials_and_answers_have_all_tables_and_figures(models, problems, skins, promptings):
    show_trials(models, problems, skins, promptings)


@pytest.mark.slow
def test_the_papers_study_of_the_official_materials_has_all_its_tables_and_figures(
    reference, repository, tmp_path
):
    """config/paper.yaml with simulated answers, of two versions: the designs of all are alike."""
    source = read_yaml(repository / "config" / "paper.yaml").document
    source["ewok"] |= {"items": {"mode": "fixed", "versions": "0-1"}}
    source["ewok"]["materials"] |= {"source": str(reference / "ewok-config.zip")}
    study = read_study(source, [], benchmarks.settings_classes)
    with contextlib.chdir(tmp_path):
        road = Road(study, read_registry(repository / "config" / "models.yaml"))
        road.walk()
        shown = road.show(FORMATS)
        road.report(shown, tmp_path / "report.html")
    assert {"materials_words.csv", "reproduction.csv", "accuracy_by_domain.svg"} <= {
        path.name for path in shown
    }
