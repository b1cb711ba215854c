"""Tables of each model: against chance, by domain, by type of context and by way of asking; the
page shows them, that of ``evaluate``, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from worldprobe.benchmark import TOP, Study, table
from worldprobe.benchmarks.ewok import selection, study
from worldprobe.benchmarks.ewok.analysis.panel import interval_notes
from worldprobe.benchmarks.ewok.contracts import Summaries
from worldprobe.benchmarks.ewok.options import EVAL_TYPE
from worldprobe.benchmarks.ewok.tables.accuracy import PAIRING
from worldprobe.benchmarks.ewok.vocabulary import (
    EVAL_TYPES,
    NO_PAIRING,
    PAIRS,
    has_pairing,
    is_prompted,
)
from worldprobe.errors import UserError
from worldprobe.report.findings import STANDING, against_chance, models_sheet, standing
from worldprobe.report.model_names import Roster
from worldprobe.report.sentences import CitedSentence, quote, quote_interval, quote_rows
from worldprobe.report.sheet import (
    INTERVAL,
    MODEL_ONCE,
    Sheet,
    SheetColumn,
    decimals,
    number_column,
    percent,
    span,
    text_column,
    whole_number,
)

#: So many models are described one by one.
FEW = 2


def headline(settings: Study) -> dict[str, str]:
    """The way of asking that a study's page is about: the first one that it names."""
    return {"eval_type": settings["ewok"]["eval_types"][0]}


def first_eval_type(summaries: pd.DataFrame) -> str:
    """LogProbs where they were scored, otherwise the first way of asking that was used.

    Raises:
        UserError: there are no rows of a model.
    """
    present = set(summaries.eval_type)
    asked = next((name for name in EVAL_TYPES if name in present), None)
    if asked is None:
        raise UserError(
            "summaries",
            "contain no rows of a language model.",
            "Summarize the judgements of at least one model.",
        )
    return asked


def mean_accuracies(
    summaries: pd.DataFrame, roster: Roster, eval_type: str = "logprobs"
) -> pd.DataFrame:
    """Accuracy of every model, people and baseline against chance, beside pairing and means over
    pairs of concepts.

    No model is called best: that is for the comparisons, which are corrected for their number.
    """
    means = selection.over_versions(selection.pick(summaries, "overall", eval_type))
    means = means.assign(pairing=selection.pairings(summaries, means))
    answered = selection.subjects(means, roster).dropna(subset="mean")
    means = against_chance(means, list(answered["model"]), roster)
    pairs = _accuracies(summaries).query(f"grouping == '{PAIRS}' and eval_type == '{eval_type}'")
    paired = pd.Series(selection.pairings(summaries, pairs), pairs["model"], dtype=float)
    by_pairs = pairs.set_index("model")
    beside = {
        f"by_pair_{end}": means["model"].map(by_pairs[end]) for end in ("mean", "ci_low", "ci_high")
    }
    return means.assign(**beside, paired_by_pair=means["model"].map(paired))


def _accuracies(summaries: pd.DataFrame) -> pd.DataFrame:
    return selection.over_versions(summaries[summaries.metric == "accuracy"])


def _described(summaries: pd.DataFrame, roster: Roster, eval_type: str) -> list[str]:
    """The models that findings are about, the highest mean first."""
    means = mean_accuracies(summaries, roster, eval_type)
    return [str(model) for model in means.loc[means["is_counted"], "model"]]


@table(
    inputs=[Summaries],
    title="Against chance",
    section=TOP.id,
    caption=(
        "Accuracy of every model, people and baseline with its 95% interval, and whether it is"
        " above or below chance."
    ),
    options=[EVAL_TYPE],
    chosen=headline,
)
def models_against_chance(
    summaries: pd.DataFrame,
    roster: Roster,
    eval_type: str | None = None,
    is_estimate: bool = True,
) -> Sheet:
    """Every model against chance, by the first way of asking if no other is named.

    Args:
        summaries: the Summaries table.
        roster: names of the models.
        eval_type: way of asking.
        is_estimate: whether means over pairs estimate those of all items; they are left out where
            a sample is too small for that.
    """
    eval_type = eval_type or first_eval_type(summaries)
    means = mean_accuracies(summaries, roster, eval_type)
    has_pairs = is_estimate and bool(means["by_pair_mean"].notna().any())
    columns = [
        number_column("Mean over pairs of concepts", "by_pair_mean"),
        SheetColumn("95% interval over pairs", ("by_pair_ci_low", "by_pair_ci_high"), span),
    ] * has_pairs
    notes = ["A mean over pairs gives every pair of concepts the same weight."] * has_pairs
    if has_pairing(eval_type) and means["pairing"].notna().any():
        columns.append(number_column("Pairing", "pairing"))
        columns += [number_column("Pairing, over pairs of concepts", "paired_by_pair")] * has_pairs
        notes.append(PAIRING)
    elif not has_pairing(eval_type):
        notes.append(NO_PAIRING)
    notes += interval_notes(means, means["name"])
    return models_sheet(means, more=columns, notes=notes)


