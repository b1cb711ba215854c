"""What tests of two models find, and what ``plan`` promises."""

import numpy as np
import pandas as pd
from scipy import stats
from studies import Spread, accuracies, chunks, intercept, labels, pairs, percent, table

from worldprobe.analysis.clusters import Estimates, crossed_means
from worldprobe.analysis.components import VERSIONS_ALIKE
from worldprobe_lab.power import SOURCES, Variances, plan, variances_of_differences

ACCURACY, PILOTS = 0.7, 100
#: Of what models share, and of what is a model's own.
DIFFERENT = Spread(1.0, 0.6, 0.3), Spread(0.5, 0.3)
ALIKE = Spread(1.5, 0.6, 0.3), Spread(0.1, 0.05)
#: The size of builtin@1 with shared fillings, where the means of versions differ by 0.02.
SHARED = Spread(0.8, 0.5), Spread(0.3, version=0.066)
FIRST_EDITION = 158, 1906


def unequal(n_pairs: int, n_templates: int) -> np.ndarray:
    """The pair of each template; sizes differ as in real materials (half of the templates are in a
    quarter of the pairs).
    """
    rng = np.random.default_rng([n_pairs, n_templates])
    share = rng.dirichlet(np.full(n_pairs, 2.0))
    more = rng.choice(n_pairs, n_templates - n_pairs, p=share)
    return np.concatenate([np.arange(n_pairs), more])


def two_models(
    rng: np.random.Generator,
    n: int,
    pair: np.ndarray,
    versions: int,
    difference: float,
    spreads: tuple[Spread, Spread],
    accuracy: float = ACCURACY,
) -> np.ndarray:
    """Accuracies of two models on items, shape (2, studies, templates, versions)."""
    common, own = spreads
    whole, shared = np.hypot(common.whole, own.whole), common.draw(rng, n, pair, versions)
    return np.stack(
        [
            accuracies(
                rng,
                intercept(accuracy + side * difference / 2, whole)
                + shared
                + own.draw(rng, n, pair, versions),
            )
            for side in (1, -1)
        ]
    )


def differences(models: np.ndarray) -> np.ndarray:
    """Shape (studies, items)."""
    return (models[0] - models[1]).reshape(models.shape[1], -1)


def is_found(models: np.ndarray, pair: np.ndarray, is_own: bool = True) -> np.ndarray:
    """Which studies find a difference."""
    values, (cluster, version) = differences(models), labels(pair, models.shape[3])
    if not is_own:
        ends = crossed_means(values, cluster, version, tested=False)
        return (ends.ci_low > 0) | (ends.ci_high < 0)
    return tested(models, pair).p < 0.05


def tested(models: np.ndarray, pair: np.ndarray) -> Estimates:
    """Of studies with own fillings, after the F test of versions."""
    values, (cluster, version) = differences(models), labels(pair, models.shape[3])
    seem = crossed_means(values, cluster, version, tested=False).p_versions < VERSIONS_ALIKE
    return crossed_means(values, cluster, version, is_random=seem)


@table(quick=100, page=1000)
def own_fillings(n: int) -> pd.DataFrame:
    """Power and false positives, beside what plans promise of pilots without a difference."""
    rows = []
    for n_pairs, sd, difference in ((28, 0, 0.09), (100, 0.1, 0.04), (366, 0.2, 0.02)):
        pair, spreads = pairs(n_pairs), (DIFFERENT[0], Spread(0.5, 0.3, version=sd))
        for versions in (1, 2, 3, 5):
            rng = np.random.default_rng([n_pairs, versions])
            pilots = two_models(rng, min(n, PILOTS), pair, versions, 0, spreads)
            promised = [
                plan(
                    variances_of_differences(pilots[:, number], pair, None, True),
                    difference,
                    [n_pairs],
                    [versions],
                )["power"].item()
                for number in range(pilots.shape[1] * (versions > 1))
            ]
            first = tested(two_models(rng, n, pair, versions, difference, spreads), pair)
            detectable = float(np.nanmedian(first.detectable))
            false, at_detectable = (
                np.mean(is_found(two_models(rng, n, pair, versions, true, spreads), pair))
                for true in (0, detectable)
            )
            rows.append(
                {
                    "pairs": n_pairs,
                    "difference": difference,
                    "versions differ by (log odds)": sd,
                    "versions": versions,
                    "`plan` promises": f"{np.mean(promised):.2f}" if promised else "–",
                    "found": f"{np.mean(first.p < 0.05):.2f}",
                    "false positives": percent(false),
                    "Detectable (found)": f"{detectable:.3f} ({at_detectable:.2f})",
                }
            )
    return pd.DataFrame(rows)


