"""Power of the test of a mean: what is promised is what simulated samples find."""

import numpy as np
import pytest
from scipy import optimize, special, stats

from worldprobe.analysis.clusters import crossed_means
from worldprobe.analysis.components import (
    Components,
    VarianceComponent,
    interval,
    korn_graubard,
    p_value,
)

#: samples of each simulated study.
N = 2000


def balanced(n_clusters, n_versions, sd_cluster, sd_version, sd_cell):
    """The true components of a mean over clusters in versions."""
    cells = sd_cell**2 / (n_clusters * n_versions)
    clusters = VarianceComponent(np.array([sd_cluster**2 / n_clusters + cells]), n_clusters - 1.0)
    return Components(
        clusters,
        VarianceComponent(np.array([sd_version**2 / n_versions + cells]), n_versions - 1.0),
        np.array([cells]),
    )


@pytest.mark.parametrize("n_versions", [2, 3, 10])
@pytest.mark.parametrize("sd_version", [0.0, 0.02])
def test_the_smallest_difference_is_found_in_four_of_five_samples(n_versions, sd_version):
    components = balanced(40, n_versions, 0.05, sd_version, 0.12)
    difference = components.detectable()[0]
    random = np.random.default_rng([n_versions, 5])
    values = (
        difference
        + 0.05 * random.standard_normal((N, 40, 1))
        + 0.12 * random.standard_normal((N, 40, n_versions))
    )
    values += sd_version * random.standard_normal((N, 1, n_versions))
    cluster, version = np.indices((40, n_versions))
    found = crossed_means(values.reshape(N, -1), cluster.ravel(), version.ravel(), tested=False)
    assert components.power(difference)[0] == pytest.approx(0.8, abs=1e-3)
    assert (found.ci_low > 0).mean() == pytest.approx(0.8, abs=2.6 * np.sqrt(0.8 * 0.2 / N))


def test_with_clusters_alone_power_is_that_of_students_t():
    components = Components(VarianceComponent(np.array([0.04, 0.01]), 11.0))
    critical = stats.t.isf(0.025, 11)
    shift = 0.3 / np.array([0.2, 0.1])
    expected = stats.nct.sf(critical, 11, shift) + stats.nct.cdf(-critical, 11, shift)
    np.testing.assert_allclose(components.power(0.3), expected, atol=0.003)
    np.testing.assert_allclose(components.power(0.0), 0.05, atol=0.002)


def test_half_an_interval_is_banerjees_sum_of_the_parts():
    parts = Components(
        VarianceComponent(np.full(3, 2.0), 9.0),
        VarianceComponent(np.array([0.0, 1.0, 50.0]), 2.0),
        others=(VarianceComponent(np.full(3, 0.5), 4.0),),
    )
    t = {df: stats.t.isf(0.025, df) for df in (9, 2, 4)}
    expected = np.sqrt(t[9] ** 2 * 2 + t[2] ** 2 * np.array([0, 1, 50]) + t[4] ** 2 * 0.5)
    np.testing.assert_allclose(interval(np.zeros(3), parts)[1], expected)
    cells = Components(
        VarianceComponent(np.array([2.0]), 9.0),
        VarianceComponent(np.array([1.0]), 2.0),
        np.array([0.7]),
    )
    assert cells.variance[0] == pytest.approx(2.3), "cells are in both, and count once"
    assert interval(np.zeros(1), cells)[1][0] == pytest.approx(np.sqrt(t[9] ** 2 * 1.3 + t[2] ** 2))


@pytest.mark.parametrize("df", [1, 2, 4])
@pytest.mark.parametrize("added", [0.0, 0.2, 2.0, 15.0])
def test_no_share_of_the_parts_makes_the_test_wrong_too_often(df, added):
    """Satterthwaite's degrees of freedom make 12 % of tests at 5 % wrong with two versions."""
    random = np.random.default_rng(df)
    versions = added * random.chisquare(df, 5000) / df
    mean = np.sqrt(1 + added) * random.standard_normal(5000)
    p = p_value(
        mean, Components(VarianceComponent(np.ones(5000), 1000.0), VarianceComponent(versions, df))
    )
    assert (p < 0.05).mean() < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 5000)
    assert (p < 0.01).mean() < 0.01 + 3 * np.sqrt(0.01 / 5000)


