"""Small versions of tests/performance/materials_cues.py: word classifiers are at chance on our
materials, and find a plant.
"""

import numpy as np
import pytest

from worldprobe.benchmarks.ewok.materials.items import compile_all
from worldprobe.benchmarks.ewok.materials.materials import read_materials
from worldprobe.benchmarks.ewok.materials.original_quirks import RIGHT
from worldprobe.benchmarks.ewok.materials.split import PAIR, folds
from worldprobe.paths import EDITIONS

#: Largest accuracy of a classifier over all templates of builtin@2 that the README states is 0.510.
BOUND = 0.53


@pytest.fixture(scope="module")
def cues(measurement):
    pytest.importorskip("sklearn", reason="scikit-learn is part of the development environment")
    return measurement("materials_cues")


@pytest.fixture(scope="module")
def templates():
    return compile_all(read_materials(EDITIONS["builtin@2"], RIGHT))


def test_parts_share_no_situation_and_no_concept_and_are_equally_large(templates):
    part = folds(templates, 5)
    assert np.bincount(part).max() - np.bincount(part).min() < 0.02 * len(templates)
    by_part = templates.assign(part=part)
    for column in ("situation", "context1"):
        assert by_part.groupby(column)["part"].nunique().max() == 1
    assert by_part.groupby(PAIR, dropna=False)["part"].nunique().max() == 1


def test_a_classifier_finds_a_planted_pair_of_words_and_no_other(templates, cues):
    some = templates[
        templates["domain"].isin(["social-relations", "spatial-relations"])
    ].reset_index(drop=True)
    make, parts = cues.CLASSIFIERS["naive Bayes"], folds(some, 3)
    words = {
        "context1": "indeed ",
        "target1": "truly ",
        "context2": "hardly ",
        "target2": "seldom ",
    }
    planted = some.assign(**{column: word + some[column] for column, word in words.items()})
    assert cues.accuracies(planted, make, parts, cues.features(planted)).mean() > 0.95
    assert cues.accuracies(some, make, parts, cues.features(some)).mean() == pytest.approx(
        0.5, abs=0.05
    )


@pytest.mark.slow
def test_no_classifier_of_words_is_above_chance_on_the_second_edition(templates, cues):
    x, parts = cues.features(templates), folds(templates, 5)
    found = {
        name: cues.accuracies(templates, make, parts, x).mean()
        for name, make in cues.CLASSIFIERS.items()
    }
    assert max(found.values()) < BOUND, found


def test_liking_tells_little_about_social_properties(templates, cues):
    pytest.importorskip("vaderSentiment")
    found = cues.valence(templates)
    assert found.mean() < 0.53
    assert found[(templates["domain"] == "social-properties").to_numpy()].mean() < 0.58
