"""Accuracy and pairing of the same judgements: distance from chance, reliability of domains' means,
and what a comparison finds, about these fillings. Prints numbers of docs/appendix/real_model.md.

    python docs/simulations/pairing.py judgements.parquet ...
"""

import sys
from itertools import combinations
from pathlib import Path

from worldprobe.analysis.clusters import crossed_means
from worldprobe.benchmarks.ewok.analysis.panel import COLUMNS, build_panel, cluster_codes
from worldprobe.benchmarks.ewok.analysis.summarize import compared_values, item_means
from worldprobe.benchmarks.ewok.contracts import COMPARED, Judgements
from worldprobe.benchmarks.ewok.vocabulary import RELIABILITY
from worldprobe.contracts import read_tables


def main(paths: list[Path]) -> None:
    """Print all numbers of some judgements of the same items."""
    rows = read_tables(paths, Judgements, COLUMNS)
    summaries = item_means(rows)
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
        is_reliability = (summaries["metric"] == metric) & (summaries["grouping"] == RELIABILITY)
        for row in summaries[is_reliability].itertuples():
            print(f"split halves, {row.model}: {row.mean:.2f}")
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
