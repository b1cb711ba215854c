"""How often comparisons and intervals are wrong, in simulated nulls; correctness, not speed. Compared with fillings held fixed.

Two equally good models (or one model in two conditions) judge items of the built-in materials' shape: 1,906 templates of 158
pairs of concepts, each target right or wrong by chance. Fillings of a version are shared by all templates and favour one side by
its own amount, with a standard deviation of 0, 0.01 and 0.02 (the default study: 0.022 to 0.025). Bar: 6 % of tests at 5 %, 94 %
of intervals. The last lines are intervals of means with few pairs of concepts.

    python tests/performance/comparisons_null.py [REPETITIONS]
"""

import sys

import numpy as np

from worldprobe.analysis.clusters import crossed_means

N_PAIRS, N_TEMPLATES = 158, 1906
LOGITS = {0.0: 0.0, 0.01: 0.033, 0.02: 0.066}


def pairs(random, n_pairs, n_templates):
    """The pair of concepts of each template; none without a template."""
    return np.concatenate([np.arange(n_pairs), random.integers(0, n_pairs, n_templates - n_pairs)])


def answers(random, log_odds):
    """Means of two targets."""
    return sum((random.random(log_odds.shape) < 1 / (1 + np.exp(-log_odds))) / 2 for _ in range(2))


def difference(random, pair, n_versions, sd_version, sd_pair=0.3):
    """Differences of two equally good models, shape (templates, versions)."""
    base = 0.2 + 0.8 * random.standard_normal(N_PAIRS)[pair] + 0.5 * random.standard_normal(N_TEMPLATES)
    sides = (
        base[:, None] + sd_pair * random.standard_normal(N_PAIRS)[pair][:, None] + sd_version * random.standard_normal(n_versions)
        for _ in range(2)
    )
    first, second = (answers(random, log_odds) for log_odds in sides)
    return first - second


def compare(n_repetitions):
    """Nulls of two models, by spread and number of versions."""
    print("sd_of_versions versions rejected covered half_width rejected_if_fixed")
    for sd, logit in LOGITS.items():
        for n_versions in (1, 2, 3, 5, 20):
            random = np.random.default_rng([n_versions, int(1000 * sd)])
            rejected, covered, half, fixed = 0, 0, 0.0, 0
            for _ in range(n_repetitions):
                pair = pairs(random, N_PAIRS, N_TEMPLATES)
                values = difference(random, pair, n_versions, logit).ravel()[None]
                cluster, version = np.repeat(pair, n_versions), np.tile(np.arange(n_versions), N_TEMPLATES)
                found = crossed_means(values, cluster, version)
                rejected += found.p[0] < 0.05
                covered += found.ci_low[0] <= 0 <= found.ci_high[0]
                half += (found.ci_high[0] - found.ci_low[0]) / 2 / n_repetitions
                fixed += crossed_means(values, cluster, stratum=version).p[0] < 0.05
            shares = (count / n_repetitions for count in (rejected, covered))
            print(
                f"{sd:14} {n_versions:8} ",
                *(f"{share:.3f}" for share in shares),
                f"{half:.4f} {fixed / n_repetitions:.3f}",
                flush=True,
            )


def cover(n_repetitions):
    """Intervals of means, with few pairs of concepts or few versions."""
    print("pairs templates versions sd_of_versions covered width")
    for n_pairs, n_templates, n_versions, logit in (
        *((150, 900, n, sd) for n in (1, 2, 3, 5) for sd in (0.0, 0.1)),
        *((n, 80, 5, 0.1) for n in (14, 6, 3)),
    ):
        random = np.random.default_rng([n_pairs, n_versions])
        spread = np.sqrt(1.0 + 0.7**2 + 0.5**2 + logit**2)
        truth = (1 / (1 + np.exp(-0.8 - spread * random.standard_normal(2_000_000)))).mean()
        covered, width = 0, 0.0
        for _ in range(n_repetitions):
            pair = pairs(random, n_pairs, n_templates)
            log_odds = 0.8 + random.standard_normal(n_pairs)[pair][:, None] + 0.7 * random.standard_normal((n_templates, 1))
            log_odds = (
                log_odds + logit * random.standard_normal(n_versions) + 0.5 * random.standard_normal((n_templates, n_versions))
            )
            cluster, version = np.repeat(pair, n_versions), np.tile(np.arange(n_versions), n_templates)
            found = crossed_means(answers(random, log_odds).ravel()[None], cluster, version, tested=False)
            covered += found.ci_low[0] <= truth <= found.ci_high[0]
            width += (found.ci_high[0] - found.ci_low[0]) / n_repetitions
        print(f"{n_pairs:5} {n_templates:9} {n_versions:8} {logit:14} {covered / n_repetitions:.3f} {width:.3f}", flush=True)


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    compare(number)
    cover(number)
