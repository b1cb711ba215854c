"""How often 95% intervals of accuracies hold."""

from itertools import product

import numpy as np
import pandas as pd
from studies import Spread, accuracies, chunks, intercept, labels, pairs, percent, table

from worldprobe.analysis.clusters import crossed_means

ACCURACIES = ((0.5, 0.8), (0.7, 0.8), (0.8, 1.2), (0.9, 1.2), (0.95, 0.8), (0.95, 1.6), (0.98, 1.6))
PAIRS = (3, 6, 14, 28, 366)


@table(quick=20, page=1000)
def coverage(n: int) -> pd.DataFrame:
    """The lowest coverage over accuracies from 0.5 to 0.98, which vary little or much by pair, with
    equal and with unequal pairs.
    """
    rows = []
    for is_own, versions in ((True, 1), (True, 3), (True, 20), (False, 3), (False, 5)):
        lowest = {
            n_pairs: np.min(
                [
                    _covered(n, n_pairs, kind, versions, is_own, *case)
                    for kind, case in product(("equal", "skewed"), ACCURACIES)
                ],
                axis=0,
            )
            for n_pairs in PAIRS
        }
        for place, estimator in enumerate(("Student's t", "**reported**")):
            shares = {f"{n_pairs} pairs": percent(low[place]) for n_pairs, low in lowest.items()}
            first = {"fillings": "own" if is_own else "shared", "versions": versions}
            rows.append(first | {"estimator": estimator} | shares)
    return pd.DataFrame(rows)


def _covered(
    n: int, n_pairs: int, kind: str, versions: int, is_own: bool, accuracy: float, sd: float
) -> tuple[float, float]:
    """Coverage of Student's t and of what is reported, of studies that have an interval."""
    shared = {} if is_own else {"version": 0.15, "cell": 0.3}
    spread, pair = Spread(pair=sd, template=0.7, item=0.5, **shared), pairs(n_pairs, kind)
    middle, (cluster, version) = intercept(accuracy, spread.whole), labels(pair, versions)
    how = {"stratum": version} if is_own else {"version": version}
    rng = np.random.default_rng([versions, n_pairs, kind == "skewed", is_own, int(100 * accuracy)])
    held, known = np.zeros(2), 0
    for size in chunks(n, len(cluster)):
        drawn = accuracies(rng, middle + spread.draw(rng, size, pair, versions)).reshape(size, -1)
        by_t = crossed_means(drawn, cluster, **how, tested=False)
        reported = crossed_means(drawn, cluster, **how, tested=False, bounds=(0.0, 1.0))
        has_both = ~np.isnan(by_t.ci_low)
        known += has_both.sum()
        for place, ends in enumerate((by_t, reported)):
            held[place] += ((ends.ci_low <= accuracy) & (accuracy <= ends.ci_high) & has_both).sum()
    return tuple(held / known) if known else (1.0, 1.0)
