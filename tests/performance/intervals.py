"""How often 95% intervals of accuracies hold and tests of differences are wrong, by several
published estimators; not speed.

``coverage``: invented models whose log odds of being right differ by pair of concepts (``spread``),
template (0.7), item (0.5) and, where one filling serves a version, by version (0.15) and by pair
and version (0.3). Six templates a pair, or from 1 to 24 (skewed). Columns: Student's t on the scale
of accuracies; the same on the logit scale; Korn and Graubard's with Bell and McCaffrey's degrees of
freedom; ours (``analysis.components``): Korn and Graubard's with Valliant and Rust's degrees of
freedom.

``nulls``: equal models, whose difference varies by pair (0.1), template (0.1), item (0.4), and by
version and by pair and version as stated. Columns: Satterthwaite's degrees of freedom, those of the
scarcest factor (two-way cluster-robust, Cameron, Gelbach & Miller 2011), and ours (Banerjee's),
with the median width next to Satterthwaite's.

    nice -n 19 python tests/performance/intervals.py coverage|nulls [REPETITIONS]
"""

import sys
from itertools import product

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit, ndtri, stdtrit

from worldprobe.analysis.clusters import crossed_means
from worldprobe.analysis.components import korn_graubard

CHUNK = 4_000_000  # values at a time


def sizes(n_pairs: int, is_skewed: bool) -> np.ndarray:
    """Templates of each pair: 6, or from 1 to about 24 with a mean of about 6."""
    if not is_skewed:
        return np.full(n_pairs, 6)
    quantiles = (np.arange(n_pairs) + 0.5) / n_pairs
    return np.clip(np.round(4.4 * np.exp(0.8 * ndtri(quantiles))), 1, 24).astype(int)


def intercept(accuracy: float, spread: float) -> float:
    """Log odds whose mean accuracy is this, where log odds vary normally with this standard
    deviation.
    """
    points, weights = np.polynomial.hermite_e.hermegauss(81)
    return float(
        brentq(lambda x: weights @ expit(x + spread * points) / weights.sum() - accuracy, -15, 15)
    )


def accuracies(random, n, pair, n_versions, accuracy, spread, has_own_fillings):
    """Means of two targets, shape (n, templates, versions)."""
    parts = [spread, 0.7, 0.5] + ([] if has_own_fillings else [0.15, 0.3])
    n_pairs = pair.max() + 1
    log_odds = (
        intercept(accuracy, float(np.linalg.norm(parts)))
        + spread * random.standard_normal((n, n_pairs))[:, pair]
    )
    log_odds = (log_odds + 0.7 * random.standard_normal((n, len(pair))))[:, :, None]
    log_odds = log_odds + 0.5 * random.standard_normal((n, len(pair), n_versions))
    if not has_own_fillings:
        log_odds += 0.15 * random.standard_normal((n, 1, n_versions))
        log_odds += 0.3 * random.standard_normal((n, n_pairs, n_versions))[:, pair]
    return random.binomial(2, expit(log_odds)) / 2


def holds(low, high, truth, known):
    return int(((low <= truth) & (truth <= high))[known].sum())


