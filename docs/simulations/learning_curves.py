"""Do bands and onsets of learning curves hold what they say? Simulated trainings whose true
curves are known.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from worldprobe_lab.contracts import NEVER, NONE
from worldprobe_lab.curves import crossing, estimate_curves, fall_of, onset_of

STEPS = np.unique(np.geomspace(1, 1000, 20).round())
#: Items of each pair of concepts and version, as the built-in materials have.
N_ITEMS = 12
#: Standard deviations of what pairs and versions add to a curve that is fully learned.
OF_CLUSTERS, OF_VERSIONS = 0.10, 0.015


def draw(rng: np.random.Generator, learned: np.ndarray, pairs: int, versions: int) -> np.ndarray:
    """Scores of cells, shape (1, steps, pairs x versions): answers of neighbouring checkpoints are
    alike.
    """
    own = rng.normal(0, OF_CLUSTERS, (pairs, 1)) + rng.normal(0, OF_VERSIONS, versions)
    slow = rng.normal(0, 1, own.shape)
    cells = []
    for share in learned:
        slow = 0.8 * slow + 0.6 * rng.normal(0, 1, own.shape)
        cells.append(0.5 + share * (0.28 + own) + slow * np.sqrt(0.25 / N_ITEMS))
    return np.reshape(cells, (1, len(STEPS), -1))


def simulate(runs: int, onset: float, pairs: int = 60, versions: int = 5) -> pd.Series:
    """Shares of the runs in which what is said is true; of the onset: where one is told.

    Args:
        runs: number of simulated trainings.
        onset: middle of the rise from chance to 0.78; infinite: none.
        pairs: pairs of concepts.
        versions: one: no sample of more.
    """
    rng = np.random.default_rng(runs)
    cluster = np.repeat(np.arange(pairs), versions)
    version = np.tile(np.arange(versions), pairs) if versions > 1 else None
    learned = 1 / (1 + (onset / STEPS) ** 2.5)
    curve = 0.5 + 0.28 * learned
    rows = []
    for run in range(runs):
        found = estimate_curves(
            STEPS, draw(rng, learned, pairs, versions), cluster, version, seed=run
        )
        said = onset_of(found)
        true = crossing(STEPS, curve, said["level"])
        is_missed = said["ci_low"] > true or said["ci_high"] < true or said["status"] == NEVER
        rows.append(
            {
                "band": (np.abs(found.estimates.mean - curve) <= found.half * found.factor).all(),
                "onset": np.nan if said["status"] == NONE else 1.0 - is_missed,
                "never": said["status"] == NEVER,
                "forgets": fall_of(found)["fall"] > 0,
            }
        )
    return pd.DataFrame(rows).mean()
