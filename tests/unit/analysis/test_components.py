"""Power of the test of a mean: what is promised is what simulated samples find."""

import numpy as np
import pytest
from scipy import stats

from worldprobe.analysis.clusters import crossed_means
from worldprobe.analysis.components import Components, Part, enough_versions, interval, p_value

#: samples of each simulated study.
N = 2000


def balanced(n_clusters, n_versions, sd_cluster, sd_version, sd_cell):
    """The true components of a mean over clusters in versions."""
    cells = sd_cell**2 / (n_clusters * n_versions)
    clusters = Part(np.array([sd_cluster**2 / n_clusters + cells]), n_clusters - 1.0)
    return Components(clusters, Part(np.array([sd_version**2 / n_versions + cells]), n_versions - 1.0), np.array([cells]))


@pytest.mark.parametrize("n_versions", [2, 3, 10])
@pytest.mark.parametrize("sd_version", [0.0, 0.02])
def test_the_smallest_difference_is_found_in_four_of_five_samples(n_versions, sd_version):
    components = balanced(40, n_versions, 0.05, sd_version, 0.12)
    difference = components.detectable()[0]
    random = np.random.default_rng([n_versions, 5])
    values = difference + 0.05 * random.standard_normal((N, 40, 1)) + 0.12 * random.standard_normal((N, 40, n_versions))
    values += sd_version * random.standard_normal((N, 1, n_versions))
    cluster, version = np.indices((40, n_versions))
    found = crossed_means(values.reshape(N, -1), cluster.ravel(), version.ravel(), tested=False)
    assert components.power(difference)[0] == pytest.approx(0.8, abs=1e-3)
    assert (found.ci_low > 0).mean() == pytest.approx(0.8, abs=2.6 * np.sqrt(0.8 * 0.2 / N))


def test_with_clusters_alone_power_is_that_of_students_t():
    components = Components(Part(np.array([0.04, 0.01]), 11.0))
    critical = stats.t.isf(0.025, 11)
    shift = 0.3 / np.array([0.2, 0.1])
    expected = stats.nct.sf(critical, 11, shift) + stats.nct.cdf(-critical, 11, shift)
    np.testing.assert_allclose(components.power(0.3), expected, atol=0.003)
    np.testing.assert_allclose(components.power(0.0), 0.05, atol=0.002)


def test_a_part_is_taken_with_its_own_quantile_as_far_as_it_is_what_varies():
    variances = np.array([0.0, 1e-4, 1.0, 1e4])
    parts = Components(Part(np.ones(4), 1000.0), Part(variances, 2.0))
    half = interval(np.zeros(4), parts)[1] / np.sqrt(parts.variance)
    np.testing.assert_allclose(half[[0, 1]], stats.t.isf(0.025, 1000), rtol=1e-3)
    assert half[1] < half[2] < half[3]
    assert half[3] == pytest.approx(stats.t.isf(0.025, 2), rel=1e-3)
    three = Components(Part(np.ones(1), 2.0), others=(Part(np.ones(1), 3.0), Part(np.ones(1), 1.0)))
    assert interval(np.zeros(1), three)[1][0] <= stats.t.isf(0.025, 1) * np.sqrt(3)


@pytest.mark.parametrize("df", [1, 2])
def test_errors_of_two_and_three_versions_are_near_the_level_where_versions_matter(df):
    """Versions add two or fifteen times what pairs of concepts do."""
    random = np.random.default_rng(df)
    for added in (2.0, 15.0):
        versions = (added + 0.7) * random.chisquare(df, 5000) / df
        mean = np.sqrt(1 + added) * random.standard_normal(5000)
        p = p_value(mean, Components(Part(np.ones(5000), 1000.0), Part(versions, df), 0.7))
        assert (p < 0.05).mean() == pytest.approx(0.047, abs=0.012)
        assert (p < 0.01).mean() < 0.014


def test_p_is_small_only_where_the_interval_of_that_level_is():
    random = np.random.default_rng(6)
    n, n_versions = 20000, 3
    versions = 0.02**2 / n_versions * random.chisquare(n_versions - 1, n) / (n_versions - 1)
    parts = Components(Part(1e-4 * random.chisquare(60, n) / 60, 60.0), Part(versions, n_versions - 1.0))
    p = p_value(np.sqrt(1e-4 + 0.02**2 / n_versions) * random.standard_normal(n), parts)
    for level in (0.05, 0.01, 0.001):  # Holm's correction needs the small ones
        assert (p < level).mean() <= level + 3 * np.sqrt(level / n)


def test_more_versions_help_as_far_as_clusters_allow():
    of_versions, of_clusters = balanced(40, 3, 0.0, 0.1, 0.0), balanced(40, 3, 0.5, 0.001, 0.0)
    number = enough_versions(of_versions, 3, of_versions.detectable() / 2)[0]
    assert of_versions.with_versions(3, number).detectable()[0] <= of_versions.detectable()[0] / 2
    assert of_versions.with_versions(3, number - 1).detectable()[0] > of_versions.detectable()[0] / 2
    assert enough_versions(of_clusters, 3, of_clusters.detectable() / 2)[0] == 0


def test_a_sample_tells_about_the_difference_that_it_could_have_found():
    random = np.random.default_rng(2)
    values = 0.05 * random.standard_normal((300, 40, 1)) + 0.1 * random.standard_normal((300, 40, 5))
    cluster, version = np.indices((40, 5))
    found = crossed_means(values.reshape(300, -1), cluster.ravel(), version.ravel())
    assert np.median(found.detectable) == pytest.approx(balanced(40, 5, 0.05, 0.0, 0.1).detectable()[0], rel=0.1)
    alone = crossed_means(values[:, :, 0], np.arange(40), np.zeros(40))
    assert np.isnan(alone.detectable).all()
    assert (alone.enough_versions == 0).all()
