"""Tables of accuracy: mean and range (Table 1), domains (2), strict Likert (4), and
ways of asking.
"""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from worldprobe.benchmark import table
from worldprobe.benchmarks.ewok import selection, study
from worldprobe.benchmarks.ewok.analysis.panel import drawn_units, interval_notes
from worldprobe.benchmarks.ewok.contracts import Summaries
from worldprobe.benchmarks.ewok.options import EVAL_TYPE, METRIC
from worldprobe.benchmarks.ewok.vocabulary import (
    EVAL_TYPES,
    NO_PAIRING,
    TARGET_TYPES,
    has_pairing,
    way_of,
)
from worldprobe.models.registry import BASELINES
from worldprobe.provenance import Provenance
from worldprobe.report.model_names import HUMAN, Roster, is_baseline
from worldprobe.report.sheet import (
    INTERVAL,
    MODEL,
    Sheet,
    SheetColumn,
    decimals,
    number_column,
    span,
    text_column,
)

#: ways of asking a model, in the order of the columns.
MODEL_TYPES = (*EVAL_TYPES, *TARGET_TYPES)


#: What the metric is.
PAIRING = (
    "Pairing: share of items whose contexts and targets fit better as they belong together than"
    " exchanged; what a context or target adds to all its values cancels."
)
#: What the baselines are; each compares a vector of the target with one of each context by cosine.
BASELINE_NOTES = {
    "relatedness": "mean of the next two, weighted so that they count alike.",
    "sentence_vectors": "cosine of target and context in a sentence encoder.",
    "wordnet": "cosine of the glosses of words and related senses, agents' names left out.",
    "word2vec": "cosine of the summed word vectors of target and context, agents' names left out.",
}


@table(
    inputs=[Summaries],
    title="Accuracy by domain",
    section="accuracy",
    caption=(
        "Average and highest accuracy by domain, over published models (trained controls if"
        " there are none), and how reliably domains differ; with humans where they were asked."
        " Like Table 2 of the EWoK paper."
    ),
    when=study.has_logprobs,
    options=[EVAL_TYPE],
)
def accuracy_by_domain(
    summaries: pd.DataFrame, roster: Roster, eval_type: str = "logprobs"
) -> Sheet:
    """Average and highest mean of a language model by domain, and humans where present (Table 2).

    Controls stay out of the average where published models were asked, and those that were never
    trained always.
    """
    rows = selection.over_versions(selection.pick(summaries, "domain", eval_type))
    models = selection.language_models(rows)
    is_untrained = models.model.map(lambda model: roster[model].is_untrained)
    asked, calibration = selection.subjects(models, roster), models[is_untrained]
    human = rows[rows.model == HUMAN].set_index("group")["mean"]
    lines = []
    for domain in selection.domain_order(summaries, roster, eval_type):
        here = asked[asked.group == domain].sort_values(
            ["mean", "model"], ascending=[False, True], kind="stable"
        )
        untrained = calibration[calibration.group == domain]["mean"]
        lines.append(
            {
                "domain": domain,
                "name": selection.in_words(domain),
                "llm_average": here["mean"].mean(),
                "llm_best": here["mean"].iloc[0] if len(here) else float("nan"),
                "best_model": here.model.iloc[0] if len(here) else "",
                "best_name": _of_highest(here, roster),
                "human": human.get(domain, float("nan")),
                "untrained": untrained.mean() if len(untrained) else float("nan"),
                "n_models": len(here),
                "n_items": int(models[models.group == domain].n.max()),
            }
        )
    frame = pd.DataFrame(lines)
    columns = [
        text_column("Domain", "name"),
        number_column("LLM average", "llm_average"),
        number_column("LLM highest", "llm_best"),
        text_column("Model with it", "best_name"),
        number_column("Human", "human"),
    ]
    who = "" if frame.human.isna().all() else " and humans"
    if not who:
        columns.pop()
    notes = [
        f"Models in the average: {frame.n_models.max()}.",
        selection.say_reliability(selection.reliabilities(summaries, roster, eval_type), roster),
    ]
    if frame.n_models.max() > 1:
        notes.append(
            "The best of several scores is usually too optimistic: expect less on new items."
        )
    if apart := [model for model in roster.in_order(models.model) if model not in set(asked.model)]:
        names = ", ".join(roster.names(apart))
        notes.append(f"The average leaves out the control models ({names}).")
    return Sheet(
        title=(
            f"Accuracy of language models{who} by domain ({selection.in_words(eval_type)}); chance"
            " is 0.5."
        ),
        frame=frame,
        columns=tuple(columns),
        notes=tuple(notes),
    )


def _of_highest(rows: pd.DataFrame, roster: Roster) -> str:
    """The model with the highest mean, or how many share it; rows are sorted by mean."""
    n_highest = int((rows["mean"] == rows["mean"].max()).sum())
    return (
        f"{n_highest} models"
        if n_highest > 1
        else "".join(roster[model].name for model in rows.model[:n_highest])
    )


