"""Do two trainings seem to learn groups in a similar order only because they are scored on the
same items? Simulated studies of groups that are truly alike in everything.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from worldprobe_lab.contracts import ONE_SEED, REACHED
from worldprobe_lab.curves import agree_on_order, interval_of_rank

STEPS = np.unique(np.geomspace(1, 10_000, 15).round())
#: Groups (domains), their clusters (pairs of concepts), and items of each.
N_GROUPS, N_CLUSTERS, N_ITEMS = 13, 28, 3
#: Standard deviations of the log odds: of clusters and of items, the same for both trainings.
OF_CLUSTERS, OF_ITEMS = 1.0, 0.7
#: That onsets exceed for good, about what a group's band comes to.
LEVEL = 0.62


def draw(rng: np.random.Generator, ease: np.ndarray) -> np.ndarray:
    """Means of clusters, shape (steps, groups, clusters), of one training.

    Args:
        rng: random numbers.
        ease: what clusters and items add, shape (groups, clusters, items).
    """
    learned = np.clip((np.log10(STEPS) - 1) / 3, 0, 1)[:, None, None, None]
    own = rng.logistic(size=(*ease.shape, 2))  # of an answer in one training, at all checkpoints
    slow = 0.8 * own + 0.6 * rng.logistic(size=(len(STEPS), *own.shape))
    right = slow < (learned * (1 + ease))[..., None]
    return right.mean(axis=(3, 4))


def simulate(runs: int, is_shared: bool = True) -> pd.Series:
    """Means over studies of the rank correlation on different halves of the items and on all of
    them, and the share of studies whose interval claims a similar order, from halves (``claimed``)
    and from all (``claimed_of_same``).

    Args:
        runs: number of simulated studies of two trainings.
        is_shared: whether both are scored on the same items.
    """
    rows = []
    for run in range(runs):
        rng = np.random.default_rng([run, 5])
        cells, ease = [], np.zeros(0)
        for model in ("a", "b"):
            if not len(ease) or not is_shared:
                ease = rng.normal(0, OF_CLUSTERS, (N_GROUPS, N_CLUSTERS, 1))
                ease = ease + rng.normal(0, OF_ITEMS, (N_GROUPS, N_CLUSTERS, N_ITEMS))
            drawn = draw(rng, ease)
            axes = [STEPS, *(np.arange(n).astype(str) for n in drawn.shape[1:])]
            places = pd.MultiIndex.from_product(axes, names=["step", "group", "cluster"])
            named = {"series": model, "model": model, "seed": ONE_SEED, "eval_type": "logprobs"}
            named |= {"grouping": "domain", "condition": "", "stratum": "", "n": N_ITEMS}
            table = pd.DataFrame({"mean": drawn.ravel()}, index=places).reset_index()
            cells.append(table.assign(**named))
        every = pd.concat(cells)
        key = ["series", "model", "seed", "eval_type", "grouping", "group"]
        onsets = every[key].drop_duplicates().assign(level=LEVEL, status=REACHED)
        found = agree_on_order(onsets, every, run).iloc[0]
        rows.append(
            {
                "correlation": found["correlation"],
                "claimed": float(found["ci_low"] > 0),
                "same_items": found["same_items"],
                "claimed_of_same": float(interval_of_rank(found["same_items"], N_GROUPS)[0] > 0),
            }
        )
    return pd.DataFrame(rows).mean()


if __name__ == "__main__":
    for is_shared in (True, False):
        print("same items" if is_shared else "other items", simulate(100, is_shared), sep="\n")
