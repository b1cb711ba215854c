"""Is a difference found as often as planned? Simulated studies of two models, one of which is
better by the planned difference.

Models judge templates of pairs of concepts in versions with common fillings, each of two targets
right or wrong by chance. The variances are those of simulated pilots (five versions). For each size
of study the planned difference of 80 % power is simulated. Printed: that difference; the share of
studies that find it (bar: 78 to 82 %, where it is small enough for accuracies to vary as before);
the difference that has 80 % power by the formula for independent items, and the share that finds
it; and, over single studies, the tenth, half and nine tenths of what one plans from its own
differences and prints beside its p.

    nice -n 19 python tests/performance/power.py [REPETITIONS]
"""

import sys

import numpy as np

from worldprobe.analysis.clusters import crossed_means
from worldprobe_lab.power import plan, variances_of_differences

#: standard deviations of log odds: pairs of concepts and templates (both models), pairs of concepts
#: and versions (each model).
SD_BASE, SD_TEMPLATE, SD_PAIR, SD_VERSION = 0.8, 0.5, 0.3, 0.066
CHUNK = 100


def sizes(n_pairs, n_templates):
    """The pair of each template; sizes differ as in real materials (half of the templates in a
    quarter of the pairs).
    """
    random = np.random.default_rng([n_pairs, n_templates])
    share = random.dirichlet(np.full(n_pairs, 2.0))
    return np.concatenate(
        [np.arange(n_pairs), random.choice(n_pairs, n_templates - n_pairs, p=share)]
    )


def simulate(random, n, pair, n_versions, shift=0.0, sd_version=SD_VERSION, moved=(0.0, 0.0)):
    """Accuracies of two models on items, each shape (n, templates, versions); ``moved`` is added to
    the log odds of each.
    """
    n_pairs, n_templates = pair.max() + 1, len(pair)
    normal = lambda *shape: random.standard_normal((n, *shape), dtype=np.float32)  # noqa: E731
    base = SD_BASE * normal(n_pairs)[:, pair] + SD_TEMPLATE * normal(n_templates)
    models = []
    for better, own in zip((shift / 2, -shift / 2), moved, strict=True):
        log_odds = (
            (base + SD_PAIR * normal(n_pairs)[:, pair] + better)[:, :, None]
            + sd_version * normal(1, n_versions)
            + own
        )
        right = 1 / (1 + np.exp(-log_odds))
        models.append(
            sum(
                (random.random(right.shape, dtype=np.float32) < right) / np.float32(2)
                for _ in range(2)
            )
        )
    return models


def shift_for(difference):
    """How far apart the log odds of two models are, around 0, so that their accuracies are."""
    spread = np.sqrt(SD_BASE**2 + SD_TEMPLATE**2 + SD_PAIR**2 + SD_VERSION**2)
    log_odds = spread * np.random.default_rng(0).standard_normal(400_000)
    mean = lambda shift: (1 / (1 + np.exp(-log_odds - shift))).mean()  # noqa: E731
    shift = 0.0
    for _ in range(4):
        shift += (difference - mean(shift / 2) + mean(-shift / 2)) / 0.2
    return shift


def found(random, n, pair, n_versions, difference):
    """The share of studies whose test finds the difference."""
    shift, n_found = shift_for(difference), 0
    cluster, version = np.repeat(pair, n_versions), np.tile(np.arange(n_versions), len(pair))
    for _ in range(n // CHUNK):
        first, second = simulate(random, CHUNK, pair, n_versions, shift)
        means = crossed_means((first - second).reshape(CHUNK, -1), cluster, version, tested=False)
        n_found += int((means.ci_low > 0).sum())
    return n_found / (n // CHUNK * CHUNK)


def main(n):
    """All sizes."""
    quantiles = (0.1, 0.5, 0.9)
    print(
        "pairs templates versions difference found by_formula found planned_by_one_study"
        " printed_by_one_study"
    )
    for n_pairs, n_templates in ((158, 1906), (40, 500), (14, 170)):
        pair, random = sizes(n_pairs, n_templates), np.random.default_rng(n_pairs)
        pilots = [
            variances_of_differences(np.array(simulate(random, 1, pair, 5))[:, 0], pair)
            for _ in range(400)
        ]
        names = ("cluster", "template", "version", "cluster_version", "item")
        mean = type(pilots[0])(
            *(float(np.mean([getattr(one, name) for one in pilots])) for name in names),
            sizes=pilots[0].sizes,
        )
        for n_versions in (2, 3, 5, 10):
            row = plan(mean, 0.02, [n_pairs], [n_versions]).iloc[0]
            shares = [
                found(random, n, pair, n_versions, row[name])
                for name in ("detectable", "detectable_if_independent")
            ]
            first, second = simulate(random, CHUNK, pair, n_versions)
            cluster, version = (
                np.repeat(pair, n_versions),
                np.tile(np.arange(n_versions), n_templates),
            )
            printed = crossed_means(
                (first - second).reshape(CHUNK, -1), cluster, version
            ).detectable
            own = [
                variances_of_differences(np.stack([a, b]), pair)
                for a, b in zip(first[:30], second[:30], strict=True)
            ]
            planned = [float(plan(one, 0.02, [n_pairs], [n_versions]).detectable[0]) for one in own]
            spread = [
                "-".join(f"{x:.3f}" for x in np.quantile(values, quantiles))
                for values in (planned, printed)
            ]
            print(
                f"{n_pairs:5} {n_templates:9} {n_versions:8} {row.detectable:10.4f}"
                f" {shares[0]:.3f}",
                end=" ",
            )
            print(f"{row.detectable_if_independent:.4f} {shares[1]:.3f}", *spread, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
