"""Whether statements about domains are right: pooled means, orders, reliability, single claims."""

import numpy as np
import pandas as pd
from studies import Spread, accuracies, intercept, labels, mean_of, percent, table

from worldprobe.analysis.clusters import crossed_means
from worldprobe.analysis.reliability import split_half
from worldprobe_lab.pooling import pool

INSIDE = Spread(pair=0.8, template=0.6, item=0.3)


def study(
    rng: np.random.Generator, sd: float, versions: int, n_domains: int = 11, accuracy: float = 0.6
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Accuracies, shape (templates, versions), domain and pair of each template, and the true
    accuracy of each domain: domains have 3 to 14 pairs.
    """
    n_pairs = rng.integers(3, 15, n_domains)
    domain_of_pair = np.repeat(np.arange(n_domains), n_pairs)
    pair = np.concatenate([np.arange(n_pairs.sum()), rng.integers(0, n_pairs.sum(), 1200)])
    domain = domain_of_pair[pair]
    shared = 0.1 if versions > 1 else 0.0
    whole = float(np.hypot(INSIDE.whole, shared * np.sqrt(2)))
    middle = intercept(accuracy, float(np.hypot(whole, sd))) + sd * rng.standard_normal(n_domains)
    log_odds = middle[domain][:, None] + INSIDE.draw(rng, 1, pair, versions)[0]
    log_odds = log_odds + shared * rng.standard_normal(versions)
    log_odds = log_odds + shared * rng.standard_normal((n_domains, versions))[domain]
    truth = np.array([mean_of(one, whole) for one in middle])
    return accuracies(rng, log_odds), domain, pair, truth


@table(quick=10, page=200)
def pooled_domains(n: int) -> pd.DataFrame:
    """Coverage of pooled intervals, their width beside plain ones, and how many stated orders are
    right.
    """
    rows = []
    for sd in (0.0, 0.3, 0.8):
        for versions in (1, 3, 5):
            rng = np.random.default_rng([versions, int(10 * sd)])
            found = pd.DataFrame([_of_one(rng, sd, versions, number) for number in range(n)])
            sums = found.sum()
            rows.append(
                {
                    "domains differ by (log odds)": sd,
                    "versions": versions,
                    "coverage": percent(found["covered"].mean(), 0),
                    "of the truly lowest": percent(found["lowest"].mean(), 0),
                    "of the printed lowest": percent(found["printed"].mean(), 0),
                    "width beside unpooled": f"{found['width'].mean():.2f}",
                    "orders decided (of 55)": f"{found['decided'].mean():.1f}",
                    "right": _share(sums["right"], sums["decided"]) if sd else "–",
                    "orders of plain means right": percent(sums["plain"] / (55 * n), 0)
                    if sd
                    else "–",
                }
            )
    return pd.DataFrame(rows)


def _share(part: float, whole: float) -> str:
    return percent(part / whole, 0) if whole else "–"


def _of_one(rng: np.random.Generator, sd: float, versions: int, seed: int) -> dict[str, float]:
    values, domain, pair, truth = study(rng, sd, versions)
    found = pool(values, domain, pair, seed)
    is_covered = (found.ci_low <= truth) & (truth <= found.ci_high)
    width = 0.0
    for number in range(len(truth)):
        here = domain == number
        cluster, version = labels(pair[here], versions)
        plain = crossed_means(
            values[here].reshape(1, -1),
            cluster,
            version if versions > 1 else None,
            tested=False,
        )
        width += float((plain.ci_high - plain.ci_low)[0])
    is_lower, decided = truth[:, None] < truth, found.lower >= 0.95
    return {
        "covered": is_covered.mean(),
        "lowest": is_covered[truth.argmin()],
        "printed": is_covered[found.mean.argmin()],
        "width": (found.ci_high - found.ci_low).sum() / width,
        "decided": decided.sum(),
        "right": (decided & is_lower).sum(),
        "plain": ((found.mean[:, None] < found.mean) & is_lower).sum(),
    }


@table(quick=10, page=200)
def reliability(n: int) -> pd.DataFrame:
    """The estimate beside the true reliability: the share of the truth in the variance."""
    rows = []
    for n_domains, sd in ((13, 0.0), (13, 0.1), (13, 0.2), (13, 0.4), (11, 0.0), (5, 0.0)):
        rng, estimates, spreads = np.random.default_rng([n_domains, int(10 * sd)]), [], []
        group = np.repeat(np.arange(n_domains), 28)
        for seed in range(n):
            middle = 0.3 + sd * rng.standard_normal(n_domains)
            log_odds = middle[group][None, :, None] + INSIDE.draw(rng, 1, np.arange(len(group)), 6)
            means = accuracies(rng, log_odds).mean(axis=2)
            estimates.append(split_half(means, np.full(means.shape, 6), group, seed)[0])
            shown = means[0].reshape(n_domains, -1).mean(axis=1)
            truth = [mean_of(one, INSIDE.whole) for one in middle]
            spreads.append((np.var(truth), np.var(shown)))
        rows.append(
            {
                "domains": n_domains,
                "differ by (log odds)": sd,
                "true reliability": f"{np.divide(*np.mean(spreads, axis=0)):.2f}",
                "mean estimate": f"{np.mean(estimates):.2f}",
                "at least 0.5": percent(np.mean(np.array(estimates) >= 0.5), 0),
            }
        )
    return pd.DataFrame(rows)


@table(quick=10, page=400)
def lowest_domain(n: int) -> dict[str, str]:
    """How often the lowest of eleven means, and the lower of two, is of the harder domain."""
    rng, counts = np.random.default_rng(3), np.zeros(4)
    for _ in range(n):
        values, domain, pair, truth = study(rng, 0.3, 5)
        found = pool(values, domain, pair)
        is_lower = truth[:, None] < truth
        above, sure = found.mean[:, None] < found.mean, found.lower >= 0.95
        is_lowest = found.mean.argmin() == truth.argmin()
        counts += [is_lowest, (above & is_lower).sum(), sure.sum(), (sure & is_lower).sum()]
    return {
        "lowest": percent(counts[0] / n, 0),
        "of_two": percent(counts[1] / 55 / n, 0),
        "n_decided": f"{counts[2] / n:.0f}",
        "right": _share(counts[3], counts[2]),
    }
