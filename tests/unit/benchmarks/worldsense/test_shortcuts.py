"""Small versions of tests/performance/worldsense_shortcuts.py: where text classifiers stay at
chance, and where not.
"""

import pytest

pytest.importorskip("sklearn", reason="scikit-learn is part of the development environment")

from worldprobe.benchmarks.worldsense.skins.vocabulary import answers_of

#: A classifier that is stopped after some steps is one, too.
pytestmark = pytest.mark.filterwarnings("ignore:lbfgs failed to converge")


@pytest.fixture(scope="module")
def shortcuts(measurement):
    return measurement("worldsense_shortcuts")


@pytest.mark.parametrize("problem", ["Infer.trivial", "Compl.normal"])
def test_words_and_clauses_do_not_tell_the_answer(shortcuts, problem: str) -> None:
    found = shortcuts.measure(*(shortcuts.make_trials(problem, seed, 600) for seed in (0, 1)))
    for row in found[found["cell"] == "all"].to_dict("records"):
        low, high = shortcuts.interval(row["trials"], 1 / len(answers_of(problem)))
        assert low <= row["right"] / row["trials"] <= high, row["classifier"]


@pytest.mark.parametrize(
    ("problem", "cell", "n_trials"),
    [("Compl.trivial", "all", 1200), ("Consist.normal", "4/2/3", 3000)],
)
def test_the_strongest_classifier_finds_the_shortcuts_that_there_are(
    shortcuts, problem: str, cell: str, n_trials: int
) -> None:
    """Foreign relations by design; and which entities are between others, which decides one cell
    exactly.
    """
    found = shortcuts.measure(
        *(shortcuts.make_trials(problem, seed, n_trials, (4,)) for seed in (0, 1))
    )
    best = found[found["cell"] == cell].sort_values("right").iloc[-1]
    assert "presence" in best["classifier"]
    assert (
        best["right"] / best["trials"]
        > shortcuts.interval(best["trials"], 1 / len(answers_of(problem)), n_tests=8)[1]
    )
