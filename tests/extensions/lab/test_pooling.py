"""Partial pooling: means are drawn together as far as chance sets them apart."""

import numpy as np
import pytest

from worldprobe_lab.pooling import pool

GROUP, CLUSTER = np.repeat(np.arange(8), 30), np.repeat(np.arange(80), 3)


def groups(random, means, n_versions=3, sd_version=0.0):
    """Values of eight groups of ten clusters of three templates."""
    values = means[GROUP][:, None] + 0.1 * random.standard_normal(80)[CLUSTER][:, None]
    return (
        values
        + sd_version * random.standard_normal(n_versions)
        + 0.1 * random.standard_normal((240, n_versions))
    )


def test_groups_that_chance_sets_apart_are_drawn_together():
    found = pool(groups(np.random.default_rng(1), np.full(8, 0.7)), GROUP, CLUSTER)
    assert found.pooled.std() < found.mean.std() / 2
    assert found.pooled.mean() == pytest.approx(found.mean.mean(), abs=0.01)
    assert ((found.lower < 0.95) & (found.lower > 0.05))[~np.eye(8, dtype=bool)].all()
    assert (found.rank_high - found.rank_low >= 4).all()


def test_groups_that_differ_keep_their_means_and_their_order():
    truth = np.linspace(0.2, 0.9, 8)
    found = pool(groups(np.random.default_rng(2), truth), GROUP, CLUSTER)
    np.testing.assert_allclose(found.pooled, found.mean, atol=0.02)
    assert (found.lower[np.triu_indices(8, 2)] > 0.99).all()
    assert ((found.ci_low < truth) & (truth < found.ci_high)).all()
    assert found.n_clusters.tolist() == [10] * 8


def test_versions_that_move_all_groups_widen_intervals_and_leave_the_order():
    values = groups(np.random.default_rng(3), np.linspace(0.4, 0.6, 8))
    moved = values + np.array([-0.2, 0.0, 0.2])
    still, shaken = pool(values, GROUP, CLUSTER), pool(moved, GROUP, CLUSTER)
    np.testing.assert_allclose(still.lower, shaken.lower, atol=1e-9)
    assert (shaken.ci_high - shaken.ci_low > 2 * (still.ci_high - still.ci_low)).all()


def test_a_group_of_one_cluster_borrows_the_variance_of_the_others():
    values, keep = (
        groups(np.random.default_rng(4), np.full(8, 0.5)),
        ~((GROUP == 7) & (CLUSTER != 79)),
    )
    found = pool(values[keep], GROUP[keep], CLUSTER[keep])
    assert found.n_clusters[7] == 1
    assert found.ci_high[7] - found.ci_low[7] > found.ci_high[0] - found.ci_low[0]


def test_templates_without_a_value_are_left_out_and_draws_repeat():
    values = groups(np.random.default_rng(5), np.linspace(0.4, 0.6, 8))
    with_gap = values.copy()
    with_gap[0, 1] = np.nan
    first, second = pool(with_gap, GROUP, CLUSTER), pool(values[1:], GROUP[1:], CLUSTER[1:])
    np.testing.assert_array_equal(first.pooled, second.pooled)
    assert first.n_templates[0] == 29


def test_two_groups_are_not_pooled():
    two = pool(groups(np.random.default_rng(6), np.full(8, 0.5))[:60], GROUP[:60], CLUSTER[:60])
    np.testing.assert_allclose(two.pooled, two.mean, atol=0.01)
