"""Do bands and onsets of learning curves hold what they say? Simulated trainings whose true curves are known.

python tests/performance/learning_curves.py [RUNS]
"""

from __future__ import annotations

import sys
from collections import Counter

import numpy as np

from worldprobe.analysis.curves import crossing, estimate, fall_of, onset_of
from worldprobe.contracts.series import NEVER, REACHED

STEPS = np.unique(np.geomspace(1, 1000, 20).round())
#: Pairs of concepts, versions and items of each pair, as the built-in materials have.
N_CLUSTERS, N_VERSIONS, N_ITEMS = 60, 5, 12
#: Standard deviations of what pairs, versions and seeds add to a curve that is fully learned.
OF_CLUSTERS, OF_VERSIONS, OF_SEEDS = 0.10, 0.015, 0.02


def true_curve(onset: float | None, forgets: float = 0.0) -> np.ndarray:
    """Accuracy at each step: from chance to 0.78, its middle at a step, and down again after the 300th."""
    if onset is None:
        return np.full(len(STEPS), 0.5)
    risen = 1 / (1 + np.exp(-2.5 * np.log(STEPS / onset)))
    return 0.5 + 0.28 * risen - forgets * np.clip(np.log(STEPS / 300) / np.log(1000 / 300), 0, 1)


def draw(rng: np.random.Generator, curve: np.ndarray, n_seeds: int = 1) -> np.ndarray:
    """Scores of cells, shape (seeds, steps, clusters x versions): answers of neighbouring checkpoints are alike."""
    learned = np.abs(curve - 0.5) / 0.28
    of_clusters = rng.normal(0, OF_CLUSTERS, N_CLUSTERS)[:, None]
    of_versions = rng.normal(0, OF_VERSIONS, N_VERSIONS)[None, :]
    cells = []
    for _ in range(n_seeds):
        of_seed = rng.normal(0, OF_SEEDS) if n_seeds > 1 else 0.0
        slow = rng.normal(0, 1, (N_CLUSTERS, N_VERSIONS))
        for share in learned:
            slow = 0.8 * slow + 0.6 * rng.normal(0, 1, slow.shape)
            of_pairs = share * (of_clusters + of_versions + of_seed)
            cells.append(of_pairs + slow * np.sqrt(0.25 / N_ITEMS))
    noise = np.array(cells).reshape(n_seeds, len(STEPS), -1)
    return noise + curve[None, :, None]


def simulate(runs: int, onset: float | None, forgets: float = 0.0, n_seeds: int = 1, seed: int = 0) -> dict[str, float]:
    """Shares of the runs in which what is said is true."""
    rng = np.random.default_rng([seed, runs])
    cluster = np.repeat(np.arange(N_CLUSTERS), N_VERSIONS)
    version = np.tile(np.arange(N_VERSIONS), N_CLUSTERS)
    curve = true_curve(onset, forgets)
    counts: Counter[str] = Counter()
    for run in range(runs):
        found = estimate(STEPS, draw(rng, curve, n_seeds), cluster, version, seed=run)
        half = found.half * found.factor
        counts["band"] += bool((np.abs(found.found.mean - curve) <= half).all())
        counts["interval"] += float((np.abs(found.found.mean - curve) <= found.half).mean())
        said = onset_of(found)
        true = crossing(STEPS, curve, float(said["level"]))
        low = -np.inf if np.isnan(said["ci_low"]) and said["status"] != NEVER else said["ci_low"]
        high = np.inf if np.isnan(said["ci_high"]) else said["ci_high"]
        counts["onset"] += bool(np.isfinite(true) and low <= true <= high)
        counts["reached"] += said["status"] == REACHED
        counts["never"] += said["status"] == NEVER
        counts["forgets"] += fall_of(found)["fall"] > 0
    return {key: counts[key] / runs for key in ("band", "interval", "onset", "reached", "never", "forgets")}


CASES: dict[str, dict[str, float | int | None]] = {
    "onset at 20": {"onset": 20.0},
    "onset at 100": {"onset": 100.0},
    "onset at 100, five seeds": {"onset": 100.0, "n_seeds": 5},
    "onset at 20, falls by 0.1": {"onset": 20.0, "forgets": 0.1},
    "no onset": {"onset": None},
}


def main(runs: int) -> None:
    """Print the shares of every case."""
    print(f"{'':28}" + "".join(f"{name:>10}" for name in ("band", "interval", "onset", "reached", "never", "forgets")))
    for name, case in CASES.items():
        found = simulate(runs, **case)  # type: ignore[arg-type]
        print(f"{name:28}" + "".join(f"{value:10.3f}" for value in found.values()), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
