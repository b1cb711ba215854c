"""The numbers of docs/claims.md, which this script writes into the page: simulated studies of the
first edition's size.

nice -n 19 python tests/performance/claims.py [REPETITIONS]
"""

import re
import sys
from pathlib import Path

import numpy as np
from scipy import stats

from worldprobe.analysis.clusters import bell_mccaffrey, crossed_means
from worldprobe_lab.pooling import pool
from worldprobe_lab.power import plan, variances_of_differences

sys.path.insert(0, str(Path(__file__).parent))  # pytest looks for doctests here, too

import pooling
import power

PAGE = Path(__file__).parents[2] / "docs" / "claims.md"
N_PAIRS, N_TEMPLATES, N_VERSIONS = 158, 1906, 3
#: of versions in log odds; their means then differ by 0.02, as those of builtin@1 in the mode
#: fixed.
SD_VERSION = 0.066
#: of domains, and of versions in these studies, in log odds.
SD_DOMAIN, SD_OF_ORDERED = 0.3, 0.1
PAIR = power.sizes(N_PAIRS, N_TEMPLATES)
CLUSTER, VERSION = np.repeat(PAIR, N_VERSIONS), np.tile(np.arange(N_VERSIONS), N_TEMPLATES)


def percent(share):
    """As it is printed."""
    return f"{100 * share:.0f}%"


