"""Everything that is averaged over the tuples of a set: the paper's groupings, and what the paper
lacks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from worldprobe.analysis.clusters import Estimates
from worldprobe.analysis.comparisons import (
    compare_pairs,
    corrected,
    place_of_side,
    with_findings,
)
from worldprobe.analysis.summaries import Group, groups_by
from worldprobe.benchmarks.worldsense.analysis.answers import AnswerSeries
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
from worldprobe.contracts.results import ALL, JOINT
from worldprobe.extensions import additions

_KEY = ["condition", "eval_type", "model", "metric"]


def tuple_means(
    name: str, questions: Questions, series: Sequence[AnswerSeries], seed: int = 0
) -> pd.DataFrame:
    """Rows of ``contracts.Summaries`` of one set.

    Args:
        name: of the set.
        questions: its trials.
        series: the answers to them.
        seed: of what extensions draw to measure more.
    """
    labels, scores = [], []
    metrics = {(run.prompting, run.model): score_metrics(questions, run.answers) for run in series}
    rules = {
        prompting: by_metric
        for (prompting, model), by_metric in metrics.items()
        if model == COUNTING
    }
    for run in series:
        by_metric = metrics[run.prompting, run.model]
        if rules and run.model != COUNTING:  # what a rule answers does not depend on the prompting
            fullest = max(rules.values(), key=lambda rule: np.isfinite(rule["accuracy"]).sum())
            rule = rules.get(run.prompting, fullest)
            by_metric |= {"above_counting": by_metric["accuracy"] - rule["accuracy"]}
        for metric, score in by_metric.items():
            labels.append((name, run.prompting, run.model, metric))
            scores.append(score)
    named, values = pd.DataFrame(labels, columns=_KEY), np.array(scores)
    blocks = [
        _means(questions.tuples, grouping, by, values, named)
        for grouping, by in GROUPINGS.items()
        if set(by) <= set(questions.tuples.columns)
    ]
    blocks += [
        measure(name, questions, run, seed)
        for measure in additions("worldsense.measures")
        for run in series
    ]
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
    skin = tuples["skin"].cat.codes.to_numpy()
    groups = groups_by(tuples, ["problem"], skin, OVER)

    def estimate(values: np.ndarray, group: Group, tested: bool) -> Estimates:
        spread = spread_of_means(tuples.iloc[group.units], values, (), tested)
        return Estimates(**{field: array[:, 0] for field, array in vars(spread).items()})

    rules = {run.model for run in series if run.is_rule}
    tables = [typed([], Comparisons)]
    for prompting in sorted({run.prompting for run in series}):
        scores = {
            run.model: score_tuples(questions, run.answers)["accuracy"]
            for run in series
            if run.prompting == prompting
        }
        models = sorted(scores)
        if len(models) > 1:
            compared = compare_pairs(
                models, np.array([scores[model] for model in models]), groups, estimate
            )
            tables.append(compared.assign(eval_type=prompting, condition_a=name, condition_b=name))
    table = corrected(
        pd.concat(tables[1:] or tables, ignore_index=True),
        ["eval_type", "grouping", "group"],
        rules,
    )
    for side in "ab" if len(table) else "":
        table[f"place_{side}"] = place_of_side(table, side)
    return with_findings(table)[list(Comparisons.columns)]
