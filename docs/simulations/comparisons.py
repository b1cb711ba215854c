"""What ``plan`` promises and ``compare`` finds of simulated models with own fillings, and tests of
models on unequal pairs of concepts. Prints tables of docs/methods.md.

    python docs/simulations/comparisons.py
"""

import numpy as np
from scipy import stats
from scipy.optimize import brentq
from scipy.special import expit

from worldprobe.analysis.clusters import _variance_of_cells, crossed_means, variance_of_mean
from worldprobe.analysis.components import VERSIONS_ALIKE
from worldprobe_lab.power import plan, variances_of_differences

PILOTS, STUDIES, ACCURACY = 100, 1_000, 0.7
#: templates of 14 and of 28 unequal pairs, drawn once; one pair with half of all templates.
SIZES = {
    "equal": lambda n: np.full(n, 6),
    "skewed": lambda n: np.maximum(
        1, np.random.default_rng(n).lognormal(np.log(6) - 0.32, 0.8, n).round()
    ).astype(int),
    "one has half": lambda n: np.r_[6 * (n - 1), np.full(n - 1, 6)],
}
#: standard deviations in log odds of what models share and of what is a model's own: of pairs of
#: concepts, templates and items.
DIFFERENT, ALIKE = ((1.0, 0.6, 0.3), (0.5, 0.3, 0.0)), ((1.5, 0.6, 0.3), (0.1, 0.05, 0.0))


def answers(
    n: int,
    sizes: np.ndarray,
    n_versions: int,
    difference: float,
    spreads: tuple[tuple[float, ...], tuple[float, ...]] = DIFFERENT,
    versions: float = 0.0,
    seed: int = 0,
) -> np.ndarray:
    """Accuracies of two models in studies, shape (2, studies, templates, versions), two targets
    each.
    """
    rng = np.random.default_rng([seed, len(sizes), n_versions, int(1000 * difference)])
    pair = np.repeat(np.arange(len(sizes)), sizes)
    shape = (n, len(pair), n_versions)

    def drawn(sd_pair: float, sd_template: float, sd_item: float) -> np.ndarray:
        of_templates = sd_template * rng.standard_normal((n, len(pair)))
        of_templates += sd_pair * rng.standard_normal((n, len(sizes)))[:, pair]
        return of_templates[:, :, None] + sd_item * rng.standard_normal(shape)

    shared, found = drawn(*spreads[0]), []
    whole = np.sqrt(sum(sd**2 for part in spreads for sd in part) + versions**2)
    points, weights = np.polynomial.hermite_e.hermegauss(60)
    for side in (difference / 2, -difference / 2):
        shift = brentq(
            lambda mean, side=side: (
                weights @ expit(mean + whole * points) / weights.sum() - ACCURACY - side
            ),
            -20,
            20,
        )
        of_versions = versions * rng.standard_normal((n, 1, n_versions))
        right = expit(shift + shared + drawn(*spreads[1]) + of_versions)
        found.append(((rng.random(shape) < right).astype(float) + (rng.random(shape) < right)) / 2)
    return np.stack(found)


def labels(sizes: np.ndarray, n_versions: int) -> tuple[np.ndarray, np.ndarray]:
    """Pair of concepts and version of each item."""
    pair = np.repeat(np.arange(len(sizes)), sizes)
    return np.repeat(pair, n_versions), np.tile(np.arange(n_versions), len(pair))


def p_of_compare(models: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, float]:
    """P of every study, and the median of Detectable."""
    values = (models[0] - models[1]).reshape(len(models[0]), -1)
    pair, version = labels(sizes, models.shape[3])
    seem = crossed_means(values, pair, version, tested=False).p_versions < VERSIONS_ALIKE
    found = crossed_means(values, pair, version, is_random=seem)
    return found.p, float(np.nanmedian(found.detectable))


