"""Tables and figures of extensions are built, whatever people, checkpoints or families answer."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drawn_extensions import (
    LISTS,
    PARADIGMS,
    PEOPLE,
    ask_people,
    measure_families,
    show,
    trace_curves,
)
from drawn_studies import MODELS, Drawn, Pair, Road, studies, write_materials

THIN = ((Pair(has_second=False),),)
SAME = Pair(contexts=(0,))
SOME = ((SAME, SAME), (Pair(is_direct=(False,)),))
#: Of each training its model, its seed and the numbers of its checkpoints.
TRAININGS = {
    "one checkpoint": [("good", "one", [0])],
    "no score at all": [("silent", "one", [1, 2])],
    "no score of one of two": [("perfect", "one", [1, 10, 100]), ("silent", "one", [1, 2])],
    "seeds without a checkpoint in common": [("tied", "0", [1, 10]), ("tied", "1", [5])],
}


@contextlib.contextmanager
def a_road(drawn: Drawn):
    """A study with items, in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        road = Road.of(drawn, str(write_materials(Path("materials"), drawn.domains)))
        road.fill()
        yield road


@pytest.mark.parametrize("paradigms", PARADIGMS, ids=" and ".join)
def test_one_person_who_is_asked_one_item_has_all_tables_of_people(paradigms):
    with a_road(Drawn(domains=THIN)) as road:
        names = {path.stem for path in show(road, ask_people(road, paradigms, "one", LISTS[1]))}
    assert {"human_accuracy", "human_cleaning", "human_people"} <= names
    assert ("human_agreement" in names) == (len(paradigms) == 2)


@pytest.mark.slow
@settings(max_examples=12)
@given(studies(), st.sampled_from(PARADIGMS), st.sampled_from(list(PEOPLE)), st.sampled_from(LISTS))
def test_any_people_have_all_their_tables_and_figures(drawn, paradigms, kind, lists):
    with a_road(drawn) as road:
        assert show(road, ask_people(road, paradigms, kind, lists))


@pytest.mark.parametrize("trainings", TRAININGS.values(), ids=TRAININGS)
@pytest.mark.long
def test_checkpoints_that_say_little_have_all_tables_and_figures_of_curves(trainings):
    show_curves(SOME, 1, trainings)


@st.composite
def some_trainings(draw: st.DrawFn) -> list[tuple[str, str, list[int]]]:
    """Trainings of some models, each alone or with a second seed."""
    kinds = draw(st.lists(st.sampled_from(list(MODELS)), min_size=1, max_size=3, unique=True))
    steps = st.lists(st.integers(0, 99), min_size=1, max_size=4, unique=True).map(sorted)
    return [
        (kind, seed, draw(steps))
        for kind in kinds
        for seed in draw(st.sampled_from([("one",), ("0", "1")]))
    ]


@pytest.mark.slow
@settings(max_examples=12)
@given(studies(), some_trainings())
def test_any_checkpoints_have_all_tables_and_figures_of_curves(drawn, trainings):
    show_curves(drawn.domains, drawn.versions, trainings)


def show_curves(
    domains: Sequence[Sequence[Pair]],
    versions: int,
    trainings: Sequence[tuple[str, str, Sequence[float]]],
) -> None:
    """Walk the way of a study's checkpoints, and of a model's layers."""
    models = tuple(dict.fromkeys(series for series, _, _ in trainings))
    with a_road(Drawn(domains=tuple(domains), models=models, versions=versions)) as road:
        shown = show(road, trace_curves(road, trainings))
    assert {"ewok_learning_curves", "ewok_onset_table", "layers", "layer_onsets"} <= {
        path.stem for path in shown
    }


@pytest.mark.parametrize("models", [("silent",), ("tied", "halting")])
def test_a_family_of_one_base_has_its_tables_and_figure(models):
    family = [
        {"base": "only", "domain": "garden-a", "concepts": ["verbaax", "verbaay"]}
        | {"contrast": "variable swap"}
        | {"targets": ["[agent1] can verbaax [agent2]", "[agent2] can verbaax [agent1]"]}
        | {
            "levels": [
                {
                    "level": level,
                    "contexts": [
                        f"[agent1] helps [agent2] on day{level}",
                        f"[agent2] helps [agent1] on day{level}",
                    ],
                }
                for level in (1, 2)
            ]
        }
    ]
    with a_road(Drawn(domains=((Pair(),),), models=models)) as road:
        path = Path("materials/families/family-odd.yml")
        path.parent.mkdir()
        path.write_text(json.dumps(family), encoding="utf-8")
        names = {path.stem for path in show(road, measure_families(road))}
    assert names == {"family_accuracy", "families", "materials_families"}
