"""Tables of accuracy: mean and range (Table 1), domains (2), strict Likert (4), paradigms,
conditions, controls, families.
"""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from worldprobe.benchmark import Input, table
from worldprobe.benchmarks.ewok import selection, study
from worldprobe.benchmarks.ewok.analysis.panel import drawn_units, status_notes
from worldprobe.benchmarks.ewok.contracts import (
    ConditionComparisons,
    ControlAccuracies,
    FamilyLevels,
    Summaries,
)
from worldprobe.benchmarks.ewok.vocabulary import EVAL_TYPES, TARGET_CONTRASTS, TARGET_TYPES, way_of
from worldprobe.errors import UserError
from worldprobe.models.registry import BASELINES
from worldprobe.provenance import Provenance
from worldprobe.report.model_names import HUMAN, Roster, is_baseline
from worldprobe.report.sheet import (
    DETECTABLE,
    INTERVAL,
    MODEL,
    MODEL_ONCE,
    MORE_THAN_POSSIBLE,
    Column,
    Sheet,
    decimals,
    p_value,
    span,
    whole_number,
)

#: ways of asking a model, in the order of the columns.
MODEL_TYPES = (*EVAL_TYPES, *TARGET_TYPES)


#: What the baselines are; each compares a vector of the target with one of each context by cosine.
BASELINE_NOTES = {
    "sentence_vectors": "cosine of target and context in a sentence encoder.",
    "wordnet": "cosine of the glosses of words and related senses, agents' names left out.",
    "word2vec": "cosine of their summed word vectors, agents' names left out.",
}


