"""Numbers of docs/claims.md: wrong conclusions in studies of the first edition's size."""

import numpy as np
from comparisons import (
    FIRST_EDITION,
    SHARED,
    differences,
    is_found,
    shared_pilot,
    two_models,
    unequal,
)
from scipy import stats
from studies import Spread, accuracies, chunks, intercept, labels, percent, table

from worldprobe.analysis.clusters import crossed_means
from worldprobe_lab.power import plan

PAIR, VERSIONS = unequal(*FIRST_EDITION), 3
#: Where versions differ by three points (standard deviation) around a mean of MIDDLE.
THREE_POINTS, MIDDLE = Spread(np.hypot(0.8, 0.3), 0.5, version=0.17), 0.7
CLUSTER, VERSION = labels(PAIR, VERSIONS)


@table(quick=100, page=2000)
def equally_good(n: int) -> dict[str, str]:
    """Studies of two equal models with p < 0.05: items as independent, versions as fixed, and as
    here.
    """
    rng, found = np.random.default_rng(1), np.zeros(3)
    for size in chunks(n, len(CLUSTER)):
        models = two_models(rng, size, PAIR, VERSIONS, 0.0, SHARED, 0.5)
        values = differences(models)
        fixed = crossed_means(values, CLUSTER, stratum=VERSION, tested=False)
        found += [
            (stats.ttest_1samp(values, 0, axis=1).pvalue < 0.05).sum(),
            ((fixed.ci_low > 0) | (fixed.ci_high < 0)).sum(),
            is_found(models, PAIR, False).sum(),
        ]
    names = ("independent", "fixed", "here")
    return dict(zip(names, (percent(one, 0) for one in found / n), strict=True))


@table(quick=100, page=2000)
def three_points(n: int) -> dict[str, str]:
    """Studies that miss a true difference of three points, and what four of five find."""
    rows = plan(shared_pilot(PAIR, min(n, 400)), 0.03, [FIRST_EDITION[0]]).set_index("n_versions")
    rng, found = np.random.default_rng(2), 0
    for size in chunks(n, len(CLUSTER)):
        found += is_found(
            two_models(rng, size, PAIR, VERSIONS, 0.03, SHARED, 0.5), PAIR, False
        ).sum()
    enough = rows.index[rows["power"] >= 0.8]
    return {
        "missed": percent(1 - found / n, 0),
        "detectable": f"{100 * rows['detectable'][VERSIONS]:.1f}",
        "formula": f"{100 * rows['detectable_if_independent'][VERSIONS]:.1f}",
        "enough": str(min(enough)) if len(enough) else f"more than {rows.index.max()}",
    }


@table(quick=20, page=200)
def ten_models(n: int) -> dict[str, str]:
    """Studies of ten equal models in which some pair differs, without and with Holm's
    correction.
    """
    rng, counts = np.random.default_rng(4), np.zeros(2)
    a, b = np.triu_indices(10, 1)
    common, own = SHARED
    for _ in range(n):
        shared = common.draw(rng, 1, PAIR, VERSIONS)
        models = accuracies(rng, shared + own.draw(rng, 10, PAIR, VERSIONS)).reshape(10, -1)
        p = crossed_means(models[a] - models[b], CLUSTER, VERSION).p
        counts += [(p < 0.05).any(), (p * len(a) < 0.05).any()]
    return dict(zip(("some_pair", "holm"), (percent(one, 0) for one in counts / n), strict=True))


@table(quick=100, page=2000)
def interval_of_version(n: int) -> dict[str, str]:
    """Intervals of one version and of three that contain the mean over all fillings, where versions
    differ by three points.
    """
    middle, numbers = intercept(MIDDLE, THREE_POINTS.whole), {}
    for versions, name in ((1, "one"), (3, "three")):
        rng, held = np.random.default_rng(versions), 0
        for size in chunks(n, len(PAIR) * versions):
            drawn = accuracies(rng, middle + THREE_POINTS.draw(rng, size, PAIR, versions))
            found = crossed_means(drawn.reshape(size, -1), *labels(PAIR, versions), tested=False)
            held += ((found.ci_low <= MIDDLE) & (found.ci_high >= MIDDLE)).sum()
        numbers[name] = percent(held / n, 0)
    return numbers
