"""Conditions of a study compared, model by model (not in the papers).

Conditions differ in how a study's items are filled, swapped, filtered or prompted. The
templates of two conditions are the same, so they are pairs. Where both conditions have the same
versions, each version of a template is a pair: whether its fillings are the same in both (other
prompts, say) or drawn for each, the differences of versions vary as they should. Where the versions
are others, a template's value in a condition is the mean over its items there, and the versions of
each condition have a part of their own in the variance. So have those of one condition only, where
the items of the other have fillings of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from worldprobe.analysis.clusters import Estimates, crossed_means, variance_of_mean
from worldprobe.analysis.comparisons import above_or_below, corrected, describe_finding
from worldprobe.analysis.components import VERSIONS_ALIKE
from worldprobe.benchmarks.ewok.analysis.panel import (
    DEFAULT_CLUSTER,
    WORDS,
    build_panel,
    cluster_codes,
    has_own_fillings,
)
from worldprobe.contracts.results import ALL, OVERALL, over_in_words
from worldprobe.errors import TooLittleError, UserError
from worldprobe.log import LOGGER
from worldprobe_lab.contracts import ConditionComparisons

#: What prints comparisons.
PRINTED = "worldprobe_lab/conditions.txt.jinja"
TEMPLATE = ["domain", "meta_template", "template"]
#: What is paired: what one condition has no answer about may be the harder part.
TARGET = [*TEMPLATE, "target"]
CONCEPTS = ["concept_a", "concept_b"]
#: columns of a series' table of templates.
VALUE, COUNT, TIED = "value", "n_items", "n_tied"


class _Values(NamedTuple):
    """A series in one condition.

    Attributes:
        versions: a row per template, target and version: its concepts, the mean over its items, the
            number of these, and how many are tied.
        targets: a row per template and target, with the same over its versions.
    """

    versions: pd.DataFrame
    targets: pd.DataFrame


def _values(versions: pd.DataFrame) -> _Values:
    sums = versions.assign(**{VALUE: versions[VALUE] * versions[COUNT]})
    targets = sums.groupby(TARGET, sort=True).agg(
        **{name: (name, "first") for name in CONCEPTS},
        **{name: (name, "sum") for name in (VALUE, COUNT, TIED)},
    )
    targets[VALUE] /= targets[COUNT]
    return _Values(versions, targets.reset_index())


def compare_conditions(
    judgements: Mapping[str, pd.DataFrame],
    cluster: str = DEFAULT_CLUSTER,
) -> pd.DataFrame:
    """Compare the first condition, the reference, with each other one, for every model and eval
    type that both have.

    Args:
        judgements: name of a condition -> its contracts.Judgements; the first is the reference.
        cluster: the random factor: ``concept_pair`` or ``template``.

    Returns:
        ConditionComparisons: overall and by domain. A mean is over the templates that
        both conditions have.

    Raises:
        UserError: fewer than two conditions, or nothing that two conditions have in common.
    """
    if len(judgements) < 2:
        raise UserError(
            "conditions",
            "there are fewer than two.",
            "Give the judgements of a reference and of another condition.",
        )
    reference, *others = judgements
    shared = {name: not has_own_fillings(rows) for name, rows in judgements.items()}
    values = {name: _template_values(rows) for name, rows in judgements.items()}
    rows: list[dict[str, Any]] = []
    for condition, series in product(others, sorted(values[reference])):
        if series in values[condition]:
            sides = {name: values[name][series] for name in (reference, condition)}
            are_random = tuple(
                shared[name] or _do_versions_differ(side, cluster) for name, side in sides.items()
            )
            comparisons = _compare(sides[reference], sides[condition], cluster, are_random)
            model, eval_type = series
            key = {
                "model_a": model,
                "model_b": model,
                "eval_type": eval_type,
                "condition_a": condition,
                "condition_b": reference,
            }
            rows += [
                key | {"interval_over": over_in_words(WORDS[cluster], any(are_random))} | row
                for row in comparisons
            ]
    compared = {(row["condition_a"], row["model_a"], row["eval_type"]) for row in rows}
    for condition in others:
        for series in sorted(values[reference].keys() | values[condition].keys()):
            if (condition, *series) not in compared:
                LOGGER.warning(
                    "%s, %s: not compared in %s, as no template has an accuracy in both",
                    *series,
                    condition,
                )
    if not rows:
        problem = (
            f'no model has answered the same templates in the same way in "{reference}" and in'
            " another condition."
        )
        raise TooLittleError(
            "conditions",
            problem,
            "Give the judgements of the same models, of items from the same materials.",
        )
    table = corrected(pd.DataFrame(rows), ["grouping"])
    for side in "ab":
        columns = {
            name: table[f"{name}_{side}"] for name in ("mean", "ci_low", "ci_high", "n_near_ties")
        }
        columns |= {"n": table[f"n_items_{side}"], "n_clusters": table["n_clusters"]}
        table[f"place_{side}"] = above_or_below(
            pd.DataFrame(columns).assign(n_ties=0), n_intervals=1
        )
    table["finding"] = [
        describe_finding(row, "the condition helps", "the condition hurts")
        for row in table.to_dict("records")
    ]
    return table[[name for name in ConditionComparisons.columns if name in table]]


def _template_values(judgements: pd.DataFrame) -> dict[tuple[str, str], _Values]:
    """Series (model, eval_type) -> its targets' values."""
    panel = build_panel(judgements)
    is_tied = panel.is_tie | panel.is_near_tie
    rows = panel.items.loc[panel.items.index.repeat(2)].assign(
        target=np.tile([1, 2], len(panel.items))
    )
    tables = {}
    for number, (model, eval_type) in enumerate(
        zip(panel.series["model"], panel.series["eval_type"], strict=True)
    ):
        columns = {VALUE: panel.accuracy[number].astype(float), TIED: is_tied[number]}
        judged = rows.assign(**{name: values.ravel() for name, values in columns.items()})
        judged = judged.dropna(subset=[VALUE])
        versions = judged.groupby([*TARGET, "version"], sort=True).agg(
            **{name: (name, "first") for name in CONCEPTS},
            **{VALUE: (VALUE, "mean"), COUNT: (VALUE, "size"), TIED: (TIED, "sum")},
        )
        tables[str(model), str(eval_type)] = _values(versions.reset_index())
    return tables


