"""What models know of the same pairs of concepts in several languages, and whether one model gains
more by another than a second does. Prints numbers of docs/appendix/languages.md.

    python docs/simulations/languages.py en=JUDGEMENTS es=... zh=...

A file of judgements of each language has the same models, on the same versions. A pair of concepts
is linked by its domain and the names of its concepts; its mean is over its items. The difference of
differences, of two models in two languages, is over the pairs of concepts that both languages have,
each weighed alike; means are over those that all have.
"""

import argparse
from itertools import combinations
from pathlib import Path

import pandas as pd

from worldprobe.analysis.clusters import crossed_means
from worldprobe.benchmarks.ewok.analysis.panel import CLUSTERS, COLUMNS, build_panel
from worldprobe.benchmarks.ewok.analysis.summarize import compared_values, item_means
from worldprobe.benchmarks.ewok.contracts import COMPARED, Judgements
from worldprobe.contracts import read_tables


def pair_means(rows: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Mean of each model, a column, for each pair of concepts of a domain."""
    panel = build_panel(rows)
    values = pd.DataFrame(compared_values(panel, metric).T, columns=list(panel.series["model"]))
    return values.groupby(
        [panel.items[name].to_numpy() for name in CLUSTERS["concept_pair"]]
    ).mean()


def estimate(values: pd.Series) -> str:
    """Mean over pairs of concepts with 95% interval and p that it is 0."""
    found = crossed_means(values.to_numpy()[None], values.reset_index().index.to_numpy())
    ends = f"({found.ci_low[0]:.3f} to {found.ci_high[0]:.3f})"
    return f"{found.mean[0]:.3f} {ends}, p {found.p[0]:.4f}, {len(values)} pairs"


def main() -> None:
    """Print all numbers."""
    parser = argparse.ArgumentParser()
    parser.add_argument("languages", nargs="+", help="LANGUAGE=FILE[,FILE...]")
    tables = {}
    for given in parser.parse_args().languages:
        language, _, paths = given.partition("=")
        tables[language] = read_tables(list(map(Path, paths.split(","))), Judgements, COLUMNS)
    for language, rows in tables.items():
        found = item_means(rows).query("condition == 'all' and grouping == 'overall'")
        for row in found[found["metric"].isin(COMPARED)].itertuples():
            ends = f"({row.ci_low:.3f} to {row.ci_high:.3f})"
            print(f"{language}, {row.metric}, {row.model}: {row.mean:.3f} {ends}, n {row.n}")
    for metric in COMPARED:
        means = {language: pair_means(rows, metric) for language, rows in tables.items()}
        shared = set.intersection(*(set(table.index) for table in means.values()))
        models = list(next(iter(means.values())).columns)
        for language, table in means.items():
            table = table.loc[sorted(shared)]
            for model in models:
                print(f"{metric}, {language}, {model} - 0.5: {estimate(table[model] - 0.5)}")
            for a, b in combinations(models[::-1], 2):
                print(f"{metric}, {language}, {a} - {b}: {estimate(table[a] - table[b])}")
        for (first, x), (second, y) in combinations(means.items(), 2):
            x, y = x.align(y, join="inner")
            for a, b in combinations(models[::-1], 2):
                gain = (y[a] - y[b]) - (x[a] - x[b])
                print(f"{metric}, ({a} - {b}) in {second} - in {first}: {estimate(gain)}")


if __name__ == "__main__":
    main()
