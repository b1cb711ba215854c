"""Do two models find the same domains hard, on two sets of items? Accuracy and pairing of domains,
and correlations of these profiles. Prints numbers of docs/appendix/real_model.md.

    python docs/simulations/profiles.py --items ours.parquet ... --items official.parquet ...

Two models answer the same sentences, which are hard for both by chance. So one model's profile of
half of the pairs of concepts is correlated with the other model's of the other half, over random
halves; the correlation of true profiles is this one over the root of both models' own (Spearman
1904).
"""

import argparse
import math
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from worldprobe.analysis.reliability import N_SPLITS, RELIABLE, correlations, halve, step_up
from worldprobe.benchmarks.ewok.analysis.panel import COLUMNS, Panel, build_panel, cluster_codes
from worldprobe.benchmarks.ewok.analysis.summarize import compared_values, item_means
from worldprobe.benchmarks.ewok.contracts import COMPARED, Judgements
from worldprobe.contracts import read_tables


def interval(r: float, n: int) -> str:
    """Pearson's r of n domains with its 95% interval (Fisher's z)."""
    if not abs(r) < 1:
        return f"{r:.2f}"
    low, high = (math.tanh(math.atanh(r) + side * 1.96 / math.sqrt(n - 3)) for side in (-1, 1))
    return f"{r:.2f} ({low:.2f} to {high:.2f})"


def domain_means(values: np.ndarray, domain: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Means over the chosen items, shape (models, domains)."""
    member = (domain[:, None] == np.unique(domain)) & chosen[:, None]
    return np.nan_to_num(values) @ member / ((~np.isnan(values)).astype(float) @ member)


def profiles(values: np.ndarray, panel: Panel, keep: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Means of the domains that are kept, shape (models, domains), and those of random halves of
    their pairs of concepts, shape (2, splits, models, domains).
    """
    is_kept = panel.items["domain"].isin(keep).to_numpy()
    values, items = values[:, is_kept], panel.items[is_kept].reset_index(drop=True)
    domain = pd.factorize(items["domain"], sort=True)[0]
    pair = cluster_codes(items, "concept_pair")
    cells, unit = np.unique(np.stack([domain, pair]), axis=1, return_inverse=True)
    drawn = halve(cells[0], N_SPLITS, np.random.default_rng([0, N_SPLITS]))[:, unit.reshape(-1)]
    split = [[domain_means(values, domain, half) for half in side] for side in (drawn, ~drawn)]
    return domain_means(values, domain, np.ones(len(domain), bool)), np.stack(split)


def print_agreement(
    name: str, models: list[str], whole: np.ndarray, split: np.ndarray
) -> np.ndarray:
    """Agreement of models on the same items; returns the reliability of each one's profile."""
    n = split.shape[-1]
    own = np.array([np.nanmean(correlations(*split[:, :, model])) for model in range(len(models))])
    reliability = np.array([step_up(r) for r in own])
    for model, value in zip(models, reliability, strict=True):
        print(f"{name}, {model}: reliability of {n} domains {value:.2f}")
    for a, b in combinations(range(len(models)), 2):
        across = np.nanmean([correlations(split[i, :, a], split[1 - i, :, b]) for i in (0, 1)])
        same = float(np.corrcoef(whole[[a, b]])[0, 1])
        print(f"{name}, {models[a]} and {models[b]}: same items {interval(same, n)}")
        print(f"  other pairs of concepts: {interval(step_up(float(across)), n)}")
        if min(reliability[[a, b]]) >= RELIABLE:
            print(f"  true profiles: {across / math.sqrt(own[a] * own[b]):.2f}")
    return reliability


def main() -> None:
    """Print all numbers."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--items", action="append", nargs="+", type=Path, required=True)
    tables = [read_tables(paths, Judgements, COLUMNS) for paths in parser.parse_args().items]
    panels = [build_panel(rows) for rows in tables]
    keep = sorted(set.intersection(*(set(panel.items["domain"]) for panel in panels)))
    for number, rows in enumerate(tables, 1):
        found = item_means(rows).query("condition == 'all' and grouping == 'domain'")
        for row in found[found["metric"].isin(COMPARED)].itertuples():
            ends = f"({row.ci_low:.3f} to {row.ci_high:.3f})"
            print(f"items {number}, {row.metric}, {row.group}, {row.model}: {row.mean:.3f} {ends}")
    for metric in COMPARED:
        means, reliabilities = [], []
        for number, panel in enumerate(panels, 1):
            values = compared_values(panel, metric)
            models = panel.series["model"].tolist()
            whole, split = profiles(values, panel, keep)
            reliabilities += [print_agreement(f"{metric}, items {number}", models, whole, split)]
            means += [whole]
        for a, b in combinations(range(len(panels)), 2):
            for i, first in enumerate(panels[a].series["model"]):
                for j, second in enumerate(panels[b].series["model"]):
                    r = float(np.corrcoef(means[a][i], means[b][j])[0, 1])
                    both = reliabilities[a][i], reliabilities[b][j]
                    true = ""
                    if min(both) >= RELIABLE:
                        true = f", true {r / math.sqrt(both[0] * both[1]):.2f}"
                    names = f"items {a + 1} of {first}, items {b + 1} of {second}"
                    print(f"{metric}, {names}: {interval(r, len(keep))}{true}")


if __name__ == "__main__":
    main()
