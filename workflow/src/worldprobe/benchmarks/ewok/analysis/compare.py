"""Is one model better than another, or were these items kind to it? A paired permutation test, put into a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from worldprobe.benchmarks.ewok.analysis.clusters import DEFAULT_CLUSTER, cluster_codes
from worldprobe.benchmarks.ewok.analysis.panel import Panel, build_panel
from worldprobe.benchmarks.ewok.analysis.summarize import metric_values
from worldprobe.errors import UserError
from worldprobe.log import LOGGER
from worldprobe.stats.permutation import Paired, compare_paired, correct_for_number, p_in_words

#: two-sided 5% test, 80% power: a difference must be this many standard errors to be found.
DETECTABLE = 2.8


def compare_models(
    judgements: pd.DataFrame,
    eval_type: str = "logprobs",
    n_permutations: int = 10_000,
    seed: int = 0,
    cluster: str = DEFAULT_CLUSTER,
) -> pd.DataFrame:
    """Compare every pair of models on the items that both judged.

    Both models see the same items, so the test is on differences: an item's difference is that of its two means over targets.
    Neither the versions of one template nor the templates of one pair of concepts are independent evidence, as they share
    sentences. So whole clusters (pairs of concepts) are flipped for the p value and drawn for the interval. What single
    templates as clusters would give is in the columns ``*_templates``.

    Args:
        judgements: contracts.Judgements of two models or more.
        eval_type: the paradigm to compare in.
        n_permutations: random flips, and bootstrap draws for the interval.
        seed: seed of both.
        cluster: what is flipped and drawn: ``concept_pair`` or ``template``.

    Returns:
        contracts.Comparisons: overall and by domain, p values also corrected for the number of rows (Holm). Two models without a
        common item have no row, which ``pairs_without_items`` lists.

    Raises:
        UserError: fewer than two models, or no two models with a common item.
    """
    rows = judgements[judgements["eval_type"] == eval_type]
    panel = build_panel(rows) if len(rows) else None
    if panel is None or len(panel.series) < 2:
        raise UserError("judgements", f"fewer than two models have {eval_type} judgements.", "Give the tables of two models.")
    accuracy = metric_values(panel)[0].astype(float)
    table = pd.DataFrame(_rows(panel, accuracy, cluster, n_permutations, seed)).assign(eval_type=eval_type)
    table["p_holm"] = table.groupby("grouping")["p"].transform(correct_for_number)
    table["sentence"] = [_sentence(row, cluster) for row in table.to_dict("records")]
    return table.drop(columns="std_error")


def pairs_without_items(comparisons: pd.DataFrame, models: Iterable[str]) -> list[list[str]]:
    """The pairs of models that were not compared, because no item has an accuracy of both.

    Args:
        comparisons: as ``compare_models`` gives them.
        models: those with judgements of the compared eval type.
    """
    compared = {frozenset(pair) for pair in zip(comparisons["model_a"], comparisons["model_b"], strict=True)}
    return [[a, b] for a, b in combinations(sorted(models), 2) if frozenset((a, b)) not in compared]


def _rows(panel: Panel, accuracy: np.ndarray, cluster: str, n_permutations: int, seed: int) -> list[dict[str, Any]]:
    """Every pair of series, overall and by domain; pairs that share their items are tested together."""
    names, domain = panel.series["model"], panel.items["domain"].to_numpy()
    version = panel.items["version"].to_numpy()
    codes, template = cluster_codes(panel.items, cluster), cluster_codes(panel.items, "template")
    buckets: dict[bytes, list[tuple[int, int]]] = {}
    for a, b in combinations(range(len(names)), 2):
        both = ~np.isnan(accuracy[a]) & ~np.isnan(accuracy[b])
        if not both.any():
            LOGGER.warning("%s and %s are not compared: no item has an accuracy of both", names[a], names[b])
            continue
        buckets.setdefault(both.tobytes(), []).append((a, b))
    if not buckets:
        problem = f"no two of {', '.join(names)} have an accuracy on the same item."
        raise UserError("judgements", problem, "Compare models on the same items.")
    rows = []
    for mask, pairs in buckets.items():
        both = np.frombuffer(mask, bool)
        groups = [("overall", "all", both)] + [("domain", d, both & (domain == d)) for d in np.unique(domain[both])]
        for grouping, group, inside in groups:
            first, second = (accuracy[[pair[side] for pair in pairs]][:, inside] for side in (0, 1))
            by_cluster, by_template = (
                compare_paired(first, second, unit[inside], n_permutations, seed, stratum=version[inside])
                for unit in (codes, template)
            )
            for (a, b), tested, finer in zip(pairs, by_cluster, by_template, strict=True):
                where = {"model_a": names[a], "model_b": names[b], "grouping": grouping, "group": group}
                rows.append(where | _columns(tested, finer))
    return rows


def _columns(tested: Paired, by_template: Paired) -> dict[str, Any]:
    """One comparison as columns of contracts.Comparisons (and std_error)."""
    columns = vars(tested) | {
        "n_items": tested.n_values,
        "n_templates": by_template.n_clusters,
        "ci_low_templates": by_template.ci_low,
        "ci_high_templates": by_template.ci_high,
        "p_templates": by_template.p,
    }
    del columns["n_values"]
    return columns


def _sentence(row: Mapping[Any, Any], cluster: str) -> str:
    """What may be said about one comparison."""
    where = "" if row["grouping"] == "overall" else f" in {row['group']}"
    means = f"{row['model_a']} has {row['mean_a']:.1%} and {row['model_b']} {row['mean_b']:.1%} of the targets right{where}"
    points = 100 * row["difference"]
    numbers = f"{points:+.1f} points{interval_in_words(row)}, p = {p_in_words(row['p'])}"
    pairs = f"{row['n_clusters']} pairs of concepts, " if cluster == "concept_pair" else ""
    basis = f"{pairs}{row['n_templates']} templates, {row['n_items']} items"
    if row["n_a_better"] + row["n_b_better"] == 0:
        return f"{means}: no item tells them apart ({basis})."
    if row["p"] >= 0.05:
        visible = 100 * DETECTABLE * row["std_error"]
        return (
            f"{means} ({numbers}; {basis}): these items cannot tell the two apart; "
            f"a difference below about {visible:.1f} points would often stay unseen."
        )
    better = row["model_a"] if points > 0 else row["model_b"]
    doubt = (
        ""
        if row["p_holm"] < 0.05
        else f" After correction for the number of comparisons it may be chance (p = {p_in_words(row['p_holm'])})."
    )
    return f"{means} ({numbers}; {basis}): {better} is better on these items.{doubt}"


def interval_in_words(row: Mapping[Any, Any]) -> str:
    """The interval of a difference in points, with a comma before it; empty where there is none."""
    if np.isnan(row["ci_low"]):
        return ""
    return f", 95% interval {100 * row['ci_low']:+.1f} to {100 * row['ci_high']:+.1f}"
