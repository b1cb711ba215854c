"""Split-half reliability: against other samples, and where there is none."""

import numpy as np
import pandas as pd
import pytest

from simulated_judgements import simulate_items, simulate_judgements
from worldprobe.analysis.reliability import halve, split_half, step_up
from worldprobe.benchmarks.ewok.analysis.summarize import item_means
from worldprobe.benchmarks.ewok.contracts import Summaries
from worldprobe.benchmarks.ewok.vocabulary import RELIABILITY
from worldprobe.contracts import validate

GROUP = np.repeat(np.arange(13), 28)


def profile(sd: float, seed: int, effects: np.ndarray | None = None) -> np.ndarray:
    """Means of pairs of concepts in domains whose accuracy differs by so much."""
    rng = np.random.default_rng([seed, 1])
    level = 0.6 + (rng.normal(0, sd, 13) if effects is None else effects)
    return level[GROUP] + rng.normal(0, 0.2, len(GROUP))


@pytest.mark.parametrize(("sd", "true"), [(0.0, 0.0), (0.04, 0.53), (0.1, 0.87)])
def test_it_is_how_far_another_sample_of_pairs_has_the_same_profile(sd, true):
    """The error of a domain's mean is 0.2 / √28, so reliability is known."""
    assert true == pytest.approx(sd**2 / (sd**2 + 0.2**2 / 28), abs=0.01)
    values = np.stack([profile(sd, seed) for seed in range(60)])
    found = split_half(values, np.ones(values.shape), GROUP)
    assert found.mean() == pytest.approx(true, abs=0.13)


def test_halves_are_of_each_group_and_the_odd_unit_is_drawn():
    halves = halve(np.array([0, 0, 0, 1, 1]), 200, np.random.default_rng(0))
    assert set(halves[:, :3].sum(axis=1)) == {1, 2}
    assert set(halves[:, 3:].sum(axis=1)) == {1}
    assert [step_up(r) for r in (0.5, 0.0, -1.0)] == [pytest.approx(2 / 3), 0, -1]


def test_there_is_none_of_two_groups_of_single_units_or_where_nothing_varies():
    few = GROUP[GROUP < 2]
    assert np.isnan(split_half(np.ones((1, len(few))), np.ones((1, len(few))), few)).all()
    single = np.arange(13)
    assert np.isnan(split_half(np.ones((1, 13)), np.ones((1, 13)), single)).all()
    alike, missing = np.full(len(GROUP), 0.5), np.full(len(GROUP), np.nan)
    values = np.stack([alike, missing])
    assert np.isnan(split_half(values, np.ones(values.shape), GROUP)).all()


def test_units_without_a_score_are_as_if_they_were_not_there():
    values = profile(0.3, 3)
    values[np.arange(len(GROUP)) % 28 > 2] = np.nan  # three of each 28 are left
    known = ~np.isnan(values)
    (found,) = split_half(values[None], np.ones((1, len(GROUP))), GROUP)
    (alone,) = split_half(values[None, known], np.ones((1, known.sum())), GROUP[known])
    assert found == alone > 0


@pytest.mark.long
def test_summaries_have_the_reliability_of_each_series():
    domains = [f"domain-{one}" for one in "abcdefgh"]
    items = simulate_items(240, 2, 3, domains)
    items["concept_a"] = [f"concept{number // 2 // 8 % 15}" for number in range(len(items))]
    apart = pd.factorize(items["domain"])[0] / 2 - 1
    log_odds = np.stack([apart, np.zeros(len(items))])[:, :, None].repeat(2, axis=2)
    judged = simulate_judgements(items, log_odds, ["profiled", "flat"], "logprobs", 3)
    table = validate(item_means(judged.assign(filling="own")), Summaries)
    rows = table[table["grouping"] == RELIABILITY].set_index(["metric", "model"])
    assert set(rows.index) == {
        (metric, model) for metric in ("accuracy", "pairing") for model in ("profiled", "flat")
    }
    assert rows.loc[("accuracy", "profiled"), "mean"] > 0.8
    assert rows.loc[("accuracy", "flat"), "mean"] < 0.6
    assert (rows["n"] == 480).all()
    assert rows["n_clusters"].nunique() == 1
