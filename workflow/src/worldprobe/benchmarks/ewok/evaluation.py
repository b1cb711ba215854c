"""The result of evaluating one model: as plain values for JSON, and as text next to the published
numbers.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from worldprobe.benchmark import Evaluated, Evaluation
from worldprobe.benchmarks.ewok.analysis.reproduction import are_official, read_published
from worldprobe.benchmarks.ewok.contracts import Items, Summaries
from worldprobe.benchmarks.ewok.vocabulary import OWN, RELEASE, filling_of
from worldprobe.contracts import read_provenance, read_table
from worldprobe.contracts.results import ALL
from worldprobe.errors import UserError
from worldprobe.models.registry import CAUSAL, describe_kind
from worldprobe.paths import EDITIONS, REPOSITORY
from worldprobe.report.model_names import counted
from worldprobe.report.origins import told
from worldprobe.report.results import ESTIMATE, Score, precision


def evaluate(model: Evaluated) -> tuple[dict[str, Any], str]:
    """Items, scores, judgements, summaries; the result, and how it is shown."""
    names = ("items", "target_scores", "judgements", "summaries")
    items, scores, judgements, summaries = (model.folder / f"{name}.parquet" for name in names)
    chosen = model.options
    flags = ["--compat"] * chosen["compat"] + ["--release-filter"] * chosen["release_filter"]
    model.step(
        "items",
        "build",
        chosen["materials"],
        "--versions",
        chosen["versions"],
        *flags,
        "--out",
        items,
    )
    model.step(
        "score", "logprobs", items, *model.flags, "--answers", model.answers, "--out", scores
    )
    model.step("judge", items, scores, "--out", judgements)
    model.step("summarize", judgements, "--out", summaries)
    evaluation = collect_evaluation(model.name, chosen["materials"], items, scores, summaries)
    return evaluation, describe_evaluation(
        evaluation, filling_of(read_table(items, Items)) == OWN
    ) + told(summaries)


def refuse_rule(model: Evaluated) -> None:
    """Models are scored here; a rule has no scores.

    Raises:
        UserError: the model is a rule.
    """
    if model.card.get("engine") == "rule":
        problem = "is a rule for other trials, and EWoK asks about other things."
        raise UserError(model.name, problem, "Name the benchmark of these trials with --benchmark.")


def collect_evaluation(
    name: str, materials: str, items: Path, scores: Path, summaries: Path
) -> dict[str, Any]:
    """The result as plain values: accuracy overall and by domain, how it was made, and the
    published numbers.
    """
    item_table, table = read_table(items, Items), read_table(summaries, Summaries)
    accuracy = table[(table["metric"] == "accuracy") & (table["condition"] == ALL)]
    published = read_published(REPOSITORY / "resources/published")
    means = published.numbers[
        (published.numbers["block"] == "table1") & (published.numbers["quantity"] == "mean")
    ]
    made = read_provenance(scores)
    return {
        "model": name,
        **made.of_model(),
        "pseudo_log_likelihood": made.details.get("pseudo_log_likelihood"),
        "materials": {
            "source": materials,
            "digest": read_provenance(items).inputs["materials"],
            "items_digest": made.inputs["items"],
            "n_items": len(item_table),
            "versions": sorted(int(version) for version in item_table["version"].unique()),
            "is_official_release": are_official(item_table, published),
        },
        "eval_type": "logprobs",
        "measure": "contexts",
        "metric": "accuracy",
        "tie_rule": "half",
        "average": "versions",
        "start_tokens": made.details.get("start", {}).get("before_text"),
        "accuracy": _row(accuracy[accuracy["grouping"] == "overall"].iloc[0]),
        "accuracy_by_domain": {
            r["group"]: _row(r) for _, r in accuracy[accuracy["grouping"] == "domain"].iterrows()
        },
        "published": {r["model"]: float(r["printed"]) for _, r in means.iterrows()},
        "published_source": published.sources["table1"],
    }


def _row(summary: Any) -> dict[str, Any]:
    """One summary as plain values."""
    numbers = {
        name: _number(summary[key])
        for name, key in ({"low": "low", "high": "high"} | ESTIMATE).items()
    }
    return (
        numbers
        | {"n_items": int(summary["n"])}
        | {key: int(summary[key]) for key in ("n_ties", "n_near_ties", "n_missing")}
    )


def _number(value: Any) -> float | None:
    """A number, or None where there is none: JSON knows no NaN."""
    return float(value) if math.isfinite(value) else None


def list_scores(evaluation: dict[str, Any]) -> list[Score]:
    """The numbers of a result: overall, then by domain; none where EWoK was not asked."""
    if "accuracy" not in evaluation:
        return []
    materials = evaluation["materials"]
    asked = {
        "asked by": "log probabilities of each target after its own and after the other context",
        "ties": "count 0.5",
        "average": "over the items of each version, then over versions",
        "start tokens": " ".join(evaluation["start_tokens"] or []) or "none",
        "items": (
            "EWoK-core-1.0" if materials["is_official_release"] else _named(materials["source"])
        ),
    }
    is_comparable = materials["is_official_release"] and evaluation.get("kind", CAUSAL) == CAUSAL
    if evaluation.get("kind", CAUSAL) != CAUSAL:
        asked["kind of model"] = describe_kind(
            evaluation["kind"], evaluation.get("pseudo_log_likelihood")
        )
    return [
        Score(
            benchmark="ewok",
            group=group,
            metric="accuracy",
            value=row["mean"],
            low=row["ci_low"],
            high=row["ci_high"],
            stderr=row["stderr"],
            n=row["n_items"],
            unit="items",
            bounds=(0.0, 1.0),
            items=materials["items_digest"],
            asked=asked,
            interval="analytic",
            counts={name: row[f"n_{name}"] for name in ("ties", "near_ties", "missing")},
            release=RELEASE if materials["is_official_release"] else None,
            chance=0.5,
            published=evaluation["published"] if is_comparable else {},
        )
        for group, row in [
            ("overall", evaluation["accuracy"]),
            *evaluation["accuracy_by_domain"].items(),
        ]
    ]


def describe_evaluation(evaluation: dict[str, Any], is_own: bool = False) -> str:
    """The evaluation for a reader: the model's row, among the published ones if these are of the
    same items, else apart.

    Args:
        evaluation: from ``collect_evaluation``.
        is_own: whether the items have fillings of their own, so that one version says something of
            others.
    """
    accuracy, materials = evaluation["accuracy"], evaluation["materials"]
    width = max(
        len(name)
        for name in [
            *evaluation["published"],
            evaluation["model"],
            *evaluation["accuracy_by_domain"],
        ]
    )
    rows = [(mean, name, "published") for name, mean in evaluation["published"].items()]
    low, high, ci_low, ci_high = (
        _shown(accuracy[key]) for key in ("low", "high", "ci_low", "ci_high")
    )
    about = ", about these fillings only" if len(materials["versions"]) == 1 and not is_own else ""
    interval = "no interval" if accuracy["ci_low"] is None else f"95% {ci_low}-{ci_high}{about}"
    here = (
        f"here; range {low}-{high}, {interval}"
        if len(materials["versions"]) > 1
        else f"here; {interval}"
    )
    own = (accuracy["mean"], evaluation["model"], here)
    is_causal, source = evaluation.get("kind", CAUSAL) == CAUSAL, evaluation["published_source"]
    is_comparable = materials["is_official_release"] and is_causal
    lines = [f"{'model':{width}}  mean" + (f"   ({source})" if is_comparable else "")]
    lines += _lines([own, *rows] if is_comparable else [own], width)
    lines += ["", f"{evaluation['model']} by domain"]
    lines += [
        f"{domain:{width}}  {_shown(r['mean'])}"
        for domain, r in evaluation["accuracy_by_domain"].items()
    ]
    official, loaded = materials["is_official_release"], ", ".join(precision(evaluation))
    lines += [
        "",
        (
            f"{counted(materials['n_items'], 'item')} of"
            f" {'the official release' if official else _named(materials['source'])},"
            f" {counted(len(materials['versions']), 'version')}, {loaded};"
            f" {counted(accuracy['n_ties'], 'tie')},"
            f" {counted(accuracy['n_near_ties'], 'near tie')},"
            f" {counted(accuracy['n_missing'], 'target')} without a score."
        ),
    ]
    if not is_causal:
        kind = describe_kind(evaluation["kind"], evaluation.get("pseudo_log_likelihood"))
        lines.append(
            f"{evaluation['model']} is not causal ({kind}): the published models are, and their"
            " scores are another measure."
        )
    if not official:
        lines.append(
            "The published numbers are for EWoK-core-1.0: with these items they are a yardstick,"
            " not a comparison."
        )
    if not is_comparable:
        lines += [f"{'published':{width}}  mean   ({source})", *_lines(rows, width)]
    return "\n".join(lines)


def _lines(rows: list[tuple[float | None, str, str]], width: int) -> list[str]:
    return [
        f"{name:{width}}  {_shown(mean)}  {source}"
        for mean, name, source in sorted(rows, key=_rank, reverse=True)
    ]


def _named(source: str) -> str:
    """The items of materials, whose folder or archive is nobody else's business, for readers.

    >>> _named("builtin@2"), _named("secret/place.zip")
    ('builtin@2, not the published ones', 'other materials than the published ones')
    """
    name = "builtin@1" if source == "builtin" else source  # as results of earlier releases call it
    return (
        f"{name}, not the published ones"
        if name in EDITIONS
        else "other materials than the published ones"
    )


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _rank(row: tuple[float | None, str, str]) -> tuple[float, str]:
    return (-1.0 if row[0] is None else row[0], row[1])


EVALUATION = Evaluation(
    evaluate,
    list_scores,
    refuse_rule,
    ("materials", "password", "compat", "release_filter", "versions"),
)