def rejected(n):
    """Tests at 5% that find a difference between equally good models: items as independent,
    fillings as fixed, and as here.
    """
    random, found = np.random.default_rng(1), np.zeros(3)
    for _ in range(n // power.CHUNK):
        first, second = power.simulate(random, power.CHUNK, PAIR, N_VERSIONS)
        values = (first - second).reshape(power.CHUNK, -1)
        by_item = stats.ttest_1samp(values, 0, axis=1).pvalue < 0.05
        ways = [
            crossed_means(values, CLUSTER, *how, tested=False)
            for how in ((None, VERSION), (VERSION,))
        ]
        found += [by_item.sum(), *(((way.ci_low > 0) | (way.ci_high < 0)).sum() for way in ways)]
    names = ("as_independent", "as_fixed", "as_here")
    return dict(zip(names, map(percent, found / (n // power.CHUNK * power.CHUNK)), strict=True))


def missed(n):
    """Studies that do not find a true difference of three points, and the difference that four of
    five find.
    """
    random = np.random.default_rng(2)
    pilots = [
        variances_of_differences(np.array(power.simulate(random, 1, PAIR, 5))[:, 0], PAIR)
        for _ in range(400)
    ]
    names = ("cluster", "template", "version", "cluster_version", "item")
    mean = type(pilots[0])(
        *(float(np.mean([getattr(one, name) for one in pilots])) for name in names),
        sizes=pilots[0].sizes,
    )
    rows = plan(mean, 0.03, [N_PAIRS]).set_index("n_versions")
    enough = rows.index[rows.power >= 0.8]
    return {
        "missed": percent(1 - power.found(random, n, PAIR, N_VERSIONS, 0.03)),
        "detectable": f"{100 * rows.detectable[N_VERSIONS]:.1f}",
        "by_formula": f"{100 * rows.detectable_if_independent[N_VERSIONS]:.1f}",
        "enough": str(min(enough)) if len(enough) else f"more than {rows.index.max()}",
    }


def ordered(n):
    """Is the domain with the lowest of eleven means the hardest? Are orders of two domains
    right?
    """
    random, counts = np.random.default_rng(3), np.zeros(6)
    for number in range(n // 5):
        values, domain, pair, truth = pooling.simulate(random, SD_DOMAIN, 5, SD_OF_ORDERED)
        found, upper = pool(values, domain, pair, number), truth[:, None] < truth[None, :]
        above, sure = found.mean[:, None] < found.mean[None, :], found.lower >= 0.95
        counts += [
            found.mean.argmin() == truth.argmin(),
            1,
            (above & upper).sum(),
            above.sum(),
            (sure & upper).sum(),
            sure.sum(),
        ]
    shares = {
        "lowest": counts[0] / counts[1],
        "plain_orders": counts[2] / counts[3],
        "sure_orders": counts[4] / counts[5],
    }
    return {name: percent(share) for name, share in shares.items()} | {
        "n_sure": f"{counts[5] / counts[1]:.0f}"
    }


def best_of_many(n):
    """Ten equally good models: is some pair different at 5%, without and with Holm's correction?"""
    random, counts = np.random.default_rng(4), np.zeros(2)
    a, b = np.triu_indices(10, 1)
    for _ in range(n // 10):
        models = np.concatenate(
            [np.concatenate(power.simulate(random, 1, PAIR, N_VERSIONS)) for _ in range(5)]
        )
        models = models.reshape(10, -1)
        p = crossed_means(models[a] - models[b], CLUSTER, VERSION).p
        counts += [(p < 0.05).any(), (p * len(a) < 0.05).any()]
    return dict(zip(("some_pair", "some_pair_holm"), map(percent, counts / (n // 10)), strict=True))


def one_version(n):
    """How often the interval of one version, and of three, contains the mean over all fillings."""
    found = {}
    truth = (1 / (1 + np.exp(-_log_odds(np.random.default_rng(5), 2_000_000)))).mean()
    for n_versions, name in ((1, "one_version"), (3, "three_versions")):
        random, covered = np.random.default_rng([6, n_versions]), 0
        cluster, version = np.repeat(PAIR, n_versions), np.tile(np.arange(n_versions), N_TEMPLATES)
        for _ in range(n // power.CHUNK):
            values = _one_model(random, n_versions).reshape(power.CHUNK, -1)
            means = crossed_means(values, cluster, version, tested=False)
            covered += int(((means.ci_low <= truth) & (truth <= means.ci_high)).sum())
        found[name] = percent(covered / (n // power.CHUNK * power.CHUNK))
    return found


def _log_odds(random, n):
    """Of single targets of one model."""
    spread = np.sqrt(
        power.SD_BASE**2 + power.SD_TEMPLATE**2 + power.SD_PAIR**2 + (2 * SD_VERSION) ** 2
    )
    return spread * random.standard_normal(n)


def _one_model(random, n_versions):
    """Accuracies of a model whose versions differ by 0.03, shape (chunk, templates, versions)."""
    normal = lambda *shape: random.standard_normal((power.CHUNK, *shape), dtype=np.float32)  # noqa: E731
    of_pairs = np.hypot(power.SD_BASE, power.SD_PAIR) * normal(N_PAIRS)[:, PAIR]
    log_odds = (of_pairs + power.SD_TEMPLATE * normal(N_TEMPLATES))[
        :, :, None
    ] + 2 * SD_VERSION * normal(1, n_versions)
    right = 1 / (1 + np.exp(-log_odds))
    return sum(
        (random.random(right.shape, dtype=np.float32) < right) / np.float32(2) for _ in range(2)
    )


def given():
    """What is simulated, and how wide intervals are: nothing that depends on chance."""
    quantile = lambda n: f"{stats.t.ppf(0.975, n - 1):.1f}"  # noqa: E731
    sizes = {
        "n_templates": f"{N_TEMPLATES:,}",
        "n_pairs": str(N_PAIRS),
        "n_versions": str(N_VERSIONS),
    }
    widths = {"t_2": quantile(2), "t_3": quantile(3), "t_5": quantile(5), "t_20": quantile(20)}
    _, df = bell_mccaffrey(np.append(np.full(13, 0.5 / 13), 0.5))
    widths |= {"t_equal": quantile(14), "t_half": f"{stats.t.ppf(0.975, df):.1f}"}
    places = stats.norm.ppf((np.arange(1000) + 0.5) / 1000)
    right = 1 / (1 + np.exp(-_log_odds(np.random.default_rng(5), 100_000)))
    spread = np.sqrt(
        pooling.SD_PAIR**2 + pooling.SD_TEMPLATE**2 + pooling.SD_CELL**2 + 2 * SD_OF_ORDERED**2
    )
    domains = (1 / (1 + np.exp(-0.5 - SD_DOMAIN * places[:, None] - spread * places))).mean(axis=1)
    spreads = {
        "domain_spread": domains.std(),
        "version_spread": 2 * SD_VERSION * (right * (1 - right)).mean(),
    }
    return sizes | widths | {name: f"{100 * value:.0f}" for name, value in spreads.items()}


def numbers(n):
    """Name of a number in the page -> what is written there."""
    return given() | rejected(n) | missed(n) | ordered(n) | best_of_many(n) | one_version(n)


def write(page, found):
    """The page with its numbers; each stands behind a comment with its name."""
    return re.sub(
        r"<!--(\w+)-->[^<]*<!---->",
        lambda match: f"<!--{match[1]}-->{found[match[1]]}<!---->",
        page,
    )


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(
        write(text, numbers(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)), encoding="utf-8"
    )