@pytest.mark.parametrize(
    ("share", "n"), [(0.5, 40.0), (0.93, 61.3), (0.02, 30.0), (1.0, 20.0), (0.0, 20.0)]
)
def test_a_share_has_clopper_and_pearsons_interval(share, n):
    low, high = korn_graubard(share, n)
    expected = (
        stats.binomtest(round(share * round(n)), round(n)).proportion_ci()
        if share * n == round(share * n)
        else None
    )
    if expected and n == round(n):
        assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-9)
    assert 0 <= low <= share <= high <= 1


def test_bounds_of_other_values_than_shares_shift_the_interval_only():
    parts = Components(VarianceComponent(np.array([0.01]), 9.0))
    share = np.array(interval(np.array([0.8]), parts, (0.0, 1.0)))
    twice = Components(VarianceComponent(np.array([0.04]), 9.0))
    assert interval(np.array([0.6]), twice, (-1.0, 1.0)) == pytest.approx(2 * share - 1)


@pytest.mark.parametrize(("n_clusters", "n_versions"), [(14, 1), (14, 3), (28, 3)])
@pytest.mark.parametrize(("accuracy", "sd"), [(0.7, 0.8), (0.9, 1.2), (0.95, 1.2), (0.95, 1.6)])
def test_intervals_of_accuracies_hold_near_one_too(n_clusters, n_versions, accuracy, sd):
    """Student's, on the scale of accuracies, hold in 86 % with a mean of 0.95 and pairs that
    differ by 1.6 log odds.
    """
    random = np.random.default_rng([n_clusters, n_versions, int(100 * accuracy)])
    spread = np.hypot(sd, 0.7)
    points, weights = np.polynomial.hermite_e.hermegauss(61)
    shift = optimize.brentq(
        lambda b: weights @ special.expit(b + spread * points) / weights.sum() - accuracy, -9, 9
    )
    cluster = np.repeat(np.arange(n_clusters), 6)
    log_odds = (
        shift
        + sd * random.standard_normal((1000, n_clusters))[:, cluster]
        + 0.7 * random.standard_normal((1000, len(cluster)))
    )
    right = (
        random.random((1000, len(cluster), n_versions, 2))
        < special.expit(log_odds)[:, :, None, None]
    )
    found = crossed_means(
        right.mean(axis=3).reshape(1000, -1),
        np.repeat(cluster, n_versions),
        tested=False,
        bounds=(0.0, 1.0),
    )
    known = ~np.isnan(found.ci_low)
    assert ((found.ci_low <= accuracy) & (accuracy <= found.ci_high))[known].mean() > 0.93 - 0.014
    assert (found.ci_high[known] <= 1).all()


def test_p_is_small_only_where_the_interval_of_that_level_is():
    random = np.random.default_rng(6)
    n, n_versions = 20000, 3
    versions = 0.02**2 / n_versions * random.chisquare(n_versions - 1, n) / (n_versions - 1)
    parts = Components(
        VarianceComponent(1e-4 * random.chisquare(60, n) / 60, 60.0),
        VarianceComponent(versions, n_versions - 1.0),
    )
    p = p_value(np.sqrt(1e-4 + 0.02**2 / n_versions) * random.standard_normal(n), parts)
    for level in (0.05, 0.01, 0.001):  # Holm's correction needs the small ones
        assert (p < level).mean() <= level + 3 * np.sqrt(level / n)


def test_a_sample_tells_about_the_difference_that_it_could_have_found():
    random = np.random.default_rng(2)
    values = 0.05 * random.standard_normal((300, 40, 1)) + 0.1 * random.standard_normal(
        (300, 40, 5)
    )
    cluster, version = np.indices((40, 5))
    found = crossed_means(values.reshape(300, -1), cluster.ravel(), version.ravel())
    assert np.median(found.detectable) == pytest.approx(
        balanced(40, 5, 0.05, 0.0, 0.1).detectable()[0], rel=0.1
    )
    alone = crossed_means(values[:, :, 0], np.arange(40), np.zeros(40))
    assert np.isnan(alone.detectable).all()
    assert (alone.enough_versions == 0).all()
