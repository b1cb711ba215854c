"""Flips of signs: a test that holds its level where clusters are unequal, and finds what Student's
does not.
"""

import numpy as np
import pytest
from scipy import stats

from worldprobe.analysis.clusters import crossed_means
from worldprobe.analysis.sign_flips import flip_signs

#: templates of 14 pairs of concepts.
SIZES = np.array([39, 1, 2, 5, 3, 1, 8, 2, 4, 1, 6, 3, 2, 12])
CLUSTER = np.repeat(np.arange(len(SIZES)), SIZES)


def differences(seed, n, sd_cluster, sd_item, mean=0.0):
    """Differences of two models on items, shape (n, items)."""
    random = np.random.default_rng(seed)
    of_clusters = sd_cluster * random.standard_normal((n, len(SIZES)))[:, CLUSTER]
    return mean + of_clusters + sd_item * random.standard_normal((n, len(CLUSTER)))


def test_few_clusters_have_the_p_of_all_flips():
    random = np.random.default_rng(3)
    shares = np.array([0.3, 0.1, 0.2, 0.05, 0.05, 0.1, 0.2])
    sums = shares * random.normal(0.3, 0.5, (5, 7))
    p, low, high = flip_signs(sums, shares)
    for number, one in enumerate(sums):
        exact = stats.permutation_test((one,), np.sum, permutation_type="samples", n_resamples=1e4)
        assert p[number] == pytest.approx(exact.pvalue)
        for end in (low[number], high[number]):  # just inside and just outside
            at = flip_signs(np.stack([one - (end + s) * shares for s in (-1e-6, 1e-6)]), shares)[0]
            assert sorted(at >= 0.05) == [False, True]


def test_the_interval_leaves_out_zero_where_p_is_below_a_twentieth():
    values = differences(1, 400, 0.1, 0.4, 0.08)
    found = crossed_means(values, CLUSTER)
    assert set(found.test) == {"sign_flips"}
    np.testing.assert_array_equal(found.p < 0.05, (found.ci_low > 0) | (found.ci_high < 0))
    assert ((found.ci_low <= found.mean) & (found.mean <= found.ci_high)).all()


def test_equal_clusters_and_too_few_unequal_ones_keep_students_t():
    random = np.random.default_rng(4)
    equal = crossed_means(random.standard_normal((2, 24)), np.repeat(np.arange(8), 3))
    few = crossed_means(random.standard_normal((2, 9)), np.repeat(np.arange(5), [1, 2, 3, 2, 1]))
    version = np.tile([0, 1], len(CLUSTER))
    shared = crossed_means(
        random.standard_normal((2, len(version))), np.repeat(CLUSTER, 2), version
    )
    assert set(equal.test) | set(few.test) | set(shared.test) == {"t"}


@pytest.mark.parametrize(("sd_cluster", "sd_item"), [(0.1, 0.4), (0.0, 0.4), (0.3, 0.1)])
@pytest.mark.long
def test_unequal_clusters_hold_the_level_and_find_what_students_t_does_not(sd_cluster, sd_item):
    """Student's t found 3 % of differences of which flips of signs find 22 %."""
    null = crossed_means(differences(5, 2000, sd_cluster, sd_item), CLUSTER)
    assert (null.p < 0.05).mean() < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 2000)
    size = 3 * np.hypot(sd_cluster * np.sqrt(((SIZES / SIZES.sum()) ** 2).sum()), sd_item / 89**0.5)
    values = differences(6, 1000, sd_cluster, sd_item, size)
    found = crossed_means(values, CLUSTER)
    as_t = crossed_means(values, CLUSTER, tested=False)
    by_t = (as_t.ci_low > 0) | (as_t.ci_high < 0)
    assert (found.p < 0.05).mean() > by_t.mean() + 0.15
    covers = (found.ci_low <= size) & (size <= found.ci_high)
    assert covers.mean() > 0.91


def test_what_is_detectable_is_found_in_about_four_of_five_samples():
    known = np.nanmedian(crossed_means(differences(7, 200, 0.1, 0.4), CLUSTER).detectable)
    found = crossed_means(differences(8, 1000, 0.1, 0.4, known), CLUSTER)
    assert (found.p < 0.05).mean() == pytest.approx(0.8, abs=0.15)


def test_a_difference_that_no_drawn_flip_comes_near_survives_many_tests():
    """11 models in 11 domains are 605 tests, and 10,000 flips have no p below 0.0001."""
    random = np.random.default_rng(9)
    shares = random.lognormal(0, 0.8, 60)
    shares /= shares.sum()
    noise = 0.1 * random.standard_normal((3, 60))
    sums = shares * (np.array([[0.3], [0.02], [0.0]]) + noise)
    p = flip_signs(sums, shares)[0]
    assert p[0] * 605 < 0.001
    assert p[1:].min() > 1e-3


def test_the_bound_of_all_flips_is_above_their_p():
    random = np.random.default_rng(10)
    shares = random.dirichlet(np.full(18, 4.0))
    sums = shares * random.normal(1.0, 0.3, (20, 18))
    drawn, exact = (flip_signs(sums, shares, number)[0] for number in (1_000, 2**18))
    assert (drawn < 0.9 / 1_001).sum() >= 5
    assert (drawn >= exact)[drawn < 0.9 / 1_001].all()
