"""The result of evaluating one model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from worldprobe.benchmark import COMPARISONS, Evaluated, Evaluation
from worldprobe.benchmarks.ewok.analysis.panel import TWO_VERSIONS, interval_notes
from worldprobe.benchmarks.ewok.analysis.reproduction import are_official, read_published
from worldprobe.benchmarks.ewok.contracts import Comparisons, Items, Summaries
from worldprobe.benchmarks.ewok.options import Options
from worldprobe.benchmarks.ewok.references import beside, made_by
from worldprobe.benchmarks.ewok.vocabulary import (
    METHOD_ON,
    NO_PAIRING,
    OWN,
    PAIRS,
    RELEASE,
    TITLE,
    filling_of,
    has_pairing,
    is_prompted,
)
from worldprobe.contracts import read_provenance, read_table
from worldprobe.contracts.results import ALL, OVERALL
from worldprobe.engines import Workload, refuse_others
from worldprobe.extensions import load
from worldprobe.models.registry import CAUSAL, describe_kind
from worldprobe.paths import EDITIONS, REPOSITORY, edition
from worldprobe.provenance import language_name
from worldprobe.report.model_names import Roster
from worldprobe.report.origins import notes
from worldprobe.report.results import (
    PAIRING,
    PAIRING_OVER_PAIRS,
    START,
    benchmark_result,
    estimate,
    is_smoke_test,
    no_estimate,
    sample_of,
)

#: How a model is asked whose server gives no log probabilities of prompts.
PROMPTED = "choice_free_zero"
#: What a mean over the items of a sample is not.
SMALL_PAIRS = (
    "A sample gives small pairs of concepts more weight than all items do; the mean over pairs of"
    " concepts gives each the same."
)
#: Whether a model is prompted -> how results call what it is asked.
ASKED_BY = {
    False: "LogProbs",
    True: "Choice, free, in both orders of the contexts",
}


def settle_options(options: Options, limit: int | None) -> Options:
    """The options with the versions that are asked, and the edition of our materials."""
    versions = options.versions or ("0" if limit else "0-4")
    stated = {"versions": versions, "materials": edition(options.materials)}
    return options.model_copy(update=stated)


def evaluate(model: Evaluated) -> dict[str, Any]:
    """Items, scores or answers, judgements, summaries; the result. The steps are commands, which
    nothing else here needs.
    """
    tables: tuple[Path, Path, Path] = load("worldprobe.benchmarks.ewok.steps:make_tables")(model)
    return collect_evaluation(
        model.name, model.options.materials, *tables, model.folder / COMPARISONS
    )


def refuse_rule(model: Evaluated) -> None:
    """Models are scored here; a rule has no scores.

    Raises:
        UserError: the model is a rule.
    """
    refuse_others(model.card, "ewok", model.name)


def collect_evaluation(
    name: str,
    materials: str,
    items: Path,
    scores: Path,
    summaries: Path,
    comparisons: Path | None = None,
) -> dict[str, Any]:
    """The result as plain values: accuracy overall and by domain, how it was made, the references
    of these items, and, of whole items, the published numbers.
    """
    item_table, table = read_table(items, Items), read_table(summaries, Summaries)
    made, published = read_provenance(scores), read_published(REPOSITORY / "resources/published")
    of_items = read_provenance(items)
    over_pairs = [] if is_smoke_test(of_items) else [PAIRS]
    printed = published.numbers.query("block == 'table1' and quantity == 'mean'")
    means = table[(table["metric"] == "accuracy") & (table["condition"] == ALL)]
    shown = means[means["grouping"].isin([OVERALL, "domain"])].sort_values(
        "grouping", key=lambda names: names != OVERALL, kind="stable"
    )
    by_pair = means[means["grouping"] == PAIRS].iloc[0]
    is_pairing = (table["metric"] == "pairing") & (table["condition"] == ALL)
    paired = table[is_pairing & table["grouping"].isin([OVERALL, *over_pairs])].assign(
        metric=lambda rows: rows["grouping"].map({OVERALL: PAIRING, PAIRS: PAIRING_OVER_PAIRS}),
        grouping=OVERALL,
    )
    counts = ("ties", "near_ties", "missing")
    is_official, kind = are_official(item_table, published), made.kind or CAUSAL
    eval_type = str(shown["eval_type"].iloc[0])
    is_comparable = is_official and kind == CAUSAL and not is_prompted(eval_type)
    templates = len(item_table.groupby(["domain", "meta_template", "template"]))
    versions = sorted(int(version) for version in item_table["version"].unique())
    asked = {
        "way of asking": ASKED_BY[is_prompted(eval_type)],
        "ties": "count 0.5",
        "average": "over the items of each version, then over versions",
        START: _start_tokens(made.details.get("start", {}).get("before_text")),
        "items": "EWoK-core-1.0" if is_official else _named(materials),
        "versions": ", ".join(map(str, versions)),
        **sample_of(of_items, templates, "templates"),
    }
    if kind != CAUSAL:
        asked["kind of model"] = describe_kind(kind, made.details.get("pseudo_log_likelihood"))
    shown = pd.concat([shown[:1], paired.sort_values("metric"), shown[1:]])
    interval, is_own = "pairs of concepts", filling_of(item_table) == OWN
    if not is_own:
        interval += " and versions" if len(versions) > 1 else ", for these fillings alone"
    is_sample = "sample" in of_items.details
    overall = shown.iloc[0]
    spread = f"Means of versions run from {overall['low']:.3f} to {overall['high']:.3f}."
    numbers = benchmark_result(
        shown,
        counts,
        title=title_of_items(is_official, materials, language=language_name(of_items.details)),
        unit="items",
        chance=0.5,
        interval=interval,
        eval_type=eval_type,
        asked=asked,
        items_digest=made.inputs["items"],
        mean_over_pairs=estimate(by_pair.to_dict(), counts) if over_pairs else None,
        published={
            "source": published.sources["table1"],
            "is_comparable": is_comparable,
            "means": {row["model"]: float(row["printed"]) for _, row in printed.iterrows()},
        }
        if not is_sample
        else None,
        release=RELEASE if is_official else None,
        notes=no_estimate(of_items, "pairs of concepts")
        + [NO_PAIRING] * (not has_pairing(eval_type))
        + [spread] * (len(versions) > 1)
        + [TWO_VERSIONS] * (is_own and len(versions) == 2)
        + interval_notes(shown, shown["metric"] + " of " + shown["group"])
        + [SMALL_PAIRS] * (is_sample and bool(over_pairs))
        + notes(read_provenance(summaries), Roster({})),
    )
    if references := _references(name, comparisons):
        numbers["references"] = references
    return {
        "model": name,
        **made.of_model(),
        "pseudo_log_likelihood": made.details.get("pseudo_log_likelihood"),
        "benchmarks": {"ewok": numbers},
    }


def _start_tokens(stated: list[str] | str | None) -> str:
    """The tokens before a text, or in words who puts them there."""
    return stated if isinstance(stated, str) else " ".join(stated or []) or "none"


def title_of_items(
    is_official: bool, materials: str, is_protected: bool = False, language: str = ""
) -> str:
    """What a score on items is called: the benchmark's name is that of the published items alone.

    Args:
        is_official: whether the items are the published ones.
        materials: an edition of ours, or any other place.
        is_protected: whether the materials are EWoK's own.
        language: its name, if it is not English.

    >>> title_of_items(True, "official.zip"), title_of_items(False, "builtin@4")
    ('EWoK', "EWoK's method, items builtin@4")
    >>> title_of_items(False, "mine"), title_of_items(False, "mine", language="German")
    ("EWoK's method, own items", "EWoK's method, own items in German")
    """
    if is_official:
        return TITLE
    others = "other items of its materials" if is_protected else "own items"
    named = f"items {edition(materials)}" if _is_edition(materials) else others
    return METHOD_ON.format(named + (f" in {language}" if language else ""))


def _is_edition(materials: str) -> bool:
    return materials in ("builtin", *EDITIONS)


def _references(model: str, comparisons: Path | None) -> dict[str, Any]:
    """What the references reach on the same items, and how the model differs from them."""
    if comparisons is None or not comparisons.exists():
        return {}
    names = {reference: facts["name"] for reference, facts in made_by().items()}
    return beside(read_table(comparisons, Comparisons), model, names)


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


def expect(model: Evaluated) -> Workload | None:
    """What the model will be asked."""
    expected: Workload | None = load("worldprobe.benchmarks.ewok.workload:of_evaluation")(model)
    return expected


EVALUATION = Evaluation(evaluate, refuse_rule, Options, settle_options, expect)
