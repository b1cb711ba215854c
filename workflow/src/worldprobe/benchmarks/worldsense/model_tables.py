"""Tables of each model: against chance and rules, its response biases, and how its replies were
read; the page shows them, that of ``evaluate``, too.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from worldprobe.benchmark import TOP, table
from worldprobe.benchmarks.worldsense import outputs, selection
from worldprobe.contracts.results import OVERALL
from worldprobe.errors import TooLittleError
from worldprobe.provenance import Provenance
from worldprobe.report.findings import against_chance, models_sheet, standing
from worldprobe.report.model_names import Roster
from worldprobe.report.sentences import CitedSentence, quote, quote_interval, quote_rows
from worldprobe.report.sheet import (
    MODEL,
    MODEL_ONCE,
    Sheet,
    SheetColumn,
    decimals,
    number_column,
    span,
    text_column,
    whole_number,
)

_BIASES_FINDING = "{number} of {n_intervals} biases with an interval {verb} shown to differ from 0."


#: Where a bias lies with respect to 0 -> the answers towards which it is.
_DIFFERS = {"above": "TRUE, POSSIBLE or KNOWN", "below": "FALSE, IMPOSSIBLE or UNKNOWN"}
#: So many biases are described one by one.
FEW = 6


def described_models(rows: pd.DataFrame, roster: Roster) -> list[str]:
    """The models that findings are about, in their order."""
    return selection.language_models(roster.in_order(rows["model"]), roster)


def means_against_rules(summaries: pd.DataFrame, roster: Roster) -> pd.DataFrame:
    """Accuracy of every model and rule against chance and against the rule that never chains two
    clauses, and the share of answers that could not be read.
    """
    overall = selection.of_main(selection.pick(summaries, OVERALL))
    asked = described_models(overall, roster)
    means = against_chance(overall, asked, roster)
    invalid = selection.of_main(selection.pick(summaries, OVERALL, "invalid"))
    return means.assign(
        prompting=means["eval_type"].map(selection.prompting_name),
        invalid=means["model"].map(invalid.set_index("model")["mean"]),
        against_rule=means["model"].map(_against_rule(summaries, asked)),
    )


def _against_rule(summaries: pd.DataFrame, asked: Sequence[str]) -> dict[str, str]:
    """Where models lie with respect to the rule that counts, on the same tuples."""
    if not (summaries["metric"] == "above_counting").any():
        return {}
    gains = selection.of_main(selection.pick(summaries, OVERALL, "above_counting"))
    gains = gains[gains["model"].isin(asked)].set_index("model")
    return dict(standing(gains, 0.0))


@table(
    name="worldsense_against_chance",
    inputs=[selection.SUMMARIES],
    title="Against chance",
    section=TOP.id,
    caption=(
        "Accuracy of every model and rule with its 95% interval over skins, and whether it is above"
        " or below chance and the rule that counts."
    ),
    when=outputs.is_asked,
)
def models_against_chance(summaries: pd.DataFrame, roster: Roster) -> Sheet:
    """Every model against chance and the rule that never chains two clauses."""
    means = means_against_rules(summaries, roster)
    ways = [text_column("Prompting", "prompting")]
    more = [
        text_column("Against the counting rule", "against_rule"),
        *(ways if means["prompting"].nunique() > 1 else []),
        number_column("Invalid", "invalid", "{:.1%}".format),
    ]
    note = (
        "No interval: there is one skin, or all skins are alike. Invalid: share of answers that"
        " could not be read, weighted as accuracy is; they count as wrong."
    )
    return models_sheet(means, over=" over skins", more=more, notes=(note,))


def find_biases(summaries: pd.DataFrame, roster: Roster) -> pd.DataFrame:
    """Mean biases by model and problem, and where they lie with respect to 0."""
    rows = selection.of_main(selection.pick(summaries, "problem", "bias", columns=("problem",)))
    rows = rows[rows["model"].isin(described_models(rows, roster))]
    return rows.assign(
        name=roster.names(rows["model"]),
        problem=rows["problem"].map(selection.PROBLEM_NAMES),
        against=standing(rows, 0.0),
    ).sort_values("mean", ignore_index=True)


@table(
    name="worldsense_biases",
    inputs=[selection.SUMMARIES],
    title="Response biases",
    section="problems",
    caption="Response biases that differ from 0, or are the same in all skins, by problem.",
    when=outputs.is_asked,
)
def biases(summaries: pd.DataFrame, roster: Roster) -> Sheet:
    """Biases of models that differ from 0, or are the same in all skins."""
    biases = find_biases(summaries, roster)
    is_alike = biases["status"] == "no_spread"
    differs = biases["against"].isin(_DIFFERS)
    is_shown = differs | (is_alike & (biases["mean"] != 0))
    n_differ = int(differs.sum())
    finding = _BIASES_FINDING.format(
        number=n_differ or "None",
        n_intervals=biases["ci_low"].count(),
        verb="is" if n_differ < 2 else "are",
    )
    same = (biases["name"] + ", " + biases["problem"])[biases["mean"].abs() == 1]
    if len(same):
        finding += f" All answers are the same: {'; '.join(same)}."
    return Sheet(
        "Response biases that differ from 0, or are the same in all skins.",
        biases[is_shown].reset_index(drop=True),
        (
            MODEL,
            text_column("Problem", "problem"),
            number_column("Bias", "mean", decimals(2)),
            SheetColumn("95% interval over skins", ("ci_low", "ci_high"), span),
            text_column("Against 0", "against"),
        ),
        notes=(
            "Above 0: towards TRUE, POSSIBLE, KNOWN; below: FALSE, IMPOSSIBLE, UNKNOWN. Intervals"
            " hold for all means at once.",
        ),
        finding=finding,
    )


def biases_in_words(summaries: pd.DataFrame, roster: Roster) -> list[CitedSentence]:
    """How many response biases differ from 0, and each of them, where these are few."""
    biases, by = find_biases(summaries, roster), ("problem",)
    differing = biases[biases["against"].isin(_DIFFERS)].to_dict("records")
    if not biases["ci_low"].notna().any():
        return []
    number = quote_rows(
        len(differing), "worldsense_biases", "against", "count", against=list(_DIFFERS)
    )
    what = "response bias is" if len(differing) == 1 else "response biases are"
    sentences = [f"By problem, {number} {what} shown to differ from 0."]
    for row in differing if len(differing) <= FEW else ():
        mean = quote(decimals(2)(row["mean"]), "worldsense_biases", row, "mean", by=by)
        ends = quote_interval("worldsense_biases", row, "ci_low", "ci_high", by)
        sentences.append(
            f"{row['name']} has a response bias of {mean} (95% interval over skins: {ends}) in"
            f" {row['problem']}, towards {_DIFFERS[row['against']]}."
        )
    return [CitedSentence(text) for text in sentences]


@table(
    name="worldsense_readings",
    inputs=[selection.SUMMARIES],
    title="Ways of reading",
    section="problems",
    caption="Replies whose answer depends on whether they are read by wording or by last word.",
    when=outputs.is_asked,
)
def readings(summaries: pd.DataFrame, roster: Roster, provenance: Provenance) -> Sheet:
    """How many replies the two ways of reading read differently.

    Raises:
        TooLittleError: no model wrote replies.
    """
    asked = described_models(selection.of_main(selection.pick(summaries, OVERALL)), roster)
    counts = {
        "another_answer": "Different answers",
        "only_explicit": "Readable by wording only",
        "only_last_word": "Readable by last word only",
    }
    lines = [
        {
            "name": roster[model].name,
            "prompting": way,
            "read_by": {"explicit": "wording", "last_word": "last word, as in the paper"}[
                replies["rule"]
            ],
            "replies": replies["replies"],
            **{key: replies.get(key, 0) for key in counts},
        }
        for model, ways in provenance.details.get("reading", {}).items()
        if model in asked
        for way, replies in ways.items()
    ]
    if not lines:
        raise TooLittleError("summaries", "no model wrote replies.", "Ask models to reply.")
    n_read = sum(line[key] for line in lines for key in counts)
    n_replies = sum(line["replies"] for line in lines)
    return Sheet(
        "Replies whose answer depends on the way of reading.",
        pd.DataFrame(lines),
        (
            MODEL_ONCE,
            text_column("Prompting", "prompting"),
            text_column("Read by", "read_by"),
            number_column("Replies", "replies", whole_number),
            *(number_column(heading, key, whole_number) for key, heading in counts.items()),
        ),
        notes=(
            "Left out: replies cut at the token limit. Counted, too: replies to the second question"
            " that is asked after an unreadable reply.",
        ),
        finding="Replies are read by their wording or, as in the paper, by their last word; the two"
        f" differ for {n_read:,} of {n_replies:,} replies.",
    )


#: Tables that a page without printed tables prints itself.
OF_PAGE = (models_against_chance, biases, readings)
