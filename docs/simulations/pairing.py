"""Accuracy and pairing of the same judgements: distance from chance, reliability of domains' means,
and what a comparison finds, about these fillings. Prints numbers of docs/appendix/real_model.md.

    python docs/simulations/pairing.py judgements.parquet ...
"""

import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from worldprobe.analysis.clusters import crossed_means
from worldprobe.benchmarks.ewok.analysis.panel import COLUMNS, build_panel, cluster_codes
from worldprobe.benchmarks.ewok.analysis.summarize import compared_values, summarize
from worldprobe.benchmarks.ewok.contracts import COMPARED, Judgements
from worldprobe.contracts import read_tables

SPLITS = 2_000


def split_halves(values: np.ndarray, items: pd.DataFrame) -> float:
    """Correlation of domains' means over two random halves of their pairs of concepts, corrected by
    Spearman-Brown; the median of splits.

    Args:
        values: of one model, shape (items,).
        items: of a panel.
    """
    rng, pair = np.random.default_rng(0), cluster_codes(items, "concept_pair")
    domain = pd.factorize(items["domain"])[0]
    of_pair = domain[np.unique(pair, return_index=True)[1]]
    found = []
    for _ in range(SPLITS):
        is_first = np.zeros(len(of_pair), bool)
        for one in np.unique(domain):
            places = rng.permutation(np.flatnonzero(of_pair == one))
            is_first[places[: (len(places) + rng.integers(2)) // 2]] = True
        halves = [
            [values[(domain == one) & (is_first[pair] == side)].mean() for one in np.unique(domain)]
            for side in (True, False)
        ]
        r = np.corrcoef(halves)[0, 1]
        found.append(2 * r / (1 + r))
    return float(np.median(found))


def main(paths: list[Path]) -> None:
    """Print all numbers of some judgements of the same items."""
    rows = read_tables(paths, Judgements, COLUMNS)
    summaries = summarize(rows)
    overall = summaries.query("condition == 'all' and metric in @COMPARED")
    panel = build_panel(rows)
    for metric in COMPARED:
        values = compared_values(panel, metric)
        print(f"\n{metric}")
        for grouping in ("overall", "concept pairs"):
            for row in overall.query("metric == @metric and grouping == @grouping").itertuples():
                z = (row.mean - 0.5) / row.std_error
                ends = f"({row.ci_low:.3f} to {row.ci_high:.3f})"
                print(
                    f"{grouping}, {row.model}: {row.mean:.3f} {ends}, SE {row.std_error:.4f},"
                    f" z {z:.1f}, n {row.n}"
                )
        for number, model in enumerate(panel.series["model"]):
            print(f"split halves, {model}: {split_halves(values[number], panel.items):.2f}")
        for a, b in combinations(range(len(values)), 2):
            names = panel.series.loc[[a, b], "model"].tolist()
            pair = cluster_codes(panel.items, "concept_pair")
            found = crossed_means((values[a] - values[b])[None], pair)
            print(
                f"{' - '.join(names)}: {found.mean[0]:.3f} ({found.ci_low[0]:.3f} to"
                f" {found.ci_high[0]:.3f}), SE {found.std_error[0]:.4f}, p {found.p[0]:.4f},"
                f" detectable {found.detectable[0]:.3f}"
            )


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]])
