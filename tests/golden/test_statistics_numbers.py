"""Numbers of the statistics on fixed simulated data: when one moves, bump the stage's ``method`` or
undo the change.
"""

import shutil

import numpy as np
import pytest

from simulated_judgements import simulate_features, simulate_items, simulate_judgements
from worldprobe.benchmarks.ewok.analysis import regression
from worldprobe.benchmarks.ewok.analysis.compare import compare_on_items
from worldprobe.benchmarks.ewok.analysis.regression import build_design, fit_fixed_effects
from worldprobe.benchmarks.ewok.analysis.summarize import item_means

SUMMARY = [0.625, 0.597222, 0.659722, 0.499669, 0.73915]
SUMMARY_BY_TEMPLATE = [0.508975, 0.731371]
COMPARISON = [0.148148, -0.008634, 0.304931, 0.055597, 0.111194]
FIXED = [0.036026, 0.217503, 0.051196, 0.266048, -0.19512, 0.188561]
MIXED = [0.05408, 0.32519, 0.07963, 0.31543, -0.27217, 0.30881]
LOG_LIKELIHOOD = -408.1986


@pytest.fixture(scope="module")
def study():
    items = simulate_items(36, 3, seed=7)
    rng = np.random.default_rng(8)
    log_odds = (
        rng.normal(0.6, 1.5, (1, len(items), 1))
        + rng.normal(0, 0.7, (3, 1, 1))
        + np.zeros((3, len(items), 2))
    )
    return simulate_judgements(
        items, log_odds, ["ant", "bee", "cat"], "logprobs", 9, share_tied=0.03
    ), simulate_features(items, 7)


def test_summaries(study):
    wanted = "condition == 'all' and metric == 'accuracy' and grouping == 'overall'"
    columns = ["mean", "low", "high", "ci_low", "ci_high"]
    by_pair, by_template = (
        item_means(study[0], cluster).query(wanted).set_index("model")[columns].round(6).loc["ant"]
        for cluster in ("concept_pair", "template")
    )
    assert by_pair.tolist() == SUMMARY
    assert by_template.iloc[-2:].tolist() == SUMMARY_BY_TEMPLATE


def test_comparisons(study):
    row = compare_on_items(study[0]).query("grouping == 'overall'").iloc[0]
    assert [
        round(row[c], 6) for c in ("difference", "ci_low", "ci_high", "p", "p_holm")
    ] == COMPARISON


def test_fixed_effects(study):
    table, _ = fit_fixed_effects(build_design(*study))
    np.testing.assert_allclose(
        table[["estimate", "std_error"]].iloc[:3].to_numpy().ravel(), FIXED, atol=1e-5
    )


@pytest.mark.skipif(shutil.which("R") is None, reason="R is not installed")
@pytest.mark.long
def test_mixed_model(study):
    table, details = regression.fit_mixed_model(build_design(*study), structure="intercepts")
    np.testing.assert_allclose(
        table[["estimate", "std_error"]].iloc[:3].to_numpy().ravel(), MIXED, atol=1e-3
    )
    assert details["log_likelihood"] == pytest.approx(LOG_LIKELIHOOD, abs=1e-3)
