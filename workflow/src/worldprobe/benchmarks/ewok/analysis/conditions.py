"""Does it matter how the items are filled, swapped, filtered or prompted? Conditions of one study, compared by template.

The items of two conditions differ in their texts, so they are not paired item by item. The templates are the same: a template's
value in a condition is the mean over its items there, and the two values of a template are a pair.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any, NamedTuple

import pandas as pd

from worldprobe.benchmarks.ewok.analysis.clusters import DEFAULT_CLUSTER, cluster_codes
from worldprobe.benchmarks.ewok.analysis.compare import interval_in_words
from worldprobe.benchmarks.ewok.analysis.panel import build_panel
from worldprobe.benchmarks.ewok.analysis.summarize import metric_values
from worldprobe.errors import UserError
from worldprobe.log import LOGGER
from worldprobe.stats.permutation import compare_paired, correct_for_number, p_in_words

TEMPLATE = ["domain", "meta_template", "template"]
CONCEPTS = ["concept_a", "concept_b"]
#: columns of a series' table of templates.
VALUE, COUNT = "value", "n_items"


class _Values(NamedTuple):
    """A series in one condition.

    Attributes:
        templates: a row per template: its concepts, the mean over its items and the number of these.
        versions: a row per template and version, with the mean over its items.
    """

    templates: pd.DataFrame
    versions: pd.DataFrame


def compare_conditions(
    judgements: Mapping[str, pd.DataFrame],
    n_permutations: int = 10_000,
    seed: int = 0,
    cluster: str = DEFAULT_CLUSTER,
) -> pd.DataFrame:
    """Compare the first condition, the reference, with each other one, for every model and eval type that both have.

    Args:
        judgements: name of a condition -> its contracts.Judgements; the first is the reference.
        n_permutations: random flips, and bootstrap draws for the interval.
        seed: seed of both.
        cluster: what is flipped and drawn: ``concept_pair`` or ``template``.

    Returns:
        contracts.ConditionComparisons: overall and by domain. A mean is over the templates that both conditions have.

    Raises:
        UserError: fewer than two conditions, or nothing that two conditions have in common.
    """
    if len(judgements) < 2:
        raise UserError("conditions", "there are fewer than two.", "Give the judgements of a reference and of another condition.")
    reference, *others = judgements
    values = {name: _template_values(rows) for name, rows in judgements.items()}
    rows: list[dict[str, Any]] = []
    for condition, series in product(others, sorted(values[reference])):
        if series in values[condition]:
            found = _compare(values[reference][series], values[condition][series], n_permutations, seed, cluster)
            model, eval_type = series
            rows += [
                {"model": model, "eval_type": eval_type, "reference": reference, "condition": condition} | row for row in found
            ]
    compared = {(row["condition"], row["model"], row["eval_type"]) for row in rows}
    for condition in others:
        for series in sorted(values[reference].keys() | values[condition].keys()):
            if (condition, *series) not in compared:
                LOGGER.warning("%s, %s: not compared in %s, as no template has an accuracy in both", *series, condition)
    if not rows:
        problem = f'no model has answered the same templates in the same way in "{reference}" and in another condition.'
        raise UserError("conditions", problem, "Give the judgements of the same models, of items from the same materials.")
    table = pd.DataFrame(rows)
    table["p_holm"] = table.groupby("grouping")["p"].transform(correct_for_number)
    table["sentence"] = [_sentence(row) for row in table.to_dict("records")]
    return table


def _template_values(judgements: pd.DataFrame) -> dict[tuple[str, str], _Values]:
    """Series (model, eval_type) -> its templates' values."""
    panel = build_panel(judgements)
    accuracy = metric_values(panel)[0].astype(float)
    tables = {}
    for number, (model, eval_type) in enumerate(zip(panel.series["model"], panel.series["eval_type"], strict=True)):
        known = panel.items.assign(**{VALUE: accuracy[number]}).dropna(subset=[VALUE])
        by_template = known.groupby(TEMPLATE, sort=True)
        templates = by_template.agg(
            **{name: (name, "first") for name in CONCEPTS},
            **{VALUE: (VALUE, "mean"), COUNT: (VALUE, "size")},
        ).reset_index()
        versions = known.groupby([*TEMPLATE, "version"], sort=True)[VALUE].mean().reset_index()
        tables[str(model), str(eval_type)] = _Values(templates, versions)
    return tables


def _compare(reference: _Values, other: _Values, n_permutations: int, seed: int, cluster: str) -> list[dict[str, Any]]:
    """One series in two conditions, overall and by domain; empty where no template is in both."""
    both = reference.templates.merge(other.templates.drop(columns=CONCEPTS), on=TEMPLATE, suffixes=("_reference", "_condition"))
    groups = [("overall", "all", both)] + [("domain", str(domain), rows) for domain, rows in both.groupby("domain")]
    found = []
    for grouping, group, rows in groups if len(both) else []:
        first, second = (rows[f"{VALUE}_{side}"].to_numpy(float)[None] for side in ("condition", "reference"))
        [tested] = compare_paired(first, second, cluster_codes(rows, cluster), n_permutations, seed)
        found.append(
            {
                "grouping": grouping,
                "group": group,
                "mean_reference": tested.mean_b,
                "mean_condition": tested.mean_a,
                **_spread(reference.versions, rows, "reference"),
                **_spread(other.versions, rows, "condition"),
                "difference": tested.difference,
                "ci_low": tested.ci_low,
                "ci_high": tested.ci_high,
                "p": tested.p,
                "n_templates": tested.n_values,
                "n_clusters": tested.n_clusters,
                "n_items_reference": int(rows[f"{COUNT}_reference"].sum()),
                "n_items_condition": int(rows[f"{COUNT}_condition"].sum()),
            }
        )
    return found


def _spread(versions: pd.DataFrame, templates: pd.DataFrame, side: str) -> dict[str, float | int]:
    """How far the means of a condition's versions are apart, over some templates."""
    means = versions.merge(templates[TEMPLATE], on=TEMPLATE).groupby("version")[VALUE].mean()
    return {f"min_{side}": float(means.min()), f"max_{side}": float(means.max()), f"n_versions_{side}": len(means)}


def _sentence(row: Mapping[Any, Any]) -> str:
    """What may be said about one comparison."""
    where = "" if row["grouping"] == "overall" else f" in {row['group']}"
    means = (
        f"{row['model']} ({row['eval_type']}) has {row['mean_condition']:.1%} of the targets right in {row['condition']} "
        f"and {row['mean_reference']:.1%} in {row['reference']}{where}"
    )
    numbers = f"{100 * row['difference']:+.1f} points{interval_in_words(row)}, p = {p_in_words(row['p'])}"
    basis = f"{row['n_templates']} templates in both"
    if row["p_holm"] < 0.05:
        found = f"the condition {'helps' if row['difference'] > 0 else 'hurts'}"
    elif row["p"] < 0.05:
        found = f"after correction for the number of comparisons it may be chance (p = {p_in_words(row['p_holm'])})"
    else:
        found = "no difference is found"
    return f"{means} ({numbers}; {basis}): {found}."