def p_of_excess(models: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """P of every study without an F test: versions add what they have beyond the cells'
    (Satterthwaite).
    """
    values = (models[0] - models[1]).reshape(len(models[0]), -1)
    (pair, version), n_versions = labels(sizes, models.shape[3]), models.shape[3]
    share, mean = np.full(values.shape[1], 1 / values.shape[1]), values.mean(axis=1)
    of_versions = np.stack([values[:, version == v].mean(axis=1) for v in range(n_versions)], 1)
    inner = values - of_versions[:, version]
    clusters = variance_of_mean(inner, share, pair)
    versions = variance_of_mean(
        of_versions - mean[:, None], np.full(n_versions, 1 / n_versions), np.arange(n_versions)
    )
    cells = _variance_of_cells(inner * share, share, pair, version)
    excess, df = np.maximum(versions.variance - cells, 0), n_versions - 1
    of_excess = (versions.variance**2 / df + cells**2 / (df * clusters.df)) * (excess > 0)
    variance = clusters.variance + excess
    whole = np.maximum(variance**2 / (clusters.variance**2 / clusters.df + of_excess), 1)
    return 2 * stats.t.sf(np.abs(mean) / np.sqrt(variance), whole)


def own_fillings() -> None:
    """Promises of plans, and what is found with and without the F test of versions."""
    print("pairs, versions differ by, versions, difference: promised | found | without the F test")
    cases = ((28, 0, 0.09), (100, 0, 0.04), (100, 0.1, 0.04), (366, 0.2, 0.02))
    for n_pairs, sd, difference in cases:
        sizes = SIZES["equal"](n_pairs)
        for n_versions in (1, 2, 3, 5):
            found, detectable = p_of_compare(
                answers(STUDIES, sizes, n_versions, difference, versions=sd, seed=1), sizes
            )
            null = answers(STUDIES, sizes, n_versions, 0.0, versions=sd, seed=2)
            line = f"{n_pairs:4} {sd:4} {n_versions:2} {difference:.3f}: "
            if n_versions > 1:
                pilots = answers(PILOTS, sizes, n_versions, 0.0, versions=sd, seed=3)
                pair = np.repeat(np.arange(n_pairs), sizes)
                promised = [
                    plan(
                        variances_of_differences(pilots[:, i], pair, None, True),
                        difference,
                        [n_pairs],
                        [n_versions],
                    )["power"].item()
                    for i in range(PILOTS)
                ]
                at = p_of_compare(
                    answers(STUDIES, sizes, n_versions, detectable, versions=sd, seed=4), sizes
                )[0]
                study = answers(STUDIES, sizes, n_versions, difference, versions=sd, seed=1)
                line += (
                    f"promised {np.mean(promised):.2f}, Detectable {detectable:.3f} found in"
                    f" {np.mean(at < 0.05):.2f}, without the F test"
                    f" {np.mean(p_of_excess(study, sizes) < 0.05):.2f} (level"
                    f" {np.mean(p_of_excess(null, sizes) < 0.05):.3f}), "
                )
            level = np.mean(p_of_compare(null, sizes)[0] < 0.05)
            print(f"{line}found {np.mean(found < 0.05):.2f} (level {level:.3f})", flush=True)


def unequal_pairs() -> None:
    """Level and power of three tests with one version."""
    print("pairs, models, difference: Student's t | t of pairs' means | flips of signs, coverage")
    for n_pairs, kind, spreads, difference in (
        (28, "equal", DIFFERENT, 0.09),
        (28, "skewed", DIFFERENT, 0.09),
        (14, "skewed", ALIKE, 0.06),
        (14, "one has half", DIFFERENT, 0.09),
        (100, "skewed", ALIKE, 0.06),
    ):
        sizes = SIZES[kind](n_pairs)
        pair = labels(sizes, 1)[0]
        for true in (0.0, difference):
            models = answers(STUDIES, sizes, 1, true, spreads, seed=5)
            values = (models[0] - models[1]).reshape(STUDIES, -1)
            means = np.stack([values[:, pair == one].mean(axis=1) for one in range(n_pairs)], 1)
            by_t, found = crossed_means(values, pair, tested=False), crossed_means(values, pair)
            shares = {
                "t": np.mean((by_t.ci_low > 0) | (by_t.ci_high < 0)),
                "of means": np.mean(stats.ttest_1samp(means, 0, axis=1).pvalue < 0.05),
                found.test[0]: np.mean(found.p < 0.05),
                "coverage": np.mean((found.ci_low <= true) & (true <= found.ci_high)),
            }
            shown = ", ".join(f"{name} {share:.3f}" for name, share in shares.items())
            of = f"{n_pairs:4} {kind} ({sizes.min()} to {sizes.max()}), own {spreads[1][0]}, {true}"
            print(f"{of}: {shown}", flush=True)


if __name__ == "__main__":
    own_fillings()
    unequal_pairs()
