"""Are pooled intervals and statements about the order of domains right as often as they say?
Simulated models.

A model judges templates of pairs of concepts in eleven domains, in versions with common fillings; a
domain's true accuracy follows from what it was simulated with. Then the same of the pairs of
concepts of one domain: eleven pairs of 2 to 25 templates. Printed, for groups that differ by a
standard deviation of 0, 0.3 and 0.8 in log odds: the share of 95 % intervals that contain the true
accuracy, pooled and of the plain mean, and their mean widths; how many of the 55 orders are stated
(probability of 0.95 and more), which share of these is right (bar: 0.95), and of the orders of two
plain means; coverage of the intervals of ranks; the standard deviation of the plain means' errors,
and the mean standard error that is found for them.

    nice -n 19 python tests/performance/pooling.py [REPETITIONS]
"""

import sys
from itertools import product

import numpy as np

from worldprobe.analysis.clusters import crossed_means
from worldprobe_lab.pooling import pool

N_DOMAINS, SD_PAIR, SD_TEMPLATE, SD_CELL = 11, 0.8, 0.6, 0.3
QUIET = np.random.default_rng(1).standard_normal(20_000)


def simulate(random, sd_domain, n_versions, sd_version):
    """Values, domains and pairs of templates, and the domains' true accuracies."""
    n_pairs = (
        random.integers(3, 15, N_DOMAINS) if n_versions == 3 else random.integers(10, 15, N_DOMAINS)
    )
    pair = np.concatenate([np.arange(n_pairs.sum()), random.integers(0, n_pairs.sum(), 1200)])
    of_pair = np.repeat(np.arange(N_DOMAINS), n_pairs)
    effect = 0.5 + sd_domain * random.standard_normal(N_DOMAINS)
    base = (effect[of_pair] + SD_PAIR * random.standard_normal(len(of_pair)))[
        pair
    ] + SD_TEMPLATE * random.standard_normal(len(pair))
    moved = (
        sd_version * random.standard_normal(n_versions)
        + sd_version * random.standard_normal((N_DOMAINS, n_versions))[of_pair[pair]]
    )
    log_odds = base[:, None] + moved + SD_CELL * random.standard_normal((len(pair), n_versions))
    right = 1 / (1 + np.exp(-log_odds))
    values = sum((random.random(right.shape) < right) / 2 for _ in range(2))
    spread = np.sqrt(SD_PAIR**2 + SD_TEMPLATE**2 + SD_CELL**2 + 2 * sd_version**2)
    return (
        values,
        of_pair[pair],
        pair,
        (1 / (1 + np.exp(-effect[:, None] - spread * QUIET))).mean(axis=1),
    )


def simulate_pairs(random, sd_pair, n_versions, sd_version):
    """Values, pairs of concepts and templates, and the pairs' true accuracies."""
    pair = np.repeat(np.arange(N_DOMAINS), random.integers(2, 26, N_DOMAINS))
    effect = 0.5 + sd_pair * random.standard_normal(N_DOMAINS)
    moved = sd_version * (
        random.standard_normal(n_versions) + random.standard_normal((N_DOMAINS, n_versions))[pair]
    )
    log_odds = (effect[pair] + SD_TEMPLATE * random.standard_normal(len(pair)))[:, None] + moved
    log_odds = log_odds + SD_CELL * random.standard_normal(log_odds.shape)
    values = sum(
        (random.random(log_odds.shape) < 1 / (1 + np.exp(-log_odds))) / 2 for _ in range(2)
    )
    spread = np.sqrt(SD_TEMPLATE**2 + SD_CELL**2 + 2 * sd_version**2)
    return (
        values,
        pair,
        np.arange(len(pair)),
        (1 / (1 + np.exp(-effect[:, None] - spread * QUIET))).mean(axis=1),
    )


def measure(study, number):
    """What is printed, of one study: values, groups, clusters and true means."""
    values, group, cluster, truth = study
    found, n_versions = pool(values, group, cluster, number), values.shape[1]
    is_in = (found.ci_low <= truth) & (truth <= found.ci_high)
    plain = []
    for place in range(len(truth)):
        here = group == place
        version = np.tile(np.arange(n_versions), here.sum()) if n_versions > 1 else None
        one = crossed_means(
            values[here].reshape(1, -1), np.repeat(cluster[here], n_versions), version, tested=False
        )
        plain.append((one.ci_low[0], one.ci_high[0], one.std_error[0]))
    low, high, std_error = np.array(plain).T
    upper, stated, above = (
        truth[:, None] < truth,
        found.lower >= 0.95,
        found.mean[:, None] < found.mean,
    )
    rank = truth.argsort().argsort() + 1
    means = (is_in, found.ci_high - found.ci_low, (low <= truth) & (truth <= high), high - low)
    ranks = ((found.rank_low <= rank) & (rank <= found.rank_high)).mean()
    counts = (stated.sum(), (stated & upper).sum(), above.sum(), (above & upper).sum(), ranks)
    squares = (np.mean((found.mean - truth) ** 2), np.nanmean(std_error**2))
    return [*(np.nanmean(one) for one in means), *counts, *squares]


def main(n):
    """All cases."""
    print(
        "groups sd versions covered width plain_covered plain_width stated right right_of_plain"
        " ranks_covered error std_error"
    )
    cases = product((simulate, simulate_pairs), (0.0, 0.3, 0.8), ((1, 0.0), (3, 0.1), (5, 0.1)))
    for draw, sd, (n_versions, sd_version) in cases:
        random = np.random.default_rng([n_versions, int(10 * sd)])
        rows = [measure(draw(random, sd, n_versions, sd_version), number) for number in range(n)]
        *widths, n_stated, right, n_above, right_above, ranks, error, square = np.mean(rows, axis=0)
        shares = [
            right / n_stated if n_stated and sd else np.nan,
            right_above / n_above if sd else np.nan,
            ranks if sd else np.nan,
        ]
        numbers = [*widths, n_stated, *shares, error**0.5, square**0.5]
        name = "domains" if draw is simulate else "pairs"
        print(
            f"{name:7} {sd:3} {n_versions:8}", *(f"{number:.3f}" for number in numbers), flush=True
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
