"""Do bands and onsets of learning curves hold what they say? Simulated trainings whose true
curves are known.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from worldprobe_lab.contracts import NEVER, NONE, REACHED
from worldprobe_lab.curves import crossing, estimate, fall_of, onset_of

STEPS = np.unique(np.geomspace(1, 1000, 20).round())
#: Items of each pair of concepts and version, as the built-in materials have.
N_ITEMS = 12
#: Standard deviations of what pairs, versions and seeds add to a curve that is fully learned.
OF_CLUSTERS, OF_VERSIONS, OF_SEEDS = 0.10, 0.015, 0.02


def true_curve(onset: float | None, forgets: float = 0.0) -> np.ndarray:
    """Accuracy at each step: from chance to 0.78, its middle at a step, and down again after
    the 300th.
    """
    if onset is None:
        return np.full(len(STEPS), 0.5)
    risen = 1 / (1 + np.exp(-2.5 * np.log(STEPS / onset)))
    return 0.5 + 0.28 * risen - forgets * np.clip(np.log(STEPS / 300) / np.log(1000 / 300), 0, 1)


def draw(
    rng: np.random.Generator,
    curve: np.ndarray,
    pairs: int,
    versions: int,
    n_seeds: int,
    wander: float,
) -> np.ndarray:
    """Scores of cells, shape (seeds, steps, pairs x versions): answers of neighbouring
    checkpoints are alike.
    """
    learned = np.abs(curve - 0.5) / 0.28
    of_clusters = rng.normal(0, OF_CLUSTERS, pairs)[:, None]
    of_versions = rng.normal(0, OF_VERSIONS, versions)[None, :]
    cells = []
    for _ in range(n_seeds):
        of_seed = rng.normal(0, OF_SEEDS) if n_seeds > 1 else 0.0
        slow, walk = rng.normal(0, 1, (pairs, versions)), rng.normal()
        for share in learned:
            slow = 0.8 * slow + 0.6 * rng.normal(0, 1, slow.shape)
            walk = 0.5 * walk + np.sqrt(0.75) * rng.normal()
            of_pairs = share * (of_clusters + of_versions + of_seed)
            cells.append(of_pairs + slow * np.sqrt(0.25 / N_ITEMS) + wander * walk)
    noise = np.array(cells).reshape(n_seeds, len(STEPS), -1)
    return noise + curve[None, :, None]


def simulate(
    runs: int,
    onset: float | None,
    forgets: float = 0.0,
    pairs: int = 60,
    versions: int = 5,
    n_seeds: int = 1,
    wander: float = 0.0,
    seed: int = 0,
) -> dict[str, float]:
    """Shares of the runs in which what is said is true.

    Args:
        runs: number of simulated trainings.
        onset: middle of the rise; None: none.
        forgets: how far the curve falls.
        pairs: pairs of concepts.
        versions: one: no sample of more.
        n_seeds: trainings.
        wander: standard deviation of what seeds add at each checkpoint by itself.
        seed: of the draws.
    """
    rng = np.random.default_rng([seed, runs])
    cluster = np.repeat(np.arange(pairs), versions)
    version = np.tile(np.arange(versions), pairs) if versions > 1 else None
    curve = true_curve(onset, forgets)
    counts: Counter[str] = Counter()
    for run in range(runs):
        found = estimate(
            STEPS, draw(rng, curve, pairs, versions, n_seeds, wander), cluster, version, seed=run
        )
        half = found.half * found.factor
        counts["band"] += bool((np.abs(found.found.mean - curve) <= half).all())
        counts["interval"] += float((np.abs(found.found.mean - curve) <= found.half).mean())
        said = onset_of(found)
        true = crossing(STEPS, curve, float(said["level"]))
        low = -np.inf if np.isnan(said["ci_low"]) and said["status"] != NEVER else said["ci_low"]
        high = np.inf if np.isnan(said["ci_high"]) else said["ci_high"]
        counts["told"] += said["status"] != NONE
        counts["onset"] += bool(
            said["status"] != NONE and np.isfinite(true) and low <= true <= high
        )
        counts["reached"] += said["status"] == REACHED
        counts["never"] += said["status"] == NEVER
        counts["forgets"] += fall_of(found)["fall"] > 0
    found = {
        key: counts[key] / runs
        for key in ("band", "interval", "told", "onset", "reached", "never", "forgets")
    }
    return found | {"onset": counts["onset"] / max(counts["told"], 1)}
