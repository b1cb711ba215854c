"""The result of evaluating one model: as plain values for JSON, and as text next to the published
numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from worldprobe.benchmark import Evaluated, Evaluation
from worldprobe.benchmarks.worldsense.analysis.reproduction import SOURCE, read_published
from worldprobe.benchmarks.worldsense.contracts import Responses, Summaries
from worldprobe.benchmarks.worldsense.selection import (
    PROBLEM_NAMES,
    problems_of,
    prompting_name,
    show_tokens,
)
from worldprobe.benchmarks.worldsense.trials.files import read_trials
from worldprobe.contracts import read_provenance, read_table
from worldprobe.contracts.results import ALL, OVERALL
from worldprobe.models.chat import has_template
from worldprobe.models.checkpoint import locate
from worldprobe.models.loading import load_tokenizer
from worldprobe.models.registry import CAUSAL, refuse_prompting
from worldprobe.report.origins import told
from worldprobe.report.results import ESTIMATE, Score, precision

BENCHMARK = "worldsense"
#: Rules that never chain two clauses, and how they are shown; the first is the one that a model
#: must beat.
SHALLOW = {
    "counting": "counting (rule)",
    "together": "single clauses (rule)",
    "ngrams": "n-grams (trained)",
    "roles": "n-grams of roles (trained)",
}


def evaluate(model: Evaluated) -> tuple[dict[str, Any], str]:
    """Trials, answers, means; the result, and how it is shown."""
    prompting = "basic" if converses(model.card) else "constrained"
    trials, responses, summaries = (
        model.folder / BENCHMARK / f"{name}.parquet"
        for name in ("trials", "responses", "summaries")
    )
    of_set = model.options["trial_set"]
    model.step(
        "worldsense", "generate", of_set, "--per-cell", model.options["per_cell"], "--out", trials
    )
    asked = {responses: [*model.flags, "--prompting", prompting]}
    for rule in SHALLOW:
        how = [
            "--model",
            f"rule {rule}",
            "--checkpoint",
            rule,
            "--engine",
            "rule",
            "--prompting",
            prompting,
        ]
        asked[responses.with_name(f"rule_{rule}.parquet")] = how
    for out, how in asked.items():
        model.step("worldsense", "ask", trials, *how, "--answers", model.answers, "--out", out)
    model.step("worldsense", "summarize", "--set", of_set, trials, *asked, "--out", summaries)
    evaluation = collect_evaluation(model.name, trials, responses, summaries)
    return evaluation, describe_evaluation(evaluation) + told(summaries)


def converses(card: Mapping[str, Any]) -> bool:
    """Does a model take conversations? Its server does, or a rule, or a checkpoint with a chat
    template.
    """
    if card.get("engine") in ("openai", "rule"):
        return True
    options = (
        card.get("revision"),
        card.get("allow_pickle", False),
        card.get("trust_remote_code", False),
    )
    return has_template(
        load_tokenizer(locate(card["checkpoint"], *options, adapter=card.get("adapter")))
    )


def refuse_kind(model: Evaluated) -> None:
    """Only causal models answer prompts.

    Raises:
        UserError: the model is of another kind.
    """
    if model.card["kind"] != CAUSAL:
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
    whole = table[(table["metric"] == "accuracy") & (table["grouping"] == OVERALL)].set_index(
        "model"
    )
    baselines = {
        rule: _row(whole.loc[f"rule {rule}"].to_dict())
        for rule in SHALLOW
        if f"rule {rule}" in whole.index
    }
    table = table[table["model"] == made.model]
    means = {
        (measure, group): _row(row)
        for (measure, group), rows in table[table["grouping"].isin([OVERALL, "problem"])].groupby(
            ["metric", "group"]
        )
        for row in rows.to_dict("records")
    }
    problems = problems_of(
        table[table["grouping"] == "problem"].rename(columns={"group": "problem"})
    )
    printed = read_published()
    overall = printed[(printed["block"] == "table2") & (printed["quantity"] == "accuracy")]
    of_set = str(read_provenance(trials).details.get("set", "test"))
    return {
        "model": name,
        **made.of_model(),
        BENCHMARK: {
            "trials": {
                "digest": made.inputs["trials"],
                "n_trials": len(read_trials(trials)),
                "set": of_set,
            },
            "prompting": made.details["prompting"],
            "form": made.details["form"],
            **({"answer_tokens": tokens} if (tokens := made.details.get("answer_tokens")) else {}),
            "accuracy": means["accuracy", ALL],
            "bias": means["bias", ALL],
            "accuracy_by_problem": {problem: means["accuracy", problem] for problem in problems},
            "baselines": baselines,
            "invalid": len(read_table(responses, Responses, ["status"]).query("status != 'ok'")),
            "published": {
                row["model"]: float(row["printed"]) / 100
                for _, row in overall.iterrows()
                if of_set == "test"
            },
            "published_source": SOURCE,
        },
    }


def _row(summary: dict[Any, Any]) -> dict[str, Any]:
    """One mean as plain values; JSON has no NaN."""
    numbers = {name: float(summary[key]) for name, key in ({"conf95": "conf95"} | ESTIMATE).items()}
    known = {name: value if math.isfinite(value) else None for name, value in numbers.items()}
    return known | {"n_clusters": int(summary["n_clusters"]), "n_tuples": int(summary["n"])}


def list_scores(evaluation: dict[str, Any]) -> list[Score]:
    """The numbers of a result: accuracy overall and by problem, then bias; none where WorldSense
    was not asked.
    """
    if BENCHMARK not in evaluation:
        return []
    found = evaluation[BENCHMARK]
    asked = {
        "asked by": f"{prompting_name(found['prompting'])} prompting, as {found['form']}",
        "unreadable answers": "count as wrong",
        "average": "over the tuples of each problem, then over problems",
        "items": f"our own set {found['trials'].get('set', 'test')}",
    }
    rows = [
        ("accuracy", "overall", found["accuracy"]),
        *(("accuracy", *pair) for pair in found["accuracy_by_problem"].items()),
    ]
    return [
        Score(
            benchmark=BENCHMARK,
            group=group,
            metric=metric,
            value=row["mean"],
            low=row["ci_low"],
            high=row["ci_high"],
            stderr=row["stderr"],
            n=row["n_tuples"],
            unit="tuples",
            bounds=(0.0, 1.0) if metric == "accuracy" else (-1.0, 1.0),
            items=f"{found['trials']['digest']} {found['prompting']}",
            asked=asked,
            counts={"invalid": found["invalid"]} if group == "overall" else {},
            chance=0.5 if metric == "accuracy" else None,
        )
        for metric, group, row in [*rows, ("bias", "overall", found["bias"])]
    ]


def describe_evaluation(evaluation: dict[str, Any]) -> str:
    """The evaluation for a reader: the model's row beside chance and rules, its problems, then
    published rows of other trials.
    """
    found, model = evaluation[BENCHMARK], evaluation["model"]
    names = {problem: PROBLEM_NAMES[problem] for problem in found["accuracy_by_problem"]}
    shallow = {SHALLOW[rule]: row for rule, row in found.get("baselines", {}).items()}
    width = max(map(len, [*found["published"], model, *names.values(), *shallow]))
    rows = [
        (
            found["accuracy"]["mean"],
            model,
            f"here; {_interval(found['accuracy'])}, bias {_signed(found['bias']['mean'])}",
        )
    ]
    rows.append((0.5, "chance", ""))
    rows += [
        (row["mean"], name, f"here; {_interval(row)}, chains nothing")
        for name, row in shallow.items()
    ]
    how = f", asked as {found['form']}" + "".join(f", {fact}" for fact in precision(evaluation))
    of_set = found["trials"].get("set", "test")
    lines = [f"{'model':{width}}  mean", *_lines(rows, width)]
    lines += ["", f"{model} by problem"]
    lines += [
        f"{names[problem]:{width}}  {row['mean']:.3f}"
        for problem, row in found["accuracy_by_problem"].items()
    ]
    lines += [
        "",
        (
            f"{found['trials']['n_trials']:,} trials of our own set {of_set}, prompting"
            f" {prompting_name(found['prompting'])}{how}; {found['invalid']:,} without a valid"
            " answer."
        ),
        *_judge(model, found),
    ]
    if found.get("answer_tokens"):
        lines.append(f"Tokens per answer: {show_tokens(found['answer_tokens'])}.")
    if found["published"]:
        published = [(mean, name, "published") for name, mean in found["published"].items()]
        lines += [
            (
                "The published numbers are for the released test set and basic prompting: with"
                " these trials they are a yardstick, not a comparison."
            ),
            f"{'published':{width}}  mean   ({found['published_source']})",
            *_lines(published, width),
        ]
    return "\n".join(lines)


def _lines(rows: list[tuple[float, str, str]], width: int) -> list[str]:
    return [
        f"{name:{width}}  {mean:.3f}  {source}".rstrip()
        for mean, name, source in sorted(rows, key=lambda row: -row[0])
    ]


def _judge(model: str, found: dict[str, Any]) -> list[str]:
    """Whether a model is above the rule that counts mentions, for other skins as well."""
    from worldprobe.analysis.comparisons import ABOVE, NO_INTERVAL, place  # SciPy

    if "counting" not in found.get("baselines", {}):
        return []
    bar, accuracy = found["baselines"]["counting"]["mean"], pd.DataFrame([found["accuracy"]])
    said = (
        "A rule that counts mentions and matches single clauses, and never chains two, has"
        f" {bar:.3f} on these trials"
    )
    where = place(accuracy[["mean", "ci_low", "ci_high", "n_clusters"]].astype(float), bar).iloc[0]
    if where == ABOVE:
        return [f"{said}; {model} is above it."]
    if where == NO_INTERVAL and found["accuracy"]["n_clusters"] > 1:
        return [
            f"{said}; whether {model} is above it for other skins nothing tells, as all are alike."
        ]
    return [f"{said}; {model} is not shown to be above it, and so not to reason."]


def _interval(row: dict[str, Any]) -> str:
    if row["n_clusters"] == 1:
        return "one skin, so no interval"
    ends = [row["ci_low"], row["ci_high"]]
    return "all skins alike" if None in ends else f"95% over skins {ends[0]:.3f}-{ends[1]:.3f}"


def _signed(value: float) -> str:
    return f"{value:+.2f}"


EVALUATION = Evaluation(evaluate, list_scores, refuse_kind, ("per_cell", "trial_set"))