@table(
    inputs=[Summaries],
    title="Domains of each model",
    section="accuracy",
    caption=(
        "Accuracy of each published model (trained controls if there are none) by domain: whether"
        " it is above or below chance, and which of its domains are shown to differ."
    ),
    options=[EVAL_TYPE],
    chosen=headline,
)
def domains_by_model(
    summaries: pd.DataFrame, roster: Roster, eval_type: str | None = None
) -> Sheet:
    """Domains of each model, from the highest to the lowest mean where a model's domains differ
    reliably, and those that are lower on other items too.
    """
    eval_type = eval_type or first_eval_type(summaries)
    frame, findings = _domains(summaries, roster, eval_type)
    reliability = frame.drop_duplicates("model").set_index("model")["reliability"].dropna()
    return Sheet(
        "Accuracy of each model by domain.",
        frame,
        (
            MODEL_ONCE,
            text_column("Domain", "domain"),
            number_column("Accuracy", "mean"),
            INTERVAL,
            text_column("Against chance, all rows at once", "against"),
            text_column("Higher than", "lower"),
        ),
        notes=(
            "The last two columns use wider intervals, which hold for all rows at once.",
            selection.say_reliability(reliability, roster),
            *interval_notes(frame, frame["name"] + ", " + frame["domain"]),
        ),
        finding=CitedSentence(" ".join(findings)),
        group="name",
    )


def domains_in_words(
    summaries: pd.DataFrame, roster: Roster, eval_type: str
) -> list[CitedSentence]:
    """A sentence about the domains of each model, where these are few."""
    return [CitedSentence(finding) for finding in _domains(summaries, roster, eval_type)[1]]


def _domains(
    summaries: pd.DataFrame, roster: Roster, eval_type: str
) -> tuple[pd.DataFrame, list[str]]:
    """Rows of ``domains_by_model``, and a finding about each model, where these are few."""
    from worldprobe.analysis.comparisons import at_once  # SciPy, which Snakemake need not load

    models = _described(summaries, roster, eval_type)
    rows = _accuracies(summaries)
    rows = rows[(rows.grouping == "domain") & (rows.eval_type == eval_type)]
    n_intervals = int(rows.loc[rows["model"].isin(models), "ci_low"].notna().sum())
    empty = rows.iloc[:0].assign(name="", domain="", against="", lower="", reliability=0.0)
    parts, findings = [empty], []
    reliability = selection.all_reliabilities(summaries, eval_type).reindex(models)
    for model in models:
        model_rows = rows[rows.model == model].sort_values("group")
        if selection.are_reliable(reliability[reliability.index == model].dropna()):
            model_rows = model_rows.sort_values("mean", ascending=False, kind="stable")
        ends = at_once(model_rows, n_intervals)
        domains = model_rows["group"].map(selection.in_words)
        part = model_rows.assign(
            name=roster[model].name,
            domain=domains,
            against=standing(model_rows, n_intervals=n_intervals),
            lower=[", ".join(domains[ends["ci_high"] < low]) for low in ends["ci_low"]],
            reliability=float(reliability[model]),
        )
        parts.append(part)
        findings += [_domains_finding(part)] * int(part["mean"].notna().any())
    return pd.concat(parts, ignore_index=True), findings if len(findings) <= FEW else []


def _domains_finding(rows: pd.DataFrame) -> str:
    """In which domains one model is above or below chance, and whether any two differ."""
    above, below, unknown = (
        list(rows.loc[rows["against"] == side, "domain"])
        for side in ("above", "below", STANDING["no interval"])
    )
    named = f" ({', '.join(above)})" if above else ""
    n_above, n_below, compared = (
        quote_rows(
            int(rows["against"].isin(against).sum()),
            "domains_by_model",
            "against",
            "count",
            model=str(rows["model"].iloc[0]),
            against=against,
        )
        for against in (
            ["above"],
            ["below"],
            [v for k, v in STANDING.items() if k != "no interval"],
        )
    )
    finding = (
        f"is above chance in {n_above} of {compared} domains{named} and below in {n_below}"
        if above or below
        else f"is not shown to differ from chance in any of {compared} domains"
        if len(rows) > len(unknown)
        else "is not compared with chance by domain"
    )
    if unknown:
        finding += f" ({len(unknown)} without an interval)"
    differ = "some" if (rows["lower"] != "").any() else "no two"
    return f"{rows['name'].iloc[0]} {finding}; {differ} domains are shown to differ."


@table(
    inputs=[Summaries],
    title="Types of context",
    section="accuracy",
    caption=(
        "Accuracy of each published model (trained controls if there are none) where contexts name"
        " the concept and where they imply it."
    ),
    options=[EVAL_TYPE],
    chosen=headline,
)
def contexts_by_model(
    summaries: pd.DataFrame, roster: Roster, eval_type: str | None = None
) -> Sheet:
    """Each model by type of context."""
    rows = _by_context(summaries, roster, eval_type or first_eval_type(summaries))
    notes = ["Direct contexts name the concept; indirect ones imply it."]
    return _sheet_of_ways("type of context", "Contexts", rows, notes)