@table(
    inputs=[Summaries],
    title="Accuracy by way of asking",
    section="paradigms",
    caption="Mean accuracy of every model for every way of asking.",
    when=study.has_prompting,
    options=[METRIC],
)
def accuracy_by_paradigm(
    summaries: pd.DataFrame,
    roster: Roster,
    provenance: Provenance | None = None,
    metric: str = "accuracy",
) -> Sheet:
    """Mean and range of every model under every paradigm and prompting set-up that was run.

    Args:
        summaries: the Summaries table.
        roster: names and order of the models.
        provenance: of the summaries; it says what weighs the same in the means.
        metric: as in ``mean_accuracy``.
    """
    rows = selection.over_versions(selection.pick(summaries, "overall", None, metric))
    means = selection.language_models(rows)
    models = roster.in_order(means.model)
    shown = [name for name in MODEL_TYPES if name in set(means.eval_type)]
    by_type = {name: means[means.eval_type == name].set_index("model") for name in shown}
    frame = pd.DataFrame({"model": models, "name": roster.names(models)})
    columns = [MODEL]
    for name in shown:
        decisions = (1 if metric == "pairing" else 2) * by_type[name].n
        by_type[name]["missing"] = by_type[name].n_missing / decisions
        for part in ("mean", "low", "high", "missing"):
            frame[f"{name}_{part}"] = [
                by_type[name][part].get(model, float("nan")) for model in models
            ]
        over, heading = _setup_heading(name)
        columns.append(
            SheetColumn(heading, (f"{name}_mean", f"{name}_missing"), _with_missing, over=over)
        )
    is_unread = bool((means.n_missing > 0).any())
    is_choice_left_out = metric == "pairing" and not summaries.eval_type.map(has_pairing).all()
    return Sheet(
        title=(
            f"Mean {'pairing' if metric == 'pairing' else 'accuracy'} of every model for every way"
            " of asking."
        ),
        frame=frame,
        columns=tuple(columns),
        notes=(
            *(
                ["Only items that all models were prompted about."]
                if (means.grouping == "prompted").any()
                else []
            ),
            *([PAIRING] if metric == "pairing" else []),
            *([NO_PAIRING] if is_choice_left_out else []),
            *_humans(rows),
            *_by_domains(provenance),
            (
                "free: free generation; constr.: choice among the valid answers; ex.: worked"
                " examples in the prompt."
            ),
            *(
                [
                    "unread: share of items that lack a readable answer or a score."
                    if metric == "pairing"
                    else "unread: share of targets without a readable answer (counted as wrong) or"
                    " without a score."
                ]
                if is_unread
                else []
            ),
            "A dash: not run. Ranges over versions: see the CSV file.",
        ),
    )


