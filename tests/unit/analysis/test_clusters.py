"""Means with crossed random factors: exact in balanced designs, and right about as often as they
say in simulated ones.
"""

import numpy as np
import pytest
from scipy import stats

from worldprobe.analysis.clusters import crossed_means
from worldprobe.analysis.components import VarianceComponent


def crossed(random, n_series, n_clusters, n_versions, sd_cluster, sd_version, sd_cell):
    """Values of clusters in versions, of mean 0: (series, clusters x versions), and both labels."""
    values = sd_cluster * random.standard_normal(
        (n_series, n_clusters, 1)
    ) + sd_cell * random.standard_normal((n_series, n_clusters, n_versions))
    values = values + sd_version * random.standard_normal((n_series, 1, n_versions))
    cluster, version = np.indices((n_clusters, n_versions))
    return values.reshape(n_series, -1), cluster.ravel(), version.ravel()


def test_without_versions_equal_clusters_give_students_t_of_their_means():
    random = np.random.default_rng(0)
    values = random.normal(0.4, 1, (3, 24))
    cluster = np.repeat(list("abcdef"), 4)
    found = crossed_means(values, cluster)
    means = values.reshape(3, 6, 4).mean(axis=2)
    expected = stats.ttest_1samp(means, 0, axis=1)
    ends = expected.confidence_interval()
    np.testing.assert_allclose(found.p, expected.pvalue, rtol=1e-9)
    np.testing.assert_allclose([found.ci_low, found.ci_high], [ends.low, ends.high], rtol=1e-9)
    assert found.status.tolist() == ["ok"] * 3
    assert (found.n_clusters == 6).all()


def test_the_interval_ends_at_zero_where_p_is_a_twentieth():
    values, cluster, version = crossed(np.random.default_rng(1), 200, 12, 4, 1.0, 0.5, 1.0)
    found = crossed_means(values, cluster, version)
    np.testing.assert_array_equal(found.p < 0.05, (found.ci_low > 0) | (found.ci_high < 0))
    shifted = crossed_means(
        values - np.where(found.mean > 0, found.ci_low, found.ci_high)[:, None], cluster, version
    )
    np.testing.assert_allclose(shifted.p, 0.05, rtol=1e-6)


def test_weights_strata_and_missing_values_enter_the_mean_as_they_say():
    values = np.array(
        [[1.0, 0.0, 1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 1.0, np.nan, np.nan, np.nan], [np.nan] * 6]
    )
    cluster, stratum, weight = (
        np.array([0, 1, 2, 0, 1, 2]),
        np.array([0, 0, 0, 0, 1, 1]),
        np.array([1, 1, 1, 3, 1, 1]),
    )
    found = crossed_means(values, cluster, stratum=stratum, weight=weight)
    np.testing.assert_allclose(found.mean, [(5 / 6 + 0) / 2, 2 / 3, np.nan])
    assert found.status.tolist() == ["ok", "ok", "no_values"]
    alone = crossed_means(values[1:2, :3], cluster[:3])
    assert alone.ci_low[0] == found.ci_low[1]


@pytest.mark.parametrize(
    ("cluster", "version", "status", "has_interval"),
    [
        ([0, 0, 1, 1], [0, 1, 0, 1], "ok", True),
        ([0, 0, 1, 1], [5, 5, 5, 5], "one_version", True),
        ([0, 0, 0, 0], [0, 1, 0, 1], "one_cluster", False),
    ],
)
def test_what_cannot_be_known_has_a_status_and_no_p(cluster, version, status, has_interval):
    found = crossed_means(np.array([[0.1, 0.3, 0.2, 0.7]]), np.array(cluster), np.array(version))
    assert found.status[0] == status
    assert np.isnan(found.p[0]) == (status != "ok")
    assert np.isnan(found.ci_low[0]) != has_interval


def test_clusters_that_are_all_alike_give_no_certainty():
    found = crossed_means(np.ones((1, 6)), np.arange(6))
    assert found.mean[0] == pytest.approx(1)
    assert found.status[0] == "no_spread"
    assert np.isnan([found.p[0], found.ci_low[0]]).all()


@pytest.mark.parametrize(("share", "low", "high"), [(1.0, 0.884, 1.0), (0.0, 0.0, 0.116)])
def test_a_mean_at_its_end_has_clopper_and_pearsons_interval_of_the_clusters(share, low, high):
    """240 of 240 answers were "not shown to be above chance"."""
    found = crossed_means(np.full((1, 240), share), np.arange(240) % 30, bounds=(0.0, 1.0))
    assert found.ci_low[0] == pytest.approx(low, abs=5e-4)
    assert found.ci_high[0] == pytest.approx(high, abs=5e-4)
    assert np.isnan(found.std_error[0])
    wide = crossed_means(np.full((1, 240), 2 * share - 1), np.arange(240) % 30, bounds=(-1.0, 1.0))
    assert (wide.ci_low[0] + 1) / 2 == pytest.approx(low, abs=5e-4)


@pytest.mark.parametrize("n_wrong", [0, 1, 2, 30])
@pytest.mark.parametrize("n", [30, 240, 99_990])
def test_a_mean_near_its_end_has_an_interval_that_contains_it(n, n_wrong):
    values = np.ones((1, n))
    values[0, :n_wrong] = 0
    found = crossed_means(values, np.arange(n) % 30, bounds=(0.0, 1.0))
    assert found.ci_low[0] <= found.mean[0] <= found.ci_high[0]
    assert found.ci_high[0] - found.ci_low[0] > 1e-5