def _by_context(summaries: pd.DataFrame, roster: Roster, eval_type: str) -> pd.DataFrame:
    models = _described(summaries, roster, eval_type)
    rows = _known_rows(summaries, models, roster)
    is_meant = (rows["grouping"] == "context_type") & (rows["eval_type"] == eval_type)
    return rows[is_meant].assign(asked=rows["group"]).reset_index(drop=True)


def contexts_in_words(
    summaries: pd.DataFrame, roster: Roster, eval_type: str
) -> list[CitedSentence]:
    """A sentence about direct and indirect contexts of each model, where these are few."""
    rows, sentences = _by_context(summaries, roster, eval_type), []
    by = ("group",)
    for name, of_model in rows.groupby("name", sort=False):
        said = {
            row["group"]: quote(decimals(3)(row["mean"]), "contexts_by_model", row, "mean", by=by)
            + " (95% interval: "
            + quote_interval("contexts_by_model", row, "ci_low", "ci_high", by)
            + ")"
            for row in of_model.to_dict("records")
        }
        if {"direct", "indirect"} <= said.keys():
            sentences.append(
                f"{name} has an accuracy of {said['direct']} where contexts name the concept and"
                f" of {said['indirect']} where they imply it; these are other items, and no test"
                " compares the two."
            )
    return [CitedSentence(text) for text in sentences] if len(sentences) <= FEW else []


@table(
    inputs=[Summaries],
    title="Ways of asking each model",
    section="paradigms",
    caption=(
        "Accuracy of each published model (trained controls if there are none) by way of asking,"
        " with intervals, on items that it was asked about in every way."
    ),
    when=study.has_prompting,
    options=[EVAL_TYPE],
    chosen=headline,
)
def ways_by_model(summaries: pd.DataFrame, roster: Roster, eval_type: str | None = None) -> Sheet:
    """Each model by way of asking on items that all ways asked about."""
    models = _described(summaries, roster, eval_type or first_eval_type(summaries))
    rows = _known_rows(summaries, models, roster)
    parts = [rows.iloc[:0]]
    for _, of_model in rows.groupby("name", sort=False):
        is_same = of_model["grouping"] == (
            "prompted" if (of_model["grouping"] == "prompted").any() else "overall"
        )
        ways = of_model[is_same & of_model["eval_type"].isin(EVAL_TYPES)].sort_values(
            "eval_type", key=lambda names: names.map(EVAL_TYPES.index)
        )
        if len(ways) > 1 and of_model[is_same]["n"].nunique() == 1:
            parts.append(ways)
    ways = pd.concat(parts, ignore_index=True)
    ways = ways.assign(asked=ways["eval_type"].map(selection.in_words))
    is_half_everywhere = (ways["status"] == "no_spread") & (ways["mean"] == 0.5)
    has_no_ties, has_only_ties = ways["n_ties"] == 0, ways["n_ties"] == 2 * ways["n"]
    stuck = ways[is_half_everywhere & (has_no_ties | has_only_ties)]
    why = (stuck["n_ties"] > 0).map(
        {
            True: ": all answers tie.",
            False: ": one of two targets is right in every item, as if position decided.",
        }
    )
    n_items = " or ".join(map(whole_number, ways["n"].unique()))
    what = f"way of asking on the {n_items} items that were also prompted"
    return _sheet_of_ways(what, "Way of asking", ways, stuck["name"] + ", " + stuck["asked"] + why)


def _known_rows(summaries: pd.DataFrame, models: Sequence[str], roster: Roster) -> pd.DataFrame:
    """Accuracies over versions of some models, in their order."""
    rows = _accuracies(summaries)
    known = [rows[(rows["model"] == model) & rows["mean"].notna()] for model in models]
    rows = pd.concat([rows.iloc[:0], *known])
    # objects also where there are no rows
    return rows.assign(name=pd.Series(roster.names(rows["model"]), rows.index, dtype=object))


def _sheet_of_ways(what: str, heading: str, rows: pd.DataFrame, notes: Iterable[str]) -> Sheet:
    """Rows of each model, of which each has another label in the column ``asked``."""
    unread = rows["n_missing"] / (2 * rows["n"])  # of what is only scored, nothing is read
    is_read = rows["eval_type"].map(is_prompted).astype(bool) | (unread > 0)
    return Sheet(
        f"Accuracy by {what}.",
        rows.assign(unread=unread.where(is_read)),
        (
            MODEL_ONCE,
            text_column(heading, "asked"),
            number_column("Accuracy", "mean"),
            INTERVAL,
            number_column("Items", "n", whole_number),
            *[number_column("Unreadable (%)", "unread", percent)] * bool(is_read.any()),
        ),
        notes=(*notes, *interval_notes(rows, rows["name"] + ", " + rows["asked"])),
        group="name",
    )


#: Tables that a page without printed tables prints itself.
OF_PAGE = (models_against_chance, domains_by_model, contexts_by_model, ways_by_model)