@table(quick=200, page=1000)
def unequal_pairs(n: int) -> pd.DataFrame:
    """Level and power of three tests with one version, and the coverage of the reported
    interval.
    """
    rows = []
    for n_pairs, kind, spreads, difference in (
        (28, "skewed", DIFFERENT, 0.09),
        (14, "skewed", ALIKE, 0.06),
        (14, "one has half", DIFFERENT, 0.09),
    ):
        pair = pairs(n_pairs, kind)
        sizes = np.bincount(pair)
        shares = []
        for true in (0.0, difference):
            values = differences(
                two_models(np.random.default_rng(n_pairs), n, pair, 1, true, spreads)
            )
            by_t, reported = crossed_means(values, pair, tested=False), crossed_means(values, pair)
            means = np.stack([values[:, pair == one].mean(axis=1) for one in range(n_pairs)], 1)
            covered = (reported.ci_low <= true) & (true <= reported.ci_high)
            of_means = stats.ttest_1samp(means, 0, axis=1).pvalue < 0.05
            by_student = (by_t.ci_low > 0) | (by_t.ci_high < 0)
            shares.append(
                [np.mean(one) for one in (by_student, of_means, reported.p < 0.05, covered)]
            )
        tests = zip(("Student's t", "t of pairs' means", "**flips**"), *shares, strict=False)
        rows.append(
            {
                "pairs (templates each)": f"{n_pairs} ({sizes.min()} to {sizes.max()})"
                + ", models alike" * (spreads is ALIKE),
                "difference": difference,
            }
            | {name: f"{percent(level)}, {power:.2f}" for name, level, power in tests}
            | {"coverage": percent(min(share[-1] for share in shares))}
        )
    return pd.DataFrame(rows)


@table(quick=200, page=2000)
def equal_models(n: int) -> pd.DataFrame:
    """False positives with shared fillings: Satterthwaite's degrees of freedom and ours."""
    rows, pair = [], np.repeat(np.arange(158), 5)
    for of_version, of_both in ((0, 0), (0.02, 0.05), (0.05, 0.05)):
        shares = {}
        for versions in (2, 3, 5, 20):
            rng, false = np.random.default_rng([versions, int(100 * of_version)]), np.zeros(2)
            spread = Spread(0.1, 0.1, 0.4, of_version, of_both)
            cluster, version = labels(pair, versions)
            for size in chunks(n, len(cluster)):
                values = spread.draw(rng, size, pair, versions)
                found = crossed_means(values.reshape(size, -1), cluster, version, tested=False)
                false += [
                    (np.abs(found.mean) > _satterthwaite(values) * found.std_error).sum(),
                    ((found.ci_low > 0) | (found.ci_high < 0)).sum(),
                ]
            shares[versions] = false / n
        for place, estimator in enumerate(("Satterthwaite", "**reported**")):
            rows.append(
                {"versions differ by": of_version, "estimator": estimator}
                | {f"{one} versions": percent(share[place]) for one, share in shares.items()}
            )
    return pd.DataFrame(rows)


def _satterthwaite(values: np.ndarray) -> np.ndarray:
    """The quantile for the degrees of freedom of a sum whose parts are taken as known, shape
    (studies,), of 158 pairs of five templates.
    """
    n, n_templates, n_versions = values.shape
    cells = values.reshape(n, n_templates // 5, 5, n_versions).mean(axis=2)
    n_pairs, df = cells.shape[1], np.array([cells.shape[1] - 1, n_versions - 1])
    of_pairs = cells.mean(axis=2).var(axis=1, ddof=1) / n_pairs
    of_versions = cells.mean(axis=1).var(axis=1, ddof=1) / n_versions
    rest = cells - cells.mean(axis=2, keepdims=True) - cells.mean(axis=1, keepdims=True)
    rest = rest + cells.mean(axis=(1, 2), keepdims=True)
    both = (rest**2).sum(axis=(1, 2)) / df.prod() / n_pairs / n_versions
    both = np.minimum(both, np.minimum(of_pairs, of_versions))
    whole = (of_pairs + of_versions - both) ** 2
    parts = of_pairs**2 / df[0] + of_versions**2 / df[1] + both**2 / df.prod()
    return -stats.t.ppf(0.025, whole / parts)


def shared_pilot(pair: np.ndarray, n: int = 400) -> Variances:
    """The mean of what pilots of five versions with shared fillings say."""
    models = two_models(np.random.default_rng(1), n, pair, 5, 0, SHARED, 0.5)
    said = [variances_of_differences(models[:, number], pair) for number in range(n)]
    means = (float(np.mean([getattr(one, name) for one in said])) for name in SOURCES)
    return Variances(*means, sizes=said[0].sizes, n_versions=5)


@table(quick=100, page=2000)
def shared_fillings(n: int) -> pd.DataFrame:
    """Whether the difference that a plan promises for a power of 80% is found in 80%, beside what
    the formula for independent items promises.
    """
    pair, rows = unequal(*FIRST_EDITION), []
    pilot = shared_pilot(pair, min(n, 400))
    for versions in (2, 3, 5, 10):
        planned = plan(pilot, 0.02, [FIRST_EDITION[0]], [versions]).iloc[0]
        row = {"versions": versions}
        for name, title in (
            ("detectable", "our plan for 80%: difference"),
            ("detectable_if_independent", "formula for independent items: difference"),
        ):
            rng, found = np.random.default_rng(versions), 0
            for size in chunks(n, len(pair) * versions):
                models = two_models(rng, size, pair, versions, planned[name], SHARED, 0.5)
                found += is_found(models, pair, False).sum()
            row[title] = f"{planned[name]:.3f}"
            row["found in" + " " * (title[0] == "f")] = percent(found / n, 0)
        rows.append(row)
    return pd.DataFrame(rows)