def test_pairs_that_are_all_alike_leave_the_mean_uncertain():
    values = np.tile([1.0, 1.0, 0.5, 0.5], 20)[None]
    found = crossed_means(values, np.repeat(np.arange(20), 4), bounds=(0.0, 1.0))
    assert found.status[0] == "no_spread"
    assert found.ci_low[0] == pytest.approx(0.509, abs=5e-4)  # Clopper & Pearson, 15 of 20
    assert found.ci_high[0] == pytest.approx(0.913, abs=5e-4)
    signed = crossed_means(values - 0.75, np.repeat(np.arange(20), 4), bounds=(-1.0, 1.0))
    assert np.isnan(signed.ci_low[0]), "a bias of 0 throughout is no share of anything"


@pytest.mark.parametrize(("right", "low", "high"), [(7, 0.473, 0.997), (4, 0.157, 0.843)])
def test_a_handful_of_single_answers_has_the_exact_interval(right, low, high):
    """Eight minimal pairs, seven right, had 0.180 to 1.000."""
    values = np.array([[1.0] * right + [0.0] * (8 - right)])
    found = crossed_means(values, np.arange(8), bounds=(0.0, 1.0))
    assert found.ci_low[0] == pytest.approx(low, abs=5e-4)
    assert found.ci_high[0] == pytest.approx(high, abs=5e-4)
    half = crossed_means(np.append(values, [[0.5]], axis=1), np.arange(9), bounds=(0.0, 1.0))
    assert half.ci_high[0] - half.ci_low[0] != pytest.approx(high - low, abs=0.02)


def test_versions_that_differ_are_not_forgotten_where_clusters_are_alike():
    """Versions at 1.0 and 0.6 had the interval of their clusters alone."""
    values = np.tile([1.0, 0.6], 60)[None]
    cluster, version = np.repeat(np.arange(60), 2), np.tile([0, 1], 60)
    found = crossed_means(values, cluster, version, bounds=(0.0, 1.0))
    assert found.ci_high[0] - found.ci_low[0] > 0.5


def rejected(*of: np.ndarray) -> float:
    """The share of series of which p is below a twentieth: those whose interval leaves 0 out, as
    the test above holds.
    """
    found = crossed_means(*of, tested=False)
    return float(((found.ci_low > 0) | (found.ci_high < 0)).mean())


@pytest.mark.parametrize("n_versions", [2, 3, 5, 20])
@pytest.mark.parametrize("sd_version", [0.0, 0.02])
def test_a_null_is_rejected_in_a_twentieth_of_draws_at_most_and_in_about_that_with_many_versions(
    n_versions, sd_version
):
    values, cluster, version = crossed(
        np.random.default_rng([n_versions, 1]), 2000, 60, n_versions, 0.05, sd_version, 0.12
    )
    share = rejected(values, cluster, version)
    assert share <= 0.05 + 2.6 * np.sqrt(0.05 * 0.95 / 2000)
    if n_versions == 20:
        assert share >= 0.035
    as_if_fixed = rejected(values, cluster)
    assert (
        as_if_fixed > 0.08 or sd_version == 0
    )  # the simulation would see versions that are held fixed


def test_three_unequal_clusters_are_not_many_values():
    random = np.random.default_rng(3)
    cluster = np.repeat([0, 1, 2], [4, 10, 30])
    values = random.standard_normal((2000, 3))[:, cluster] + 0.5 * random.standard_normal(
        (2000, len(cluster))
    )
    assert rejected(values, cluster) <= 0.065


def test_series_without_any_value_have_no_mean():
    """A family in which no base has two levels has no slope; its study stopped."""
    found = crossed_means(np.empty((2, 0)), np.empty(0))
    assert found.status.tolist() == ["no_values"] * 2
    assert np.isnan(found.mean).all()


def test_strata_weigh_equally_in_what_they_lie_in_which_weighs_equally_too():
    """Problems weigh alike, however many sizes they have; further parts are of the known values."""
    outer, stratum = np.array([0, 0, 0, 1, 1]), np.array([0, 0, 1, 2, 2])
    values = np.array([[0.0, 0.2, 0.5, 0.4, 1.0], [0.0, np.nan, 0.5, 0.4, np.nan]])
    asked = []

    def others(present, known, share):
        asked.append((present.tolist(), share.round(3).tolist()))
        return [VarianceComponent(np.full(len(known), 0.01), 3.0)]

    found = crossed_means(values, np.arange(5), stratum=stratum, outer=outer, others=others)
    assert found.mean.tolist() == pytest.approx([(0.3 + 0.7) / 2, (0.25 + 0.4) / 2])
    assert ([0, 1, 2, 3, 4], [0.125, 0.125, 0.25, 0.25, 0.25]) in asked
    assert ([0, 2, 3], [0.25, 0.25, 0.5]) in asked
    alone = crossed_means(values, np.arange(5), stratum=stratum, outer=outer)
    assert found.std_error[0] == pytest.approx(np.sqrt(alone.std_error[0] ** 2 + 0.01))
