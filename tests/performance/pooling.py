"""Are pooled intervals and statements about the order of domains right as often as they say? Simulated models.

A model judges templates of pairs of concepts in eleven domains, in versions with common fillings; a domain's true accuracy
follows from what it was simulated with. Printed, for domains that differ by a standard deviation of 0, 0.3 and 0.8 in log
odds: the share of 95 % intervals that contain the true accuracy, pooled and of the plain mean, and their mean widths; how
many of the 55 pairs are said to have an order (probability of 0.95 and more), which share of these is right (bar: 0.95), and
of the orders of two plain means; coverage of the intervals of ranks.

    nice -n 19 python tests/performance/pooling.py [REPETITIONS]
"""

import sys

import numpy as np

from worldprobe.analysis.clusters import crossed_means
from worldprobe.analysis.pooling import pool

N_DOMAINS, SD_PAIR, SD_TEMPLATE, SD_CELL = 11, 0.8, 0.6, 0.3
QUIET = np.random.default_rng(1).standard_normal(20_000)


def simulate(random, sd_domain, n_versions, sd_version):
    """Values, domains and pairs of templates, and the domains' true accuracies."""
    n_pairs = random.integers(3, 15, N_DOMAINS) if n_versions == 3 else random.integers(10, 15, N_DOMAINS)
    pair = np.concatenate([np.arange(n_pairs.sum()), random.integers(0, n_pairs.sum(), 1200)])
    of_pair = np.repeat(np.arange(N_DOMAINS), n_pairs)
    effect = 0.5 + sd_domain * random.standard_normal(N_DOMAINS)
    base = (effect[of_pair] + SD_PAIR * random.standard_normal(len(of_pair)))[pair] + SD_TEMPLATE * random.standard_normal(
        len(pair)
    )
    moved = (
        sd_version * random.standard_normal(n_versions)
        + sd_version * random.standard_normal((N_DOMAINS, n_versions))[of_pair[pair]]
    )
    log_odds = base[:, None] + moved + SD_CELL * random.standard_normal((len(pair), n_versions))
    right = 1 / (1 + np.exp(-log_odds))
    values = sum((random.random(right.shape) < right) / 2 for _ in range(2))
    spread = np.sqrt(SD_PAIR**2 + SD_TEMPLATE**2 + SD_CELL**2 + 2 * sd_version**2)
    return values, of_pair[pair], pair, (1 / (1 + np.exp(-effect[:, None] - spread * QUIET))).mean(axis=1)


def main(n):
    """All cases."""
    print("sd_domains versions sd_versions covered width plain_covered plain_width stated right right_of_plain ranks_covered")
    for sd_domain in (0.0, 0.3, 0.8):
        for n_versions, sd_version in ((1, 0.0), (3, 0.1), (5, 0.1)):
            random = np.random.default_rng([n_versions, int(10 * sd_domain)])
            rows = []
            for number in range(n):
                values, domain, pair, truth = simulate(random, sd_domain, n_versions, sd_version)
                found = pool(values, domain, pair, number)
                is_in = (found.ci_low <= truth) & (truth <= found.ci_high)
                plain = []
                for place in range(N_DOMAINS):
                    here = domain == place
                    version = np.tile(np.arange(n_versions), here.sum()) if n_versions > 1 else None
                    one = crossed_means(values[here].reshape(1, -1), np.repeat(pair[here], n_versions), version, tested=False)
                    plain.append((one.ci_low[0], one.ci_high[0]))
                low, high = np.array(plain).T
                upper = truth[:, None] < truth[None, :]
                stated, above = found.lower >= 0.95, found.mean[:, None] < found.mean[None, :]
                rank = truth.argsort().argsort() + 1
                rows.append(
                    [
                        is_in.mean(),
                        (found.ci_high - found.ci_low).mean(),
                        ((low <= truth) & (truth <= high)).mean(),
                        (high - low).mean(),
                        stated.sum(),
                        (stated & upper).sum(),
                        above.sum(),
                        (above & upper).sum(),
                        ((found.rank_low <= rank) & (rank <= found.rank_high)).mean(),
                    ]
                )
            covered, width, plain_covered, plain_width, n_stated, right, n_above, right_above, ranks = np.array(rows).mean(axis=0)
            shares = [right / n_stated if n_stated and sd_domain else np.nan, right_above / n_above if sd_domain else np.nan]
            numbers = [covered, width, plain_covered, plain_width, n_stated, *shares, ranks if sd_domain else np.nan]
            print(f"{sd_domain:10} {n_versions:8} {sd_version:11}", *(f"{number:.3f}" for number in numbers), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
