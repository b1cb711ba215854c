"""How often comparisons and intervals are wrong, in simulated nulls; correctness, not speed. Compared with fillings held fixed.

Two equally good models (or one model in two conditions) judge items of the shape of builtin@1: 1,906 templates of 158
pairs of concepts, or a domain of few pairs, each target right or wrong by chance (tests/performance/power.py). Fillings of a
version are shared by all templates and favour one side by its own amount, with a standard deviation of 0, 0.01, 0.02 (the default
study: 0.022 to 0.025) and 0.06. Bar: 4 to 6 % of tests at 5 % where that is possible, never more; 94 % of intervals. Then
intervals of means with few pairs of concepts, and nulls of studies with gaps or with versions that differ by domain.

    python tests/performance/comparisons_null.py [REPETITIONS]
"""

import sys
from pathlib import Path

import numpy as np

from worldprobe.analysis.clusters import crossed_means

sys.path.insert(0, str(Path(__file__).parent))  # pytest looks for doctests here, too

import power

LOGITS = {0.0: 0.0, 0.01: 0.033, 0.02: 0.066, 0.06: 0.2}


def pairs(random, n_pairs, n_templates):
    """The pair of concepts of each template; none without a template."""
    return np.concatenate([np.arange(n_pairs), random.integers(0, n_pairs, n_templates - n_pairs)])


def answers(random, log_odds):
    """Means of two targets."""
    return sum((random.random(log_odds.shape) < 1 / (1 + np.exp(-log_odds))) / 2 for _ in range(2))


def compare(n_repetitions):
    """Nulls of two models, by pairs of concepts, spread and number of versions."""
    print("pairs sd_of_versions versions rejected half_width rejected_if_fixed")
    for n_pairs, n_templates in ((158, 1906), (6, 72), (3, 36)):
        pair = power.sizes(n_pairs, n_templates)
        for sd, logit in LOGITS.items():
            for n_versions in (2, 3, 5, 20):
                random, counts, half = np.random.default_rng([n_versions, n_pairs, int(1000 * sd)]), np.zeros(2), []
                cluster, version = np.repeat(pair, n_versions), np.tile(np.arange(n_versions), n_templates)
                for _ in range(n_repetitions // power.CHUNK):
                    first, second = power.simulate(random, power.CHUNK, pair, n_versions, sd_version=logit)
                    values = (first - second).reshape(power.CHUNK, -1)
                    ways = [
                        crossed_means(values, cluster, tested=False, **how)
                        for how in ({"version": version}, {"stratum": version})
                    ]
                    counts += [((way.ci_low > 0) | (way.ci_high < 0)).sum() for way in ways]
                    half.append(np.nanmean(ways[0].ci_high - ways[0].ci_low) / 2)
                found, fixed = counts / (n_repetitions // power.CHUNK * power.CHUNK)
                print(f"{n_pairs:5} {sd:14} {n_versions:8} {found:.3f} {np.mean(half):.4f} {fixed:.3f}", flush=True)


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


def drop_items(random, values, domain):
    """A fifth of the items has no answer."""
    values[:, random.random(values.shape[1:]) < 0.2] = np.nan


def drop_half(random, values, domain):
    """The last version has half of the templates."""
    values[:, random.permutation(values.shape[1])[: values.shape[1] // 2], -1] = np.nan


def drop_most(random, values, domain):
    """The last version has a twentieth of the templates."""
    values[:, random.permutation(values.shape[1])[values.shape[1] // 20 :], -1] = np.nan


def drop_domain(random, values, domain):
    """The last version lacks a domain."""
    values[:, domain == 0, -1] = np.nan


def disturb(n_repetitions):
    """Nulls of two models with 40 pairs of concepts in eight domains, where studies are not as they should be."""
    pair, n_domains = power.sizes(40, 400), 8
    domain = pair % n_domains
    cases = {"differ_by_domain": (0.0, 0.2, None), "differ_in_one_domain": (0.0, 0.6, None)}
    cases |= {gap.__name__: (0.2, 0.0, gap) for gap in (drop_items, drop_half, drop_most, drop_domain)}
    print("case versions rejected")
    for name, (sd_version, sd_domain, gap) in cases.items():
        for n_versions in (2, 3, 5, 20):
            random, found = np.random.default_rng([n_versions, len(name)]), 0
            cluster, version = np.repeat(pair, n_versions), np.tile(np.arange(n_versions), len(pair))
            for _ in range(n_repetitions // power.CHUNK):
                moved = [sd_domain * random.standard_normal((power.CHUNK, n_domains, n_versions)) for _ in range(2)]
                if name == "differ_in_one_domain":
                    moved = [effect * (np.arange(n_domains) == 0)[:, None] for effect in moved]
                shifts = [effect[:, domain].astype(np.float32) for effect in moved]
                first, second = power.simulate(random, power.CHUNK, pair, n_versions, sd_version=sd_version, moved=shifts)
                values = first - second
                if gap:
                    gap(random, values, domain)
                way = crossed_means(values.reshape(power.CHUNK, -1), cluster, version, tested=False)
                found += int(((way.ci_low > 0) | (way.ci_high < 0)).sum())
            print(f"{name:20} {n_versions:8} {found / (n_repetitions // power.CHUNK * power.CHUNK):.3f}", flush=True)


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    compare(number)
    cover(number)
    disturb(number)
