"""Everything that is averaged over the tuples of a set: the paper's groupings, and what the paper
lacks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from worldprobe.analysis.clusters import Estimates
from worldprobe.analysis.comparisons import compare_pairs, corrected, place, with_findings
from worldprobe.analysis.summaries import Group
from worldprobe.benchmarks.worldsense.analysis.answers import AnswerSeries
from worldprobe.benchmarks.worldsense.analysis.consistency import measure_consistency
from worldprobe.benchmarks.worldsense.analysis.intervals import OVER, spread_of_means
from worldprobe.benchmarks.worldsense.analysis.questions import Questions
from worldprobe.benchmarks.worldsense.analysis.statistics import (
    Z,
    average,
    score_metrics,
    score_tuples,
)
from worldprobe.benchmarks.worldsense.contracts import COUNTING, GROUPINGS, Comparisons
from worldprobe.contracts import typed
from worldprobe.contracts.results import ALL, JOINT, OVERALL

_KEY = ["condition", "eval_type", "model", "metric"]


def tuple_means(
    name: str, questions: Questions, series: Sequence[AnswerSeries], seed: int = 0
) -> pd.DataFrame:
    """Rows of ``contracts.Summaries`` of one set.

    Args:
        name: of the set.
        questions: its trials.
        series: the answers to them.
        seed: of the exchanges of answers that say what accuracy explains of consistency.
    """
    labels, scores = [], []
    metrics = {(one.prompting, one.model): score_metrics(questions, one.answers) for one in series}
    rules = {prompting: own for (prompting, model), own in metrics.items() if model == COUNTING}
    for one in series:
        own = metrics[one.prompting, one.model]
        if rules and one.model != COUNTING:  # what a rule answers does not depend on the prompting
            fullest = max(rules.values(), key=lambda rule: np.isfinite(rule["accuracy"]).sum())
            rule = rules.get(one.prompting, fullest)
            own |= {"above_counting": own["accuracy"] - rule["accuracy"]}
        for metric, score in own.items():
            labels.append((name, one.prompting, one.model, metric))
            scores.append(score)
    named, values = pd.DataFrame(labels, columns=_KEY), np.array(scores)
    blocks = [
        _means(questions.tuples, grouping, by, values, named)
        for grouping, by in GROUPINGS.items()
        if set(by) <= set(questions.tuples.columns)
    ]
    blocks += [measure_consistency(name, questions, one, seed) for one in series]
    table = pd.concat(blocks, ignore_index=True)
    return table.sort_values([*_KEY, "grouping", "group"], kind="stable").reset_index(drop=True)


def _means(
    tuples: pd.DataFrame, grouping: str, by: Sequence[str], values: np.ndarray, named: pd.DataFrame
) -> pd.DataFrame:
    """The rows of one grouping."""
    means = average(tuples, values, by)
    are_signed = named["metric"].str.startswith(("bias", "above"))
    spread = spread_of_means(tuples, values, by, lowest=np.where(are_signed, -1.0, 0.0))
    group = [JOINT.join(map(str, row)) or ALL for row in means.groups.to_numpy(object)]
    columns = {
        "mean": means.mean,
        "sem": means.sem,
        "conf95": Z * means.sem,
        "n": means.count.astype(int),
        "n_clusters": spread.n_clusters,
        "std_error": spread.std_error,
        "ci_low": spread.ci_low,
        "ci_high": spread.ci_high,
        "status": spread.status,
    }
    rows = named.iloc[np.repeat(np.arange(len(named)), len(group))].reset_index(drop=True)
    rows = rows.assign(
        grouping=grouping, group=np.tile(np.array(group, object), len(named)), interval_over=OVER
    )
    rows = rows.assign(**{column: numbers.ravel() for column, numbers in columns.items()})
    return rows[rows["n"] > 0]


def compare_on_tuples(
    name: str, questions: Questions, series: Sequence[AnswerSeries]
) -> pd.DataFrame:
    """Rows of ``contracts.Comparisons`` of one set: pairs of models with the same prompting, on the
    tuples that both answered.

    The difference is a mean over tuples like any other; its interval and its p are for other skins
    and abstract problems.
    """
    tuples = questions.tuples
    places = {(OVERALL, ALL): np.arange(len(tuples))}
    places |= {
        ("problem", str(key)): np.asarray(found)
        for key, found in tuples.groupby("problem", observed=True).indices.items()
    }
    groups = [
        Group(*key, units, tuples["skin"].cat.codes.to_numpy()[units], OVER)
        for key, units in places.items()
    ]

    def estimate(values: np.ndarray, group: Group, tested: bool) -> Estimates:
        found = spread_of_means(tuples.iloc[group.units], values, (), tested)
        return Estimates(**{field: array[:, 0] for field, array in vars(found).items()})

    rules = {one.model for one in series if one.is_rule}
    tables = [typed([], Comparisons)]
    for prompting in sorted({one.prompting for one in series}):
        scores = {
            one.model: score_tuples(questions, one.answers)["accuracy"]
            for one in series
            if one.prompting == prompting
        }
        models = sorted(scores)
        if len(models) > 1:
            found = compare_pairs(
                models, np.array([scores[model] for model in models]), groups, estimate
            )
            tables.append(found.assign(eval_type=prompting, condition_a=name, condition_b=name))
    table = corrected(
        pd.concat(tables[1:] or tables, ignore_index=True),
        ["eval_type", "grouping", "group"],
        rules,
    )
    for side in "ab" if len(table) else "":
        own = {end: table[f"{end}_{side}"] for end in ("mean", "ci_low", "ci_high", "std_error")}
        table[f"place_{side}"] = place(
            pd.DataFrame(own).assign(n_clusters=table["n_clusters"]), n_intervals=1
        )
    return with_findings(table)[list(Comparisons.columns)]
