"""Intervals over skins and abstract problems, by simulation."""

import numpy as np
import pandas as pd
import pytest

from generated_trials import make_trials
from worldprobe.benchmarks.worldsense.analysis.intervals import spread_of_means
from worldprobe.benchmarks.worldsense.analysis.questions import (
    Questions,
    add_properties,
    from_frame,
)
from worldprobe.benchmarks.worldsense.analysis.statistics import Z, average

N_SERIES = 400


@pytest.fixture(scope="module")
def questions() -> Questions:
    trials = make_trials("test", sizes=[3, 4], per_cell=2)
    return add_properties(from_frame(trials, "test"), trials)


def of_skins(questions: Questions, number: int) -> pd.DataFrame:
    """The tuples of so many skins, as many of each domain."""
    tuples = questions.tuples
    wanted = [
        name
        for _, part in tuples.groupby("domain", observed=True)
        for name in part["skin"].astype(str).unique()[: max(1, number // 3)]
    ][:number]
    return tuples[tuples["skin"].astype(str).isin(wanted)].reset_index(drop=True)


def simulate(
    tuples: pd.DataFrame, of_skin: float, of_core: float, rng: np.random.Generator
) -> np.ndarray:
    """Accuracies around 0.6 with random effects of skins, also by problem, and of abstract
    problems.
    """
    skin, problem = tuples["skin"].cat.codes.to_numpy(), tuples["problem"].cat.codes.to_numpy()
    p = (
        0.6
        + rng.normal(0, of_skin, (N_SERIES, 18))[:, skin]
        + rng.normal(0, of_skin, (N_SERIES, 18 * 6))[:, skin * 6 + problem]
    )
    p = np.clip(
        p + rng.normal(0, of_core, (N_SERIES, int(tuples["core"].max()) + 1))[:, tuples["core"]],
        0,
        1,
    )
    return ((rng.random(p.shape) < p).astype(float) + (rng.random(p.shape) < p)) / 2


@pytest.mark.parametrize("number", [18, 6, 3, 2])
@pytest.mark.parametrize(("of_skin", "of_core"), [(0.0, 0.0), (0.08, 0.0), (0.08, 0.1)])
def test_the_interval_covers_what_other_skins_would_give(
    questions: Questions, number: int, of_skin: float, of_core: float
) -> None:
    tuples = of_skins(questions, number)
    scores = simulate(tuples, of_skin, of_core, np.random.default_rng(number))
    spread = spread_of_means(tuples, scores, ())
    covered = ((spread.ci_low <= 0.6) & (spread.ci_high >= 0.6)).mean()
    assert 0.92 <= covered <= 1
    assert set(spread.n_clusters.ravel()) == {number}
    if of_skin:
        naive = average(tuples, scores, ())
        assert (np.abs(naive.mean - 0.6) <= Z * naive.sem).mean() < covered - 0.05


def test_the_mean_is_the_rebalanced_one_also_where_tuples_are_missing(questions: Questions) -> None:
    tuples = questions.tuples
    scores = np.random.default_rng(0).random((3, len(tuples)))
    scores[1, ::7] = np.nan
    for by in (
        (),
        ("problem",),
        ("problem", "size"),
        ("variant", "ternary"),
        ("domain",),
        ("problem", "size", "places"),
    ):
        wanted = average(tuples, scores, by).mean
        np.testing.assert_allclose(spread_of_means(tuples, scores, by).mean, wanted, atol=1e-12)


def test_one_skin_and_skins_that_are_all_alike_have_no_interval(questions: Questions) -> None:
    tuples = questions.tuples
    scores = np.vstack([np.ones(len(tuples)), np.where(tuples["skin"] == "trips", 1.0, np.nan)])
    spread = spread_of_means(tuples, scores, ())
    assert spread.status[:, 0].tolist() == ["no_spread", "one_cluster"]
    assert np.isnan(spread.ci_low).all()