@table(
    inputs=[Summaries],
    title="Accuracy by domain",
    section="accuracy",
    caption=(
        "Average and highest accuracy by domain, over published models (trained controls if"
        " there are none); with humans where they were asked. Like Table 2 of the EWoK paper."
    ),
    when=study.has_logprobs,
    options=[selection.EVAL_TYPE],
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
    for domain in selection.domain_order(models, roster):
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
        Column("Domain", ("name",), is_number=False),
        Column("LLM average", ("llm_average",), decimals(3)),
        Column("LLM highest", ("llm_best",), decimals(3)),
        Column("Model with it", ("best_name",), is_number=False),
        Column("Human", ("human",), decimals(3)),
    ]
    who = "" if frame.human.isna().all() else " and humans"
    if not who:
        columns.pop()
    notes = [
        f"Models in the average: {frame.n_models.max()}. We did not test whether this order of"
        " domains holds for other items."
    ]
    if frame.n_models.max() > 1:
        notes.append(
            "The best of several scores is usually too optimistic: expect less on new items."
        )
    if len(calibration):
        names = ", ".join(roster[model].name for model in roster.in_order(calibration.model))
        notes.append(
            f"The average leaves out untrained controls ({names}; mean"
            f" {decimals(3)(frame.untrained.mean())})."
        )
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
    options=[selection.METRIC],
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
        metric: "accuracy" or "strict", as in ``mean_accuracy``.
    """
    rows = selection.over_versions(selection.pick(summaries, "overall", None, metric))
    means = selection.language_models(rows)
    means = means.assign(
        place=means.eval_type.map(MODEL_TYPES.index),
        row=means.model.map({model: i for i, model in enumerate(roster.in_order(means.model))}),
    ).sort_values(["row", "place"], kind="stable")
    models = list(dict.fromkeys(means.model))
    shown = [name for name in MODEL_TYPES if name in set(means.eval_type)]
    by_type = {name: means[means.eval_type == name].set_index("model") for name in shown}
    frame = pd.DataFrame({"model": models, "name": [roster[model].name for model in models]})
    columns = [MODEL]
    for name in shown:
        by_type[name]["missing"] = by_type[name].n_missing / (2 * by_type[name].n)
        for part in ("mean", "low", "high", "missing"):
            frame[f"{name}_{part}"] = [
                by_type[name][part].get(model, float("nan")) for model in models
            ]
        over, heading = _setup_heading(name)
        columns.append(
            Column(heading, (f"{name}_mean", f"{name}_missing"), _with_missing, over=over)
        )
    is_unread = bool((means.n_missing > 0).any())
    return Sheet(
        title="Mean accuracy of every model for every way of asking.",
        frame=frame,
        columns=tuple(columns),
        notes=(
            *(
                ["Only items that all models were prompted about."]
                if (means.grouping == "prompted").any()
                else []
            ),
            *_humans(rows),
            *_by_domains(provenance),
            (
                "free: free generation; constr.: choice among the valid answers; ex.: worked"
                " examples in the prompt."
            ),
            *(
                [
                    "unread: share of targets without a readable answer (counted as wrong) or"
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
    options=[selection.EVAL_TYPE, selection.METRIC],
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
        metric: "accuracy" (ties count one half) or "strict" (ties count as wrong).
    """
    rows = selection.pick(summaries, "overall", eval_type, metric)
    if metric == "strict" or eval_type != "logprobs":  # cosines are a baseline for LogProbs only
        rows = rows[~rows.model.isin(BASELINES)]
    versions = selection.single_versions(rows).groupby("model")["condition"].nunique()
    means = selection.over_versions(rows).set_index("model", drop=False)
    order = roster.in_order(means.index)
    frame = means.loc[order].reset_index(drop=True)
    frame = frame.assign(
        name=[roster[model].name for model in order],
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
    frame = frame[[*wanted, "n_versions", "n", "n_ties", "n_near_ties", "n_missing"]]
    count = int(versions.max()) if len(versions) else 0
    notes = [
        *([f"Range: lowest and highest version of {count}."] if count > 1 else []),
        *(
            _by_domains(provenance)
            or [f"95% intervals; random factors: {drawn_units(provenance)}."]
        ),
        *status_notes(means["status"]),
    ]
    notes += [
        f"{roster[name].name}: {text}"
        for name, text in BASELINE_NOTES.items()
        if name in set(frame.model)
    ]
    kept = "one half" if metric == "accuracy" else "as wrong"
    of_models = frame[frame.kind == "model"]
    notes.append(
        f"Exact ties count {kept}. Over all models: {of_models.n_ties.sum():,.0f} ties,"
        f" {of_models.n_missing.sum():,.0f} unreadable answers."
    )
    return Sheet(
        title=(
            f"Accuracy by model ({selection.in_words(eval_type)}); versions: {count}; chance is"
            " 0.5."
        ),
        frame=frame,
        columns=(
            MODEL,
            Column("Mean", ("mean",), decimals(3)),
            Column("Range", ("low", "high"), span),
            INTERVAL,
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
    options=[selection.EVAL_TYPE],
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


CONDITION_COMPARISONS = Input(ConditionComparisons, "conditions.parquet")


@table(
    inputs=[CONDITION_COMPARISONS],
    title="Conditions",
    section="conditions",
    caption=(
        "Accuracy of each model in each condition, and its difference from the first condition"
        " over shared templates, with interval and paired test."
    ),
    when=study.has_conditions,
)
def conditions(
    comparisons: pd.DataFrame, roster: Roster, provenance: Provenance | None = None
) -> Sheet:
    """Accuracy in the reference and in each other condition, with the paired difference, a row per
    model and condition.

    Args:
        comparisons: the ConditionComparisons table.
        roster: names and order of the models.
        provenance: of that table, with the titles of the conditions.
    """
    titles = provenance.details.get("titles", {}) if provenance else {}
    overall = comparisons[comparisons.grouping == "overall"]
    order = {model: number for number, model in enumerate(roster.in_order(overall.model_a))}
    frame = overall.assign(
        model=overall.model_a,
        name=overall.model_a.map(lambda model: roster[model].name),
        way=overall.eval_type.map(selection.in_words),
        title=overall.condition_a.map(lambda name: titles.get(name, name)),
        place=overall.model_a.map(order),
    )
    frame = (
        frame.sort_values(["eval_type", "place", "condition_a"], kind="stable")
        .drop(columns="place")
        .reset_index(drop=True)
    )
    reference = str(frame.condition_b.iloc[0])
    reference = titles.get(reference, reference)
    columns = [
        MODEL_ONCE,
        Column("Asked by", ("way",), is_number=False, once=True),
        Column("Condition", ("title",), is_number=False),
        Column(reference, ("mean_b",), decimals(3), over="Accuracy"),
        Column("this condition", ("mean_a",), decimals(3), over="Accuracy"),
        Column(reference, ("low_b", "high_b"), span, over="Range over versions"),
        Column("this condition", ("low_a", "high_a"), span, over="Range over versions"),
        Column("Difference", ("difference",), decimals(3)),
        INTERVAL,
        Column("p (Holm)", ("p_holm",), p_value),
        DETECTABLE,
        Column("Templates", ("n",), whole_number),
    ]
    if frame.eval_type.nunique() == 1:
        columns.pop(1)
    return Sheet(
        title=f"Accuracy in each condition, compared with {reference}.",
        frame=frame,
        columns=tuple(columns),
        notes=(
            (
                "Means over shared templates. Range: lowest and highest version, or filling of each"
                " template. 95% interval and two-sided p (Holm's correction); random factors:"
                f" {drawn_units(provenance)}. Detectable: the smallest true difference that 80% of"
                " such studies would find (p < 0.05)."
            ),
            MORE_THAN_POSSIBLE,
            *status_notes(frame.status),
        ),
        group="model",
    )


#: Names of what a model had read, as lines of the table.
READ = {
    "read": "the item itself",
    "new_filling": "its template, other fillings",
    "new_template": "its concepts, other templates",
    "new_concept": "nothing of it (held out)",
}


@table(
    inputs=[ControlAccuracies],
    title="Read and not read",
    section="controls",
    caption=(
        "Accuracy of the control models by what training texts have of an item, and by how its two"
        " targets differ: in the concept (chases, flees from) or in who is who (A chases B, B"
        " chases A). In brackets: 95% intervals over pairs of concepts."
    ),
    when=study.has_generalisation,
)
def control_accuracy(
    accuracies: pd.DataFrame, roster: Roster, provenance: Provenance | None = None
) -> Sheet:
    """A line per model, what it had read and how often; columns by what the two targets swap.

    Args:
        accuracies: ControlAccuracies.
        roster: names and order of the models.
        provenance: of that table, with the number of items.
    """
    keys = ["model", "group", "dose"]
    wide = accuracies.pivot(
        index=keys, columns="targets", values=["mean", "ci_low", "ci_high", "n_items"]
    )
    wide = wide.set_axis(
        ["_".join(names).replace(" ", "_") for names in wide.columns.tolist()], axis=1
    ).reset_index()
    place = {
        model: number for number, model in enumerate(roster.in_order(accuracies["model"].unique()))
    }
    order = wide.assign(
        model=wide["model"].map(place), group=wide["group"].map(list(READ).index)
    ).sort_values(keys)
    frame = wide.loc[order.index].reset_index(drop=True)
    frame.insert(1, "name", [roster[model].name for model in frame["model"]])
    columns = []
    for targets in ("all", *TARGET_CONTRASTS):
        if (name := targets.replace(" ", "_")) and f"mean_{name}" in frame:
            heading = "All" if targets == "all" else f"{targets.capitalize()}s"
            shown = tuple(f"{kind}_{name}" for kind in ("mean", "ci_low", "ci_high"))
            columns += [
                Column("accuracy", shown, _with_interval, over=heading),
                Column("items", (f"n_items_{name}",), _count, over=heading),
            ]
    doses = [Column("Times", ("dose",), str)] if frame["dose"].max() > 1 else []
    return Sheet(
        title="What control models know, by what training texts have and how targets differ.",
        frame=frame,
        columns=(
            MODEL_ONCE,
            Column(
                "Training texts have",
                ("group",),
                lambda name: READ[name],
                is_number=False,
                once=bool(doses),
            ),
            *doses,
            *columns,
        ),
        notes=(
            "An untrained model read no text. The last row of each model covers held-out items,"
            " whose situations and concepts are in none. Chance is 0.5."
            f" {_left_out(accuracies, provenance)}are in no row: they are neither known nor new,"
            " because they share situations or words with the training stories.",
            *_note_below_chance(accuracies, roster),
            *_note_gains(by_dose(accuracies)),
        ),
        group="model",
    )


def _left_out(accuracies: pd.DataFrame, provenance: Provenance | None) -> str:
    """How many items are in no row of a model."""
    n_items = provenance.details.get("n_items") if provenance else None
    if n_items is None:
        return "Other items "
    shown = accuracies[accuracies["targets"] == "all"].groupby("model")["n_items"].sum()
    fewest, most = n_items - int(shown.max()), n_items - int(shown.min())
    return f"{fewest:,}{f' to {most:,}' if most > fewest else ''} of {n_items:,} items "


def _note_below_chance(accuracies: pd.DataFrame, roster: Roster) -> list[str]:
    """How many intervals are below chance: what a model learned points the wrong way there."""
    is_untrained = accuracies["model"].map(lambda model: roster[model].is_untrained).astype(bool)
    rows = accuracies[accuracies["ci_high"].notna() & ~is_untrained]
    n_below = int((rows["ci_high"] < 0.5).sum())
    note = (
        f"Intervals below chance: {n_below} of {len(rows)} ({0.025 * len(rows):.1f} expected). One"
        " template of a pair of concepts can teach the wrong answer to another."
    )
    return [note] * (n_below > 0)


def by_dose(accuracies: pd.DataFrame) -> pd.DataFrame:
    """Accuracy of models that read items by how often these occurred: mean over models, with a t
    interval over them.

    Returns:
        group (those of ``READ``, and ``gain``: items that were read minus their templates with
        other fillings, in each model), dose, mean, ci_low, ci_high (missing of one model),
        n_models. Nothing where all models have one dose.
    """
    from scipy import stats

    rows = accuracies[(accuracies["targets"] == "all") & accuracies["mean"].notna()]
    of_doses = (
        rows[(rows["group"] == "read") & (rows["dose"] > 0)].groupby("model")["dose"].nunique()
    )
    rows = rows.loc[
        rows["model"].isin(of_doses.index[of_doses > 1]), ["model", "group", "dose", "mean"]
    ]
    if rows.empty:
        return pd.DataFrame(columns=["group", "dose", "mean", "ci_low", "ci_high", "n_models"])
    means = {
        group: part.set_index(["model", "dose"])["mean"] for group, part in rows.groupby("group")
    }
    gains = (means["read"] - means["new_filling"]).dropna().reset_index().assign(group="gain")
    made = (
        pd.concat([rows, gains])
        .groupby(["group", "dose"])["mean"]
        .agg(["mean", "sem", "count"])
        .reset_index()
    )
    reach = made["sem"] * stats.t.ppf(0.975, (made["count"] - 1).clip(lower=1))
    made["ci_low"], made["ci_high"] = made["mean"] - reach, made["mean"] + reach
    return made.rename(columns={"count": "n_models"})[
        ["group", "dose", "mean", "ci_low", "ci_high", "n_models"]
    ]


def _note_gains(doses: pd.DataFrame) -> list[str]:
    """Gain in accuracy of items that were read so many times over the same templates with other
    fillings.
    """
    gains = doses[doses["group"] == "gain"].to_dict("records")
    shown = [
        f"{_with_interval(row['mean'], row['ci_low'], row['ci_high'])} if read {row['dose']}×"
        for row in gains
    ]
    note = (
        "Gain from a leak (accuracy on items that were read, minus accuracy on the same templates"
        f" with other fillings; mean and 95% interval over trainings): {', '.join(shown)}."
    )
    return [note] * (len(gains) > 0)


def _with_interval(mean: float, low: float, high: float) -> str:
    """The mean, and the interval in brackets.

    >>> (
    ...     _with_interval(0.961, 0.94, 0.98),
    ...     _with_interval(1.0, float("nan"), float("nan")),
    ...     _with_interval(*[float("nan")] * 3),
    ... )
    ('0.961 (0.940–0.980)', '1.000', '–')
    """
    if pd.isna(mean):
        return "–"
    return decimals(3)(mean) + (
        "" if pd.isna(low) else f" ({decimals(3)(low)}–{decimals(3)(high)})"
    )


def _count(value: float) -> str:
    return "–" if pd.isna(value) else f"{int(value)}"


FAMILY_LEVELS = Input(FamilyLevels, "families.parquet")
#: Family of ours -> what its level counts.
LEVEL_NAMES = {
    "depth": "steps of inference",
    "negation": "negations",
    "ratio": "smaller number, to nine",
    "entities": "people",
    "distraction": "no, neutral, distracting sentence",
    "belief": "no change, seen, unseen",
}


def pick_levels(levels: pd.DataFrame, eval_type: str) -> pd.DataFrame:
    """The rows of one eval_type, with those of humans and baselines; families in our order.

    Raises:
        UserError: there is none of this eval_type.
    """
    is_baseline = levels["model"].map(selection.BASELINE_TYPES).eq(levels["eval_type"])
    if not (levels["eval_type"] == eval_type).any():
        known = ", ".join(sorted(levels["eval_type"].unique()))
        raise UserError(
            "--eval-type",
            f'families were not asked by "{eval_type}".',
            f"Choose one of: {known}.",
        )
    order = [*LEVEL_NAMES, *sorted(set(levels["family"]) - set(LEVEL_NAMES))]
    rows = levels[is_baseline | (levels["eval_type"] == eval_type)]
    return rows.sort_values("family", key=lambda column: column.map(order.index), kind="stable")


@table(
    inputs=[FAMILY_LEVELS],
    title="Families",
    section="families",
    caption=(
        "Accuracy at each level of each family, and the slope: change of accuracy per level within"
        " bases."
    ),
    when=study.has_families,
    options=[selection.EVAL_TYPE],
)
def family_accuracy(levels: pd.DataFrame, roster: Roster, eval_type: str = "logprobs") -> Sheet:
    """A row per family and model: accuracy at each level from the lowest, the slope, its interval
    and test.

    Args:
        levels: FamilyLevels.
        roster: names and order of the models.
        eval_type: way of asking.
    """
    rows = pick_levels(levels, eval_type)
    means = rows[rows["level"].notna()]
    means = means.assign(place=means.groupby("family")["level"].rank(method="dense").astype(int))
    wide = means.pivot(index=["family", "model"], columns="place", values="mean")
    wide.columns = [f"level_{place}" for place in wide.columns]
    slopes = rows[rows["level"].isna()].rename(columns={"mean": "slope"})
    frame = slopes.merge(wide.reset_index(), on=["family", "model"], validate="one_to_one")
    order = roster.in_order(frame["model"].unique())
    frame = frame.assign(
        name=[roster[model].name for model in frame["model"]], place=frame["model"].map(order.index)
    )
    families = list(dict.fromkeys(rows["family"]))
    frame = frame.assign(order=frame["family"].map(families.index)).sort_values(
        ["order", "place"], kind="stable"
    )
    frame = frame[
        [
            "family",
            "model",
            "name",
            *wide.columns,
            "slope",
            "ci_low",
            "ci_high",
            "p",
            "detectable",
            "n_bases",
            "n_items",
        ]
    ]
    at = {
        family: ", ".join(map(str, sorted(part["level"].unique())))
        for family, part in means.groupby("family")
    }
    said = [
        f"{family}: {at[family]}" + (f" ({LEVEL_NAMES[family]})" if family in LEVEL_NAMES else "")
        for family in families
    ]
    return Sheet(
        title="Accuracy by level of each family, and the slope over levels.",
        frame=frame.reset_index(drop=True),
        columns=(
            Column("Family", ("family",), is_number=False, once=True),
            MODEL,
            *(
                Column(str(place), (name,), decimals(3), over="Accuracy, levels from the lowest")
                for place, name in enumerate(wide.columns, start=1)
            ),
            Column("Slope", ("slope",), decimals(3)),
            INTERVAL,
            Column("p", ("p",), p_value),
            DETECTABLE,
            Column("Bases", ("n_bases",), whole_number),
        ),
        notes=(
            f"Levels are {'; '.join(said)}.",
            (
                "The templates of a base have the same targets and fillers at all levels. Slope:"
                " change of accuracy per level, by least squares within bases. Interval and"
                " two-sided p; random factor: bases. Detectable: the smallest true slope that 80%"
                " of such studies would find (p < 0.05). p values are not corrected for the number"
                " of slopes. Chance is 0.5."
            ),
            MORE_THAN_POSSIBLE,
        ),
        group="family",
    )