def _do_versions_differ(values: _Values, cluster: str) -> bool:
    """Whether versions of items with fillings of their own differ all the same."""
    cells = values.versions
    codes, version = cluster_codes(cells, cluster), cells["version"].to_numpy()
    estimates = crossed_means(cells[VALUE].to_numpy(float)[None], codes, version, tested=False)
    return bool(estimates.p_versions[0] < VERSIONS_ALIKE)


def _compare(
    reference: _Values, other: _Values, cluster: str, are_random: Sequence[bool]
) -> list[dict[str, Any]]:
    """One series in two conditions, overall and by domain; empty where no template is in both.

    Args:
        reference: the series in the first condition.
        other: in another one.
        cluster: the random factor.
        are_random: whether the versions of the reference, and of the other condition, share their
            fillings.
    """
    answered = [side.targets for side in (reference, other)]
    if set(reference.versions["version"]) == set(other.versions["version"]):
        answered, cell = [side.versions for side in (reference, other)], [*TARGET, "version"]
        common = answered[0][cell].merge(answered[1][cell])
        reference, other = (_values(side.merge(common)) for side in answered)
    both = reference.targets.merge(
        other.targets.drop(columns=CONCEPTS), on=TARGET, suffixes=("_reference", "_condition")
    )
    groups = [(OVERALL, ALL, both)] + [
        ("domain", str(domain), rows) for domain, rows in both.groupby("domain")
    ]
    comparisons = []
    for grouping, group, rows in groups if len(both) else []:
        by_version = [side.versions.merge(rows[TARGET], on=TARGET) for side in (reference, other)]
        means, tested = _test(rows, by_version, cluster, are_random)
        estimates = crossed_means(
            np.stack(_sides(rows)), cluster_codes(rows, cluster), tested=False, bounds=(0.0, 1.0)
        )
        sides = {
            f"{end}_{side}": getattr(estimates, end)[at]
            for at, side in enumerate("ba")
            for end in ("ci_low", "ci_high")
        }
        facts = ("mean", "ci_low", "ci_high", "p", "test", "detectable", "enough_versions")
        estimate = {name: getattr(tested, name)[0] for name in (*facts, "status")}
        comparisons.append(
            {
                "grouping": grouping,
                "group": group,
                "mean_a": means[1],
                "mean_b": means[0],
                **_spread(by_version[1], "a"),
                **_spread(by_version[0], "b"),
                **estimate,
                "difference": estimate["mean"],
                "ci_low": np.clip(estimate["ci_low"], -1, 1),
                "ci_high": np.clip(estimate["ci_high"], -1, 1),
                "n": len(rows.drop_duplicates(TEMPLATE)),
                "n_targets": len(by_version[0]) if "version" in answered[0] else len(rows),
                "n_missing_a": _lacking(answered[0], answered[1], group),
                "n_missing_b": _lacking(answered[1], answered[0], group),
                "n_clusters": int(tested.n_clusters[0]),
                "n_items_a": int(rows.groupby(TEMPLATE)[f"{COUNT}_condition"].max().sum()),
                "n_items_b": int(rows.groupby(TEMPLATE)[f"{COUNT}_reference"].max().sum()),
                "n_near_ties_a": int(rows[f"{TIED}_condition"].sum()),
                "n_near_ties_b": int(rows[f"{TIED}_reference"].sum()),
                **sides,
            }
        )
    return comparisons