def coverage(n_repetitions: int) -> None:
    """Intervals of accuracies."""
    print(
        "own_fillings versions pairs skewed accuracy spread  student logit korn_graubard ours "
        " no_interval"
    )
    cases = product((True, False), (1, 2, 3, 5, 20), (3, 6, 14, 28, 366), (False, True))
    for own, n_versions, n_pairs, is_skewed in cases:
        if n_versions == 1 and not own:
            continue  # an interval of one version of one filling is about this version only
        pair = np.repeat(np.arange(n_pairs), sizes(n_pairs, is_skewed))
        cluster, version = np.repeat(pair, n_versions), np.tile(np.arange(n_versions), len(pair))
        how = {"stratum": version} if own else {"version": version}
        for accuracy, spread in (
            (0.5, 0.8),
            (0.7, 0.8),
            (0.8, 1.2),
            (0.9, 1.2),
            (0.95, 0.8),
            (0.95, 1.6),
            (0.98, 1.6),
        ):
            random = np.random.default_rng(
                [n_versions, n_pairs, is_skewed, own, int(100 * accuracy)]
            )
            counts, n_known, left = np.zeros(4), 0, n_repetitions
            while left:
                n = min(left, max(CHUNK // len(cluster), 1))
                left -= n
                values = accuracies(random, n, pair, n_versions, accuracy, spread, own).reshape(
                    n, -1
                )
                plain = crossed_means(values, cluster, **how, tested=False)
                ours = crossed_means(values, cluster, **how, tested=False, bounds=(0.0, 1.0))
                known = ~np.isnan(ours.ci_low)
                mean, half = plain.mean, (plain.ci_high - plain.ci_low) / 2
                with np.errstate(all="ignore"):
                    variance = mean * (1 - mean)
                    ends = [
                        (plain.ci_low, plain.ci_high),
                        expit(logit(mean) + np.array([[-1], [1]]) * half / variance),
                        korn_graubard(mean, variance * (ndtri(0.975) / half) ** 2),
                        (ours.ci_low, ours.ci_high),
                    ]
                counts += [holds(low, high, accuracy, known) for low, high in ends]
                n_known += int(known.sum())
            shown = " ".join(f"{100 * count / max(n_known, 1):6.1f}" for count in counts)
            missing = 100 * (1 - n_known / n_repetitions)
            print(
                f"{own!s:5} {n_versions:3} {n_pairs:4} {is_skewed!s:5} {accuracy:.2f} {spread:.1f}"
                f" {shown}  {missing:.1f}",
                flush=True,
            )


def nulls(n_repetitions: int) -> None:
    """Tests of differences between equal models."""
    print(
        "versions pairs sd_version sd_pair_and_version  satterthwaite scarcest ours  width_of_ours"
    )
    for n_versions, n_pairs in product((2, 3, 4, 5, 20), (6, 28, 158)):
        pair = np.repeat(np.arange(n_pairs), 5)
        cluster, version = np.repeat(pair, n_versions), np.tile(np.arange(n_versions), len(pair))
        for of_version, of_both in ((0, 0), (0.01, 0), (0.02, 0.05), (0.05, 0.05), (0.1, 0.1)):
            random = np.random.default_rng([n_versions, n_pairs, int(100 * of_version)])
            counts, widths, left = np.zeros(3), [], n_repetitions
            while left:
                n = min(left, max(CHUNK // len(cluster), 1))
                left -= n
                by_template = 0.1 * random.standard_normal((n, n_pairs))[
                    :, pair
                ] + 0.1 * random.standard_normal((n, len(pair)))
                values = by_template[:, :, None] + 0.4 * random.standard_normal(
                    (n, len(pair), n_versions)
                )
                values += of_version * random.standard_normal((n, 1, n_versions))
                values += of_both * random.standard_normal((n, n_pairs, n_versions))[:, pair]
                found = crossed_means(values.reshape(n, -1), cluster, version, tested=False)
                means = values.mean(axis=1)
                of_versions = means.var(axis=1, ddof=1) / n_versions
                by_pair = values.reshape(n, n_pairs, 5, n_versions).mean(axis=2)
                of_pairs = by_pair.mean(axis=2).var(axis=1, ddof=1) / n_pairs
                left_over = (
                    by_pair
                    - by_pair.mean(axis=2, keepdims=True)
                    - means[:, None]
                    + means.mean(axis=1)[:, None, None]
                )
                df = n_pairs - 1, n_versions - 1, (n_pairs - 1) * (n_versions - 1)
                cells = (left_over**2).sum(axis=(1, 2)) / df[2] / n_pairs / n_versions
                cells = np.minimum(cells, np.minimum(of_pairs, of_versions))
                square = found.std_error**2
                of_sum = square**2 / (
                    of_pairs**2 / df[0] + of_versions**2 / df[1] + cells**2 / df[2]
                )
                error = np.abs(found.mean) / found.std_error
                quantile = -stdtrit(of_sum, 0.025)
                counts += [
                    (error > quantile).sum(),
                    (error > -stdtrit(min(df[:2]), 0.025)).sum(),
                    ((found.ci_low > 0) | (found.ci_high < 0)).sum(),
                ]
                widths.append(
                    np.median((found.ci_high - found.ci_low) / 2 / found.std_error / quantile)
                )
            shown = " ".join(f"{100 * count / n_repetitions:6.1f}" for count in counts)
            print(
                f"{n_versions:3} {n_pairs:4} {of_version:5} {of_both:5} {shown} "
                f" {np.mean(widths):.2f}",
                flush=True,
            )


if __name__ == "__main__":
    {"coverage": coverage, "nulls": nulls}[sys.argv[1]](
        int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    )
