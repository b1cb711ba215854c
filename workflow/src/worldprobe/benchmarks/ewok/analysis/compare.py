"""Pairs of models on the same items, and what may be said of each in a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from worldprobe.analysis.clusters import Estimates, crossed_means
from worldprobe.analysis.comparisons import compare_models as compare_pairs
from worldprobe.analysis.comparisons import corrected
from worldprobe.analysis.significance import p_in_words
from worldprobe.analysis.summaries import Group
from worldprobe.benchmarks.ewok.analysis.clusters import DEFAULT_CLUSTER, cluster_codes, drawn_in_words
from worldprobe.benchmarks.ewok.analysis.panel import build_panel
from worldprobe.benchmarks.ewok.analysis.summarize import metric_values
from worldprobe.contracts.results import ALL, OVERALL
from worldprobe.errors import UserError
from worldprobe.log import LOGGER

#: quantile of the normal distribution: half an interval and this many standard errors are found in 80% of samples.
POWER = 0.84
#: versions, up to which a sentence says that more would help: their t quantile is 2.8 at 5.
FEW_VERSIONS = 5
#: status of a comparison that is not ok -> what is said of it.
NOT_TESTED = {
    "one_version": "this is about these fillings only, as there is one version; what others would give is not known",
    "one_cluster": "there is nothing to test this with, as all items are of one {cluster}",
    "no_spread": "there is nothing to test this with, as the difference is the same everywhere",
}


def compare_models(
    judgements: pd.DataFrame,
    eval_type: str = "logprobs",
    cluster: str = DEFAULT_CLUSTER,
    has_own_fillings: bool = False,
) -> pd.DataFrame:
    """Compare every pair of models on the items that both judged.

    Both models see the same items, so the test is on differences: an item's difference is that of its two means over targets.
    Neither the versions of one template nor the templates of one pair of concepts are independent evidence, as they share
    sentences, nor are the templates of one version, as they share fillings. So pairs of concepts and versions are crossed random
    factors (``analysis.clusters``).

    Args:
        judgements: contracts.Judgements of two models or more.
        eval_type: the paradigm to compare in.
        cluster: what is a sample of more: ``concept_pair`` or ``template``.
        has_own_fillings: whether each item was filled on its own, so that versions share nothing.

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
    items, version = panel.items, panel.items["version"].to_numpy()
    codes, template = cluster_codes(items, cluster), cluster_codes(items, "template")
    accuracy, models = metric_values(panel)[0].astype(float), panel.series["model"].tolist()
    drawn = drawn_in_words(cluster, has_own_fillings)
    places = {(OVERALL, ALL): np.arange(len(items))}
    places |= {("domain", str(name)): np.asarray(found) for name, found in items.groupby("domain", sort=True).indices.items()}

    def estimate(values: np.ndarray, group: Group, tested: bool) -> Estimates:
        of_version, stratum = (None, version[group.units]) if has_own_fillings else (version[group.units], None)
        return crossed_means(values, group.cluster, of_version, stratum, tested=tested)

    groups = [Group(*name, units, codes[units], drawn) for name, units in places.items()]
    table = compare_pairs(models, accuracy, groups, estimate)
    if table.empty:
        problem = f"no two of {', '.join(models)} have an accuracy on the same item."
        raise UserError("judgements", problem, "Compare models on the same items.")
    for a, b in pairs_without_items(table, models):
        LOGGER.warning("%s and %s are not compared: no item has an accuracy of both", a, b)
    known = {model: ~np.isnan(row) for model, row in zip(models, accuracy, strict=True)}
    both = [
        units[known[row.model_a][units] & known[row.model_b][units]]
        for row in table.itertuples()
        for units in [places[str(row.grouping), str(row.group)]]
    ]
    table["n_templates"] = [len(np.unique(template[units])) for units in both]
    table["n_versions"] = [len(np.unique(version[units])) for units in both]
    table["n_equal"] = table["n"] - table["n_a_better"] - table["n_b_better"]
    table = corrected(table.assign(eval_type=eval_type, condition_a=ALL, condition_b=ALL), ["grouping"])
    table["sentence"] = [_sentence(row, cluster, has_own_fillings) for row in table.to_dict("records")]
    return table.drop(columns="std_error")