def _test(
    rows: pd.DataFrame, by_version: list[pd.DataFrame], cluster: str, are_random: Sequence[bool]
) -> tuple[list[float], Estimates]:
    """Mean in the reference and in the condition, and their difference.

    Args:
        rows: targets of both conditions.
        by_version: values of these targets in each version, in the reference and in the
            condition.
        cluster: the random factor.
        are_random: as in ``_compare``.
    """
    versions = [set(side["version"]) for side in by_version]
    if all(are_random) and versions[0] == versions[1]:
        cells = by_version[0].merge(
            by_version[1], on=[*TARGET, "version"], suffixes=("_reference", "_condition")
        )
        if set(cells["version"]) == versions[0] and len(cells.drop_duplicates(TARGET)) == len(rows):
            cells = cells.merge(rows[[*TARGET, *CONCEPTS]], on=TARGET)
            values, version = _sides(cells), cells["version"].to_numpy()
            estimates = crossed_means(
                np.stack([*values, values[1] - values[0]]), cluster_codes(cells, cluster), version
            )
            return list(map(float, estimates.mean[:2])), _only(estimates, 2)
    values = _sides(rows)
    parts = []
    for side, is_random in zip(by_version, are_random, strict=True):
        means = side.groupby("version")[VALUE].mean().to_numpy()
        if is_random:
            share = np.full(len(means), 1 / len(means))
            parts.append(variance_of_mean(means[None] - means.mean(), share, np.arange(len(means))))
    is_alone = any(
        is_random and len(side) == 1 for side, is_random in zip(versions, are_random, strict=True)
    )
    estimates = crossed_means(
        (values[1] - values[0])[None],
        cluster_codes(rows, cluster),
        others=[] if is_alone else parts,
    )
    if is_alone and estimates.status[0] == "ok":
        unknown = np.full(1, np.nan)
        estimates = replace(
            estimates, p=unknown, detectable=unknown, status=np.array(["one_version"], object)
        )
    return [float(side.mean()) for side in values], estimates


def _lacking(has: pd.DataFrame, side: pd.DataFrame, group: str) -> int:
    """How many of the targets that one side answered the other one lacks: in the same version,
    where both have the same versions.
    """
    keys = [name for name in (*TARGET, "version") if name in has]
    items = has if group == ALL else has[has["domain"] == group]
    return len(items) - len(items[keys].merge(side[keys]))


def _sides(rows: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    return rows[f"{VALUE}_reference"].to_numpy(float), rows[f"{VALUE}_condition"].to_numpy(float)


def _only(estimates: Estimates, position: int) -> Estimates:
    """One series of several."""
    return Estimates(**{name: values[[position]] for name, values in vars(estimates).items()})


def _spread(versions: pd.DataFrame, side: str) -> dict[str, float | int]:
    """How far the means of a condition's versions are apart."""
    means = versions.groupby("version")[VALUE].mean()
    return {
        f"low_{side}": float(means.min()),
        f"high_{side}": float(means.max()),
        f"n_versions_{side}": len(means),
    }
