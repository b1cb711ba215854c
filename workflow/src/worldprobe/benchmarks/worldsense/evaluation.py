"""The result of evaluating one model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from worldprobe.benchmark import Evaluated, Evaluation
from worldprobe.benchmarks.worldsense.analysis.reproduction import SOURCE, read_published
from worldprobe.benchmarks.worldsense.contracts import COUNTING, Responses, Summaries
from worldprobe.benchmarks.worldsense.known_rules import baseline_rules
from worldprobe.benchmarks.worldsense.options import Options
from worldprobe.benchmarks.worldsense.selection import (
    PROBLEM_NAMES,
    count_tuples,
    present_problems,
    prompting_name,
    show_tokens,
)
from worldprobe.benchmarks.worldsense.trials.files import read_trials
from worldprobe.contracts import read_provenance, read_table
from worldprobe.contracts.results import OVERALL
from worldprobe.engines import Workload
from worldprobe.extensions import load
from worldprobe.models.registry import refuse_prompting
from worldprobe.report.model_names import Roster, sort_by
from worldprobe.report.origins import notes
from worldprobe.report.results import (
    benchmark_result,
    estimate,
    is_smoke_test,
    no_estimate,
    sample_of,
)

BENCHMARK = "worldsense"
#: Why two numbers of tuples are named.
BALANCED = (
    "Means are over {:,} tuples; the paper's standard errors count {:,}: of each problem, size,"
    " complexity, skin and wording as many as of the rarest."
)
#: A sample of fewer tuples is called small.
FEWEST_TUPLES = 120
SMALL_SAMPLE = (
    "{} tuples are a small sample: the interval contained the accuracy in the whole set in 59% of"
    " samples of 20 tuples, in 91% of 60, and in 95% of 120."
)


def evaluate(model: Evaluated) -> dict[str, Any]:
    """Trials, answers, means; the result. The steps are commands, which nothing else here needs."""
    tables: tuple[Path, Path, Path] = load("worldprobe.benchmarks.worldsense.steps:make_tables")(
        model
    )
    return collect_evaluation(model.name, *tables)


def refuse_kind(model: Evaluated) -> None:
    """Only some models answer prompts.

    Raises:
        UserError: the model is only scored.
    """
    if not model.offers.prompts:
        raise refuse_prompting(model.name, model.card["kind"])


def collect_evaluation(name: str, trials: Path, responses: Path, summaries: Path) -> dict[str, Any]:
    """The result as plain values: what was loaded, and under the benchmark's name its numbers next
    to the published ones.

    Args:
        name: the model's name.
        trials: one set.
        responses: the answers to it under one strategy.
        summaries: their means.
    """
    made, table = read_provenance(responses), read_table(summaries, Summaries)
    details, overall = made.details, table[table["grouping"] == OVERALL]
    balanced = int(overall.loc[overall["model"] == made.model, "n"].iloc[0])
    accuracies = count_tuples(overall[overall["metric"] == "accuracy"], table)
    by_model = {row["model"]: row for row in accuracies.to_dict("records")}
    rules = {rule: by_model[rule.model] for rule in baseline_rules() if rule.model in by_model}
    rows = table[table["model"] == made.model]
    by_problem = rows[(rows["grouping"] == "problem") & (rows["metric"] == "accuracy")]
    order = present_problems(by_problem.rename(columns={"group": "problem"}))
    shown = pd.concat(
        [
            rows[(rows["grouping"] == OVERALL) & (rows["metric"] == "accuracy")],
            sort_by(by_problem, "group", order),
            rows[(rows["grouping"] == OVERALL) & (rows["metric"] == "bias")],
        ]
    )
    of_trials, n_trials = read_provenance(trials), len(read_trials(trials))
    shown = count_tuples(shown, table)
    n_tuples, is_sample = int(shown.iloc[0]["n"]), "sample" in of_trials.details
    trial_set = str(of_trials.details.get("set", "test"))
    printed = read_published().query("block == 'table2' and quantity == 'accuracy'")
    invalid = len(read_table(responses, Responses, ["status"]).query("status != 'ok'"))
    notes_of_model = no_estimate(of_trials, "problems")
    notes_of_model += notes(read_provenance(summaries), Roster({}))
    if balanced != n_tuples:
        notes_of_model.append(BALANCED.format(n_tuples, balanced))
    if is_sample and n_tuples < FEWEST_TUPLES and not is_smoke_test(of_trials):
        notes_of_model.append(SMALL_SAMPLE.format(n_tuples))
    if details.get("answer_tokens"):
        notes_of_model.append(f"Tokens per answer: {show_tokens(details['answer_tokens'])}.")
    gain = overall[(overall["model"] == made.model) & (overall["metric"] == "above_counting")]
    if COUNTING in by_model and len(gain):
        mean = by_model[COUNTING]["mean"]
        notes_of_model.append(_compare_with_rule(name, gain.iloc[0], mean))
    prompting = prompting_name(details["prompting"])
    numbers = benchmark_result(
        shown,
        title="WorldSense",
        unit="tuples",
        chance=0.5,
        interval=f"skins ({shown.iloc[0]['n_clusters']})",
        eval_type=details["prompting"],
        asked={
            "way of asking": f"{prompting} prompting, as {details['form']}",
            "unreadable answers": "count as wrong",
            "average": "over the tuples of each problem, then over problems",
            "items": f"{n_trials:,} trials of our own set {trial_set}",
            **sample_of(of_trials, n_trials, "trials"),
        },
        items_digest=made.inputs["trials"],
        baselines={rule.baseline: estimate(row) for rule, row in rules.items()},
        published={
            "source": SOURCE,
            "is_comparable": False,
            "means": {
                row["model"]: float(row["printed"]) / 100
                for _, row in printed.iterrows()
                if trial_set == "test"
            },
        }
        if not is_sample
        else None,
        notes=notes_of_model,
    )
    numbers["counts"] = {"invalid": invalid}
    for part in numbers["parts"]:
        if part["grouping"] == "problem":
            part["name"] = PROBLEM_NAMES[part["group"]]
    return {"model": name, **made.of_model(), "benchmarks": {BENCHMARK: numbers}}


def _compare_with_rule(model: str, gain: pd.Series, of_rule: float) -> str:
    """Whether a model is above the rule that counts mentions, for other skins as well.

    Args:
        model: its name.
        gain: the row of its accuracy less the rule's.
        of_rule: the rule's accuracy.
    """
    from worldprobe.analysis.comparisons import ABOVE, NO_INTERVAL, above_or_below  # SciPy

    columns = ["mean", "ci_low", "ci_high", "n_clusters"]
    where = above_or_below(gain[columns].to_frame().T.astype(float), 0.0).iloc[0]
    verdict = {
        ABOVE: "beats it",
        NO_INTERVAL: "is not compared with it, as their difference has no interval",
    }.get(where, "is not shown to beat it, so there is no evidence that it reasons")
    return (
        f"A rule that counts mentions and chains no clauses scores {of_rule:.3f};"
        f" {model} {verdict}."
    )


def expect(model: Evaluated) -> Workload:
    """What the model will be asked."""
    expected: Workload = load("worldprobe.benchmarks.worldsense.workload:of_evaluation")(model)
    return expected


EVALUATION = Evaluation(evaluate, refuse_kind, Options, workload=expect)
