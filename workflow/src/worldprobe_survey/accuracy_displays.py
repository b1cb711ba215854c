"""People's accuracy next to the paper's, how far models follow them, and Likert against Choice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from worldprobe.analysis.sign_flips import FEWEST
from worldprobe.benchmark import Input, Study, figure, table
from worldprobe.benchmarks.ewok.analysis.panel import drawn_units
from worldprobe.benchmarks.ewok.analysis.reproduction import people_of_paper, read_published
from worldprobe.benchmarks.ewok.contracts import Agreements
from worldprobe.benchmarks.ewok.figures.paradigms import (
    LABELS,
    count_agreeing,
    draw_preferences,
    preference_levels,
    preference_matrix,
)
from worldprobe.benchmarks.ewok.selection import in_words
from worldprobe.benchmarks.ewok.study import (
    has_both_ways,
    has_people_rated,
    has_responses,
    is_released,
)
from worldprobe.benchmarks.ewok.vocabulary import EVAL_TYPES, is_graded, way_of
from worldprobe.contracts.results import ALL, OVERALL
from worldprobe.paths import RESOURCES
from worldprobe.provenance import Provenance
from worldprobe.report import style
from worldprobe.report.model_names import HUMAN, Roster
from worldprobe.report.sheet import (
    MODEL,
    Sheet,
    SheetColumn,
    decimals,
    number_column,
    span,
    text_column,
    whole_number,
)
from worldprobe_survey.contracts import HumanStatistics, Likeness

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HUMAN_STATISTICS = Input(HumanStatistics, "human/statistics.parquet")
#: The row of a model that predicts people perfectly.
CEILING = "noise_ceiling"
#: Grouping -> how its groups are named in a line, in the order of the lines.
_NAMES = {
    "overall": "all items",
    "domain": "{group}",
    "version": "version {group}",
    "context_type": "context: {group}",
    "context_contrast": "contexts: {group}",
    "target_contrast": "targets: {group}",
}


def has_likeness(study: Study) -> bool:
    """Whether models answered in degrees, as people's ratings do, so that the two can be
    correlated.
    """
    asked = any(is_graded(name) for name in study["ewok"]["eval_types"])
    return asked and has_people_rated(study) and bool(study["models"]) and not is_released(study)


@table(
    inputs=[HUMAN_STATISTICS],
    title="People",
    section="people",
    caption=(
        "Accuracy of people's mean answers, with intervals, next to the paper's. EWoK, Section 4.4"
        " and Tables 1 and 2."
    ),
    when=has_responses,
)
def human_accuracy(statistics: pd.DataFrame, provenance: Provenance | None = None) -> Sheet:
    """A row per group of items; columns for Likert, Choice where people were asked so, and the
    paper's Likert.

    Args:
        statistics: contracts.HumanStatistics.
        provenance: of the statistics.
    """
    rows = statistics[statistics["quantity"] == "accuracy"].copy()
    rows["place"] = rows["grouping"].map(list(_NAMES).index)
    ways = sorted(set(rows["eval_type"]), reverse=True)
    groups = rows.sort_values(["place", "group"]).drop_duplicates(["grouping", "group"])
    frame = groups[["grouping", "group"]].reset_index(drop=True)
    frame["name"] = [
        _NAMES[grouping].format(group=in_words(group))
        for grouping, group in zip(frame["grouping"], frame["group"], strict=True)
    ]
    columns = [text_column("Items", "name")]
    for way in ways:
        part = rows[rows["eval_type"] == way].set_index(["grouping", "group"])
        for name, column in (("mean", "value"), ("low", "ci_low"), ("high", "ci_high"), ("n", "n")):
            frame[f"{way}_{name}"] = [
                part[column].get(pair)
                for pair in zip(frame["grouping"], frame["group"], strict=True)
            ]
        columns += [
            number_column("Mean", f"{way}_mean", over=way.capitalize()),
            SheetColumn("95% interval", (f"{way}_low", f"{way}_high"), span, over=way.capitalize()),
        ]
    published = _read_paper()
    frame["paper"] = [
        published.get(pair) for pair in zip(frame["grouping"], frame["group"], strict=True)
    ]
    columns.append(number_column("Paper", "paper"))
    return Sheet(
        title="Accuracy of people's mean answers; chance is 0.5.",
        frame=frame,
        columns=tuple(columns),
        notes=tuple(_notes(statistics)),
        group="grouping",
    )


@table(
    inputs=[Input(Likeness, "human/likeness.parquet")],
    title="Models and people",
    section="people",
    caption=(
        "Do models prefer one context to the other as clearly as people do? Pearson's correlation"
        " over all targets, with a bootstrap interval, next to the noise ceiling of people's"
        " ratings. EWoK, Section 4.4."
    ),
    when=has_likeness,
)
def likeness_to_people(
    likeness: pd.DataFrame, roster: Roster, provenance: Provenance | None = None
) -> Sheet:
    """A row per model under one for the noise ceiling; two columns per way of asking.

    Args:
        likeness: contracts.Likeness.
        roster: names and order of the models.
        provenance: of the table; it says what was drawn for the intervals.
    """
    models = roster.in_order(likeness["model"])
    ways = [name for name in EVAL_TYPES if name in set(likeness["eval_type"])]
    frame = pd.DataFrame(
        {"model": [CEILING, *models], "kind": ["ceiling", *("model" for _ in models)]}
    )
    frame["name"] = ["Noise ceiling", *(roster[model].name for model in models)]
    columns = [MODEL]
    for way in ways:
        part = likeness[likeness["eval_type"] == way].set_index("model")
        for name in ("r", "ci_low", "ci_high", "n"):
            frame[f"{way}_{name}"] = [
                float("nan"),
                *(part[name].get(model, float("nan")) for model in models),
            ]
        # The ceiling is that of the targets with answers; models without some of them differ a
        # little.
        frame.loc[0, f"{way}_r"] = part["ceiling"].median()
        over = ", ".join((in_words(way_of(way).paradigm), *way_of(way).short))
        columns += [
            number_column("r", f"{way}_r", over=over),
            SheetColumn("95% interval", (f"{way}_ci_low", f"{way}_ci_high"), span, over=over),
        ]
    n = likeness["n"]
    how_many = (
        whole_number(n.max())
        if n.min() == n.max()
        else f"{whole_number(n.min())} to {whole_number(n.max())}"
    )
    return Sheet(
        title="Correlation of models' preferences with those of people.",
        frame=frame,
        columns=tuple(columns),
        notes=(
            f"Pearson's r over {how_many} targets, of differences between the two contexts:"
            " people's mean ratings against the model's log probabilities or ratings.",
            "Noise ceiling: correlation of a model that predicts people perfectly, from the"
            " number of raters and their standard deviation; a dash: unknown.",
            f"Interval: 95% bootstrap over {drawn_units(provenance)}, none with fewer than"
            f" {FEWEST}.",
        ),
        group="kind",
    )


@figure(
    inputs=[
        Input(Agreements, "human/agreements.parquet", name="human_agreements"),
        HUMAN_STATISTICS,
    ],
    title="People, Likert and Choice",
    section="people",
    caption=(
        "Context that people chose against the context with higher Likert ratings by other people,"
        " in percent of targets. No preference: mean ratings less than 1 apart, or a mean choice"
        " within 0.2 of the middle. Like Figure 7 of the EWoK paper."
    ),
    when=has_both_ways,
)
def human_agreement(
    agreements: pd.DataFrame, statistics: pd.DataFrame, roster: Roster
) -> pd.DataFrame:
    """Counts and shares of every pair of preferences, with the people's name and Pearson's r of the
    two ways in every row.
    """
    values = statistics.loc[statistics["quantity"] == "likert_choice_r", "value"]
    frame = agreements[["likert", "choice", "n", "share"]].copy()
    return frame.assign(
        name=roster[HUMAN].name, r=float(values.iloc[0]) if len(values) else float("nan")
    )


@human_agreement.drawn_by
def draw_human_agreement(frame: pd.DataFrame, width: str = "double") -> Figure:
    """The matrix with percentages and counts; a row or column that nobody falls into is left out if
    it means not asked.

    However wide the page is, nine cells need no more than one column.
    """
    levels, size = preference_levels(frame), style.BODY
    left, top, foot = 0.98, 0.34, 0.42
    side = style.WIDTHS["single"] - left - 0.12
    figure = style.canvas("single", top + side + foot)
    axes = style.axes_at(figure, left, top, side, side)
    values, counts = (preference_matrix(frame, of, levels) for of in ("share", "n"))
    labels = LABELS | {"missing": "not asked"}
    texts = [
        [f"{100 * share:.1f}%\n{n:,.0f}" for share, n in zip(*row, strict=True)]
        for row in zip(values, counts, strict=True)
    ]
    draw_preferences(axes, values, levels, labels, size, texts, size + 0.5)
    axes.set_xlabel("chosen outright", fontsize=size + 1, labelpad=6)
    axes.set_ylabel("implied by Likert ratings", fontsize=size + 1, labelpad=6)
    agreed, both = count_agreeing(counts, levels)
    words = (
        f"{agreed / both:.1%} of {both:,.0f} targets agree"
        if both
        else "no target was asked in both ways"
    )
    r = float(frame["r"].iloc[0])
    axes.set_title(words + ("" if np.isnan(r) else f"; r = {r:.2f}"), fontsize=size + 1, pad=8)
    return figure


def _notes(statistics: pd.DataFrame) -> list[str]:
    by_quantity = {
        (row["eval_type"], row["quantity"]): row
        for row in statistics.to_dict("records")
        if row["grouping"] == "overall"
    }
    notes = ["95% intervals over templates and people. Ties count one half."]
    likert = statistics.query(
        "quantity == 'accuracy' and eval_type == 'likert' and grouping == 'version'"
    )["value"]
    if len(likert):
        notes.append(
            f"Likert, range over versions: {span(likert.min(), likert.max())}; the paper:"
            " 0.942–0.957."
        )
    for way in ("likert", "choice"):
        if (way, "n_people") in by_quantity:
            people = by_quantity[way, "n_people"]
            notes.append(
                f"{way.capitalize()}: {whole_number(people['value'])} people,"
                f" {whole_number(people['n'])} answers."
            )
        if (way, "split_half_r") in by_quantity:
            r, ceiling = (
                f"{decimals(3)(row['value'])} (95%: {span(row['ci_low'], row['ci_high'])})"
                for row in (by_quantity[way, "split_half_r"], by_quantity[way, "noise_ceiling_r"])
            )
            notes.append(
                f"{way.capitalize()}: split-half reliability (Spearman-Brown) {r}; no model is"
                f" expected to correlate with these answers above {ceiling}."
            )
    if ("likert", "label_r") in by_quantity:
        raw, binary = (
            by_quantity["likert", name]["value"] for name in ("label_r", "label_r_binarised")
        )
        notes.append(
            f"Correlation of mean ratings with labels: r = {decimals(3)(raw)}; of binarised"
            f" ratings: {decimals(3)(binary)}."
        )
    return notes


def _read_paper() -> dict[tuple[str, str], float]:
    """The paper's accuracies of people, by grouping and group."""
    people = people_of_paper(read_published(RESOURCES / "published"))
    groups = people["group"].replace(ALL, OVERALL)
    return dict(zip(zip(people["grouping"], groups, strict=True), people["mean"], strict=True))