def pairs_without_items(comparisons: pd.DataFrame, models: Iterable[str]) -> list[list[str]]:
    """The pairs of models that were not compared, because no item has an accuracy of both.

    Args:
        comparisons: as ``compare_models`` gives them.
        models: those with judgements of the compared eval type.
    """
    compared = {frozenset(pair) for pair in zip(comparisons["model_a"], comparisons["model_b"], strict=True)}
    return [[a, b] for a, b in combinations(sorted(models), 2) if frozenset((a, b)) not in compared]


def estimate_columns(found: Estimates, place: int) -> dict[str, Any]:
    """A difference, its interval, p and status as columns (and std_error).

    Args:
        found: of several series.
        place: which of them.
    """
    ends = {name: float(np.clip(getattr(found, name)[place], -1, 1)) for name in ("ci_low", "ci_high")}
    return {
        "difference": float(found.mean[place]),
        **ends,
        "p": float(found.p[place]),
        "status": found.status[place],
        "std_error": float(found.std_error[place]),
    }


def _sentence(row: Mapping[Any, Any], cluster: str, has_own_fillings: bool) -> str:
    """What may be said about one comparison."""
    where = "" if row["grouping"] == OVERALL else f" in {row['group']}"
    means = f"{row['model_a']} has {row['mean_a']:.1%} and {row['model_b']} {row['mean_b']:.1%} of the targets right{where}"
    pairs = f"{_number(row['n_clusters'], 'pair')} of concepts, " if cluster == "concept_pair" else ""
    versions = _number(row["n_versions"], "item per template" if has_own_fillings else "version")
    basis = f"{pairs}{row['n_templates']} templates, {versions}, {row['n']} items"
    if row["n_a_better"] + row["n_b_better"] == 0:
        return f"{means}: no item tells them apart ({basis})."
    numbers = f"{means} ({numbers_in_words(row)}; {basis})"
    if row["status"] != "ok":
        return f"{numbers}: {not_tested(row, cluster)}."
    if row["p"] >= 0.05:
        visible = 100 * ((row["ci_high"] - row["ci_low"]) / 2 + POWER * row["std_error"])
        unseen = f"a difference below about {visible:.1f} points would often stay unseen"
        more = "" if has_own_fillings or row["n_versions"] > FEW_VERSIONS else "; more versions would show smaller ones"
        return f"{numbers}: these items cannot tell the two apart; {unseen}{more}."
    better = row["model_a"] if row["difference"] > 0 else row["model_b"]
    drawn = drawn_in_words(cluster, has_own_fillings)
    if row["p_holm"] < 0.05:
        return f"{numbers}: {better} is better, on other {drawn} of this kind too."
    return (
        f"{numbers}: {better} is better, on other {drawn} of this kind too, if this were the only comparison. "
        f"After correction for their number it may be chance ({p_in_words(row['p_holm'])})."
    )


def numbers_in_words(row: Mapping[Any, Any]) -> str:
    """A difference in points, with its interval and p where there are any."""
    interval = "" if np.isnan(row["ci_low"]) else f", 95% interval {100 * row['ci_low']:+.1f} to {100 * row['ci_high']:+.1f}"
    return f"{100 * row['difference']:+.1f} points{interval}" + ("" if np.isnan(row["p"]) else f", {p_in_words(row['p'])}")


def not_tested(row: Mapping[Any, Any], cluster: str) -> str:
    """Why a difference has no p."""
    return NOT_TESTED[row["status"]].format(cluster={"concept_pair": "pair of concepts"}.get(cluster, cluster))


def _number(count: int, thing: str) -> str:
    """A number of things.

    >>> _number(1, "version"), _number(3, "item per template")
    ('1 version', '3 items per template')
    """
    first, *rest = thing.split(" ", 1)
    return " ".join([f"{count} {first}{'' if count == 1 else 's'}", *rest])
