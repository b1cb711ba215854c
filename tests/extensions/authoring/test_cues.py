"""A small version of docs/simulations/materials_cues.py: word classifiers are at chance on our
materials.
"""

import pytest

from worldprobe.benchmarks.ewok.materials.compile import compile_all
from worldprobe.benchmarks.ewok.materials.materials import read_materials
from worldprobe.benchmarks.ewok.materials.original_quirks import RIGHT
from worldprobe.paths import BUILTIN, EDITIONS
from worldprobe_authoring.split import folds

#: Largest accuracy of a classifier over all templates of our own materials that the README states is 0.510.
BOUND = 0.53


@pytest.fixture(scope="module")
def cues(measurement):
    pytest.importorskip("sklearn", reason="scikit-learn is part of the development environment")
    return measurement("materials_cues")


@pytest.fixture(scope="module")
def templates():
    return compile_all(read_materials(EDITIONS[BUILTIN], RIGHT))


@pytest.mark.slow
def test_no_classifier_of_words_is_above_chance_on_our_own_materials(templates, cues):
    x, parts = cues.features(templates), folds(templates, {}, 5)
    found = {
        name: cues.accuracies(templates, make, parts, x).mean()
        for name, make in cues.CLASSIFIERS.items()
    }
    assert max(found.values()) < BOUND, found