@table(
    inputs=[Summaries],
    title="Mean accuracy",
    section="accuracy",
    caption=(
        "Accuracy of each model: mean and range over versions, and interval. Chance is 0.5. EWoK,"
        " Table 1."
    ),
    when=study.has_logprobs,
    options=[EVAL_TYPE, METRIC],
)
def mean_accuracy(
    summaries: pd.DataFrame,
    roster: Roster,
    provenance: Provenance | None = None,
    eval_type: str = "logprobs",
    metric: str = "accuracy",
) -> Sheet:
    """Mean over versions and range of the version means, one row per model (Table 1).

    Args:
        summaries: the Summaries table.
        roster: names and order of the models.
        provenance: of the summaries; it says what was drawn for the intervals, and what weighs the
            same in the means.
        eval_type: way of asking of the models' rows; humans and baselines are always added.
        metric: "accuracy" (ties count one half), "strict" (ties count as wrong) or "pairing".
    """
    rows = selection.pick(summaries, "overall", eval_type, metric)
    if metric == "strict" or eval_type != "logprobs":  # cosines are a baseline for LogProbs only
        rows = rows[~rows.model.isin(BASELINES)]
    versions = selection.single_versions(rows).groupby("model")["condition"].nunique()
    means = selection.over_versions(rows).set_index("model", drop=False)
    order = roster.in_order(means.index)
    frame = means.loc[order].reset_index(drop=True)
    frame = frame.assign(
        name=roster.names(order),
        kind=["baseline" if is_baseline(model) else "model" for model in order],
        n_versions=[int(versions.get(model, 0)) for model in order],
    )
    wanted = [
        "model",
        "name",
        "kind",
        "eval_type",
        "metric",
        "mean",
        "low",
        "high",
        "ci_low",
        "ci_high",
    ]
    pairing = selection.pairings(summaries, frame)
    frame = frame[[*wanted, "n_versions", "n", "n_ties", "n_near_ties", "n_missing"]]
    is_beside = metric == "accuracy" and not pd.isna(pairing).all()
    if is_beside:
        frame = frame.assign(pairing=pairing)
    count = int(versions.max()) if len(versions) else 0
    notes = [
        *([f"Range: lowest and highest version of {count}."] if count > 1 else []),
        *(
            _by_domains(provenance)
            or [f"95% intervals; random factors: {drawn_units(provenance)}."]
        ),
        *interval_notes(means.loc[order], roster.names(order)),
    ]
    notes += [
        f"{roster[name].name}: {text}"
        for name, text in BASELINE_NOTES.items()
        if name in set(frame.model)
    ]
    kept = "as wrong" if metric == "strict" else "one half"
    if is_beside or metric == "pairing":
        notes.append(PAIRING)
    elif metric == "accuracy" and not has_pairing(eval_type):
        notes.append(NO_PAIRING)
    decided, lack = (
        ("pairings", "Items without a pairing")
        if metric == "pairing"
        else ("targets", "Unreadable answers")
    )
    of_models = frame[frame.kind == "model"]
    of_others = frame[(frame.kind == "baseline") & (frame.n_ties > 0)]
    ties = {"all models": of_models.n_ties.sum()} | dict(
        zip(of_others.name, of_others.n_ties, strict=True)
    )
    notes.append(
        f"Exact ties count {kept} (number of tied {decided}:"
        f" {', '.join(f'{name} {count:,.0f}' for name, count in ties.items())}). {lack}"
        f" of all models: {of_models.n_missing.sum():,.0f}."
    )
    return Sheet(
        title=(
            f"{'Pairing' if metric == 'pairing' else 'Accuracy'} by model"
            f" ({selection.in_words(eval_type)}); versions: {count}; chance is 0.5."
        ),
        frame=frame,
        columns=(
            MODEL,
            number_column("Mean", "mean"),
            *(
                [SheetColumn("Range", ("low", "high"), span)]
                if (frame.low < frame.high).any()
                else []
            ),
            INTERVAL,
            *([number_column("Pairing", "pairing")] if is_beside else []),
        ),
        notes=tuple(notes),
        group="kind",
    )


def _by_domains(provenance: Provenance | None) -> list[str]:
    """A note on means that were not formed as in the paper (``summarize --average domains``)."""
    if provenance is None or provenance.details.get("average") != "domains":
        return []
    return [
        "Every domain weighs the same, as in BabyLM's leaderboards; such means have no interval."
    ]


@table(
    inputs=[Summaries],
    title="Likert, ties wrong",
    section="paradigms",
    caption="Likert accuracy with equal ratings counted as wrong. Like Table 4 of the EWoK paper.",
    when=study.has_strict_likert,
    options=[EVAL_TYPE],
)
def likert_strict(
    summaries: pd.DataFrame,
    roster: Roster,
    provenance: Provenance | None = None,
    eval_type: str = "likert_constrained_two",
) -> Sheet:
    """Likert accuracy when equal ratings count as wrong (Table 4; paper, Appendix B.2)."""
    sheet = mean_accuracy(summaries, roster, provenance, eval_type, metric="strict")
    note = "Chance is below 0.5: a model that always gives the same rating scores 0."
    title = (
        f"Accuracy by Likert ratings ({selection.in_words(eval_type)}), equal ratings counted as"
        " wrong."
    )
    return replace(sheet, title=title, notes=(note, *sheet.notes))


def _with_missing(mean: float, missing: float) -> str:
    """A mean, and the share of targets without an answer or a score.

    >>> _with_missing(0.5, 0.0), _with_missing(0.0, 1.0), _with_missing(0.712, 0.001)
    ('0.500', '0.000 (100% unread)', '0.712 (0.1% unread)')
    """
    share = f"{missing:.1%}".replace(".0%", "%") if missing >= 0.001 else "< 0.1%"
    return decimals(3)(mean) + (f" ({share} unread)" if missing > 0 else "")


def _humans(rows: pd.DataFrame) -> list[str]:
    """A note on people, who rate in a way of their own and so have no column."""
    return [
        f"Humans, by their mean ratings: {decimals(3)(mean)}."
        for mean in rows[rows.model == HUMAN]["mean"]
    ]


def _setup_heading(eval_type: str) -> tuple[str, str]:
    """Shared heading and own heading of a paradigm's column.

    >>> _setup_heading("likert_constrained_two"), _setup_heading("logprobs")
    (('Likert', 'constr., 2 ex.'), ('', 'LogProbs'))
    >>> _setup_heading("logprobs_targets_mean")
    ('LogProbs', 'targets, mean')
    """
    if eval_type in TARGET_TYPES:
        return way_of("logprobs").title, f"targets, {eval_type.rpartition('_')[2]}"
    way = way_of(eval_type)
    return (
        (selection.in_words(way.paradigm), ", ".join(way.short)) if way.short else ("", way.title)
    )
