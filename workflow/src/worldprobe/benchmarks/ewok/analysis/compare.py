"""Pairs of models on the same items, and what may be said of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from worldprobe.analysis.clusters import Estimates, crossed_means
from worldprobe.analysis.comparisons import (
    compare_pairs,
    corrected,
    paired,
    place_of_side,
    refuse_one,
    with_findings,
)
from worldprobe.analysis.components import VERSIONS_ALIKE, VarianceComponent
from worldprobe.analysis.summaries import Group, groups_by
from worldprobe.benchmarks.ewok.analysis.panel import (
    DEFAULT_CLUSTER,
    WORDS,
    build_panel,
    cluster_codes,
)
from worldprobe.benchmarks.ewok.analysis.summarize import compared_values
from worldprobe.benchmarks.ewok.contracts import A_VALUE, COMPARED, Comparisons
from worldprobe.benchmarks.ewok.vocabulary import has_pairing
from worldprobe.contracts.results import ALL
from worldprobe.errors import TooLittleError, UserError
from worldprobe.log import LOGGER
from worldprobe.models.registry import BASELINES

#: what an interval is over besides, where models are means of replicates.
REPLICATES = ", and replicates of each model"


def compare_on_items(
    judgements: pd.DataFrame,
    eval_type: str = "logprobs",
    cluster: str = DEFAULT_CLUSTER,
    replicates: Mapping[str, Sequence[str]] | None = None,
    metric: str = "accuracy",
    subject: str | None = None,
) -> pd.DataFrame:
    """Compare every pair of models on the items that both judged; by LogProbs, single models also
    with each baseline.

    Both models see the same items, so the test is on differences: an item's difference is that of
    its two means over the targets that both have an accuracy of. Neither the versions of one
    template nor the templates of one pair of concepts are independent evidence, as they share
    sentences, nor are the templates of one version, where they share fillings. So pairs of concepts
    and versions are crossed random factors (``analysis.clusters``); versions of items with fillings
    of their own are none, unless they differ all the same.

    Args:
        judgements: contracts.Judgements of two models or more.
        eval_type: the paradigm to compare in.
        cluster: the random factor: ``concept_pair`` or ``template``.
        replicates: name -> the models that are replicates of one another, such as training runs
            from several seeds. Their means are compared, under these names, and replicates are a
            random factor as well.
        metric: one of ``contracts.COMPARED``: the mean of an item's two targets, or its pairing.
        subject: the model whose pairs are compared; None: all are.

    Returns:
        contracts.Comparisons: overall and by domain, p values also corrected for the number of rows
        (Holm). Two models without a common item have no row, which ``pairs_without_items`` lists.

    Raises:
        UserError: fewer than two models, no two models with a common item (TooLittleError), or a
            model has no pairings.
    """
    beside = compared_baselines(eval_type, replicates)
    rows = judgements[judgements["eval_type"].isin([eval_type, *beside])]
    is_asked = (rows["eval_type"] == eval_type).any()
    refuse_one(rows["model"] if is_asked else (), "judgements", f"{eval_type} judgements")
    panel = build_panel(rows)
    items, version = panel.items, panel.items["version"].to_numpy()
    codes, template = cluster_codes(items, cluster), cluster_codes(items, "template")
    models = panel.series["model"].tolist()
    targets, is_tied = panel.accuracy.astype(float), panel.is_tie | panel.is_near_tie
    if metric != "accuracy":  # one decision of an item
        targets = compared_values(panel, metric)[:, :, None]
        is_tied = np.equal(targets, 0.5) | panel.is_near_pairing_tie[:, :, None]
    facts = {name: _stated(rows, name) for name in ("dtype", "taught")}
    runs = _of_replicates(targets, models, replicates) if replicates else None
    if replicates and runs is not None:
        is_tied = _of_replicates(is_tied, models, replicates).mean(axis=1)
        targets, models = runs.mean(axis=1), list(replicates)
        for fact, stated in facts.items():
            facts[fact] = {
                name: ", ".join(sorted({stated[run] for run in group} - {""}))
                for name, group in replicates.items()
            }
    groups = groups_by(items, ["domain"], codes, WORDS[cluster])
    positions = {(group.grouping, group.name): group.units for group in groups}

    def estimate(values: np.ndarray, group: Group, tested: bool) -> Estimates:
        others = (
            _spread_of_replicates(runs[:, :, group.units]) if tested and runs is not None else ()
        )
        ends, of_units = None if tested else (0.0, 1.0), version[group.units]
        return crossed_means(
            *(values, group.cluster, of_units, None, None, others, tested, ends, is_random)
        )

    is_random = None
    if panel.has_own_fillings:
        first, second = paired(targets, list(combinations(range(len(models)), 2)))
        is_random = (
            crossed_means(first - second, codes, version, tested=False).p_versions < VERSIONS_ALIKE
        )

    table = compare_pairs(models, targets, groups, estimate)
    table = table[_are_wanted(table, beside, subject)].reset_index(drop=True)
    if table.empty:
        problem = f"no two of {', '.join(models)} have {A_VALUE[metric]} on the same item."
        raise TooLittleError("judgements", problem, "Compare models on the same items.")
    for a, b in pairs_without_items(table, models) if subject is None else ():
        LOGGER.warning("%s and %s are not compared: no item has %s of both", a, b, A_VALUE[metric])
    series = {model: number for number, model in enumerate(models)}
    is_known, sides = ~np.isnan(targets), [table[f"model_{side}"].map(series) for side in "ab"]
    units = [
        positions[str(name), str(group)]
        for name, group in zip(table["grouping"], table["group"], strict=True)
    ]
    shared = [is_known[a, u] & is_known[b, u] for a, b, u in zip(*sides, units, strict=True)]
    both = [u[mask.any(axis=1)] for u, mask in zip(units, shared, strict=True)]
    table["n_targets"] = [mask.sum() for mask in shared]
    for side, numbers, others in zip("ab", sides, sides[::-1], strict=True):
        table[f"n_missing_{side}"] = [
            int(is_known[i, u].sum() - mask.sum())
            for i, u, mask in zip(others, units, shared, strict=True)
        ]
        table[f"n_tied_{side}"] = [
            round(is_tied[i, u][mask].sum())
            for i, u, mask in zip(numbers, units, shared, strict=True)
        ]
        table[f"place_{side}"] = place_of_side(
            table,
            side,
            n=table["n_targets"] / 2,
            n_ties=0 * table["n_targets"],
            n_near_ties=table[f"n_tied_{side}"],
        )
        for name, stated in facts.items():
            table[f"{name}_{side}"] = table[f"model_{side}"].map(stated)
    table["n_templates"] = [len(np.unique(template[units])) for units in both]
    table["n_versions"] = [len(np.unique(version[units])) for units in both]
    table["n_equal"] = table["n"] - table["n_a_better"] - table["n_b_better"]
    table = corrected(
        table.assign(eval_type=eval_type, condition_a=ALL, condition_b=ALL, metric=metric),
        ["grouping"],
        beside,
    )
    table["interval_over"] += REPLICATES if replicates else ""
    table = with_findings(table)
    return table[[name for name in Comparisons.columns if name in table]]


def _are_wanted(table: pd.DataFrame, beside: Sequence[str], subject: str | None) -> pd.Series:
    """Which pairs are compared: no two baselines, and only those of the subject if there is one."""
    sides = table[["model_a", "model_b"]]
    is_wanted = ~sides.isin(beside).all(axis=1)
    return is_wanted if subject is None else is_wanted & (sides == subject).any(axis=1)


def compared_metrics(judgements: pd.DataFrame, eval_type: str) -> tuple[str, ...]:
    """The metrics that all series have which are compared.

    Args:
        judgements: contracts.Judgements.
        eval_type: the paradigm.
    """
    if not has_pairing(eval_type):
        return COMPARED[:1]
    rows = judgements[judgements["eval_type"].isin([eval_type, *compared_baselines(eval_type)])]
    panel = build_panel(rows) if len(rows) else None
    if panel is not None and not panel.has_pairing.all():
        LOGGER.warning(
            "compared by accuracy only: %s has judgements without pairings, as an earlier"
            " worldprobe made them; judge again",
            panel.series["model"][~panel.has_pairing].iloc[0],
        )
        return COMPARED[:1]
    return COMPARED


def compared_baselines(eval_type: str, replicates: Any = None) -> tuple[str, ...]:
    """The baselines that models are compared with: all by LogProbs, of single models."""
    return BASELINES if eval_type == "logprobs" and not replicates else ()


def _stated(judgements: pd.DataFrame, name: str) -> dict[str, str]:
    """Model -> what its judgements state; empty where they do not."""
    if name not in judgements:
        return dict.fromkeys(judgements["model"].astype(str), "")
    first = judgements.groupby(judgements["model"].astype(str))[name].first()
    return {
        str(model): stated if isinstance(stated, str) else "" for model, stated in first.items()
    }


def _of_replicates(
    accuracy: np.ndarray, models: list[str], replicates: Mapping[str, Sequence[str]]
) -> np.ndarray:
    """Values of replicates, shape (names, replicates, items, targets).

    Raises:
        UserError: a model is unknown or in no group, or groups differ in size.
    """
    grouped = [model for group in replicates.values() for model in group]
    if sorted(grouped) != sorted(models) or len({len(group) for group in replicates.values()}) > 1:
        problem = (
            f"the groups {', '.join(replicates)} are not of one size, or do not have each of"
            f" {', '.join(models)} once."
        )
        raise UserError(
            "--replicates",
            problem,
            "Give as many replicates of each, and the tables of these models only.",
        )
    return accuracy[[[models.index(model) for model in group] for group in replicates.values()]]


def _spread_of_replicates(runs: np.ndarray) -> list[VarianceComponent]:
    """The variance of differences of every two means that is due to the replicates of each.

    Args:
        runs: shape (names, replicates, items, targets); what a run of either side lacks is left
            out.
    """
    runs = runs.reshape(*runs.shape[:2], -1)
    n_runs, parts = runs.shape[1], []
    for pair in combinations(range(len(runs)), 2):
        sides = runs[list(pair)]
        sides = sides[:, :, ~np.isnan(sides).any(axis=(0, 1))]
        means = sides.mean(axis=2) if sides.size else np.full(sides.shape[:2], np.nan)
        parts.append(means.var(axis=1, ddof=1) / n_runs)
    return [VarianceComponent(variance, n_runs - 1) for variance in np.array(parts).T]


def pairs_without_items(comparisons: pd.DataFrame, models: Iterable[str]) -> list[list[str]]:
    """The pairs that were not compared, because no item has an accuracy of both; two baselines
    never are.

    Args:
        comparisons: as ``compare_on_items`` gives them.
        models: those with judgements of the compared eval type.
    """
    compared = {
        frozenset(pair) for pair in zip(comparisons["model_a"], comparisons["model_b"], strict=True)
    }
    compared |= {frozenset(pair) for pair in combinations(BASELINES, 2)}
    return [[a, b] for a, b in combinations(sorted(models), 2) if frozenset((a, b)) not in compared]
