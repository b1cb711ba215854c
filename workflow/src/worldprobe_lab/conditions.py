"""Conditions of a study: which files they are compared from, their table and figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from worldprobe.benchmark import Input, Section, Study, figure, table
from worldprobe.benchmarks.ewok.analysis.panel import drawn_units, interval_notes
from worldprobe.benchmarks.ewok.options import EVAL_TYPE
from worldprobe.benchmarks.ewok.outputs import judgements
from worldprobe.benchmarks.ewok.selection import in_words
from worldprobe.benchmarks.ewok.study import has_logprobs, is_released
from worldprobe.errors import UserError
from worldprobe.provenance import Provenance
from worldprobe.report import style
from worldprobe.report.model_names import Roster
from worldprobe.report.sheet import (
    DETECTABLE,
    INTERVAL,
    MODEL_ONCE,
    MORE_THAN_POSSIBLE,
    Sheet,
    SheetColumn,
    number_column,
    show_p,
    span,
    text_column,
    whole_number,
)
from worldprobe_lab.contracts import ConditionComparisons

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def compared_conditions(study: Study) -> list[str]:
    """The conditions whose items are of the same templates, the reference first."""
    return [
        name
        for name, condition in study["ewok"]["conditions"].items()
        if not condition["items"]["families"]
    ]


def has_conditions(study: Study) -> bool:
    """Whether there are several conditions to compare."""
    return len(compared_conditions(study)) > 1 and not is_released(study)


def judgements_of_conditions(study: Study) -> list[str]:
    """Judgements of models under every condition, the reference first."""
    return [
        path
        for condition in compared_conditions(study)
        for path in judgements(study, condition=condition)
    ]


def condition_options(study: Study) -> dict[str, list[list[str]]]:
    """The judgements of each condition, the reference first, and its title, as options."""
    titles = {
        name: condition.get("title") for name, condition in study["ewok"]["conditions"].items()
    }
    return {
        "judgements": [
            [name, *judgements(study, condition=name)] for name in compared_conditions(study)
        ],
        "condition_title": [[name, title] for name, title in titles.items() if title],
    }


SECTION = Section(
    "conditions",
    "Conditions",
    "The same models on differently built items or with other prompts, compared template by"
    " template.",
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
    when=has_conditions,
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
        way=overall.eval_type.map(in_words),
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
        text_column("Asked by", "way", once=True),
        text_column("Condition", "title"),
        number_column(reference, "mean_b", over="Accuracy"),
        number_column("this condition", "mean_a", over="Accuracy"),
        SheetColumn(reference, ("low_b", "high_b"), span, over="Range over versions"),
        SheetColumn("this condition", ("low_a", "high_a"), span, over="Range over versions"),
        number_column("Difference", "difference"),
        INTERVAL,
        number_column("p (Holm)", "p_holm", show_p),
        DETECTABLE,
        number_column("Templates", "n", whole_number),
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
                f" {drawn_units(provenance)}."
            ),
            MORE_THAN_POSSIBLE,
            *interval_notes(frame),
        ),
        group="model",
    )


CONDITION_COLUMNS = ["model", "name", "condition", "title", "reference", "eval_type", "mean"]


CONDITION_COLUMNS += ["low", "high", "difference", "ci_low", "ci_high", "p_holm", "n"]


@figure(
    name="conditions",
    inputs=[CONDITION_COMPARISONS],
    title="Conditions",
    section="conditions",
    caption=(
        "Left: accuracy of each model in each condition, with the range over versions. Right:"
        " paired difference from the first condition, with a 95% interval; filled: p < 0.05 after"
        " Holm's correction."
    ),
    when=(has_conditions, has_logprobs),
    options=[EVAL_TYPE],
)
def condition_differences(
    comparisons: pd.DataFrame,
    roster: Roster,
    provenance: Provenance | None = None,
    eval_type: str = "logprobs",
) -> pd.DataFrame:
    """One row per model and condition, the reference first (its difference is 0).

    Args:
        comparisons: the ConditionComparisons table.
        roster: names and order of the models.
        provenance: of that table, with the titles of the conditions.
        eval_type: way of asking.

    Raises:
        UserError: the way of asking was not compared.
    """
    rows = comparisons[(comparisons.grouping == "overall") & (comparisons.eval_type == eval_type)]
    if rows.empty:
        eval_types = ", ".join(sorted(comparisons.eval_type.unique())) or "none"
        raise UserError(
            "--eval-type",
            f'"{eval_type}" was not compared between conditions.',
            f"Choose one of: {eval_types}.",
        )
    rows = rows.rename(
        columns={"model_a": "model", "condition_a": "condition", "condition_b": "reference"}
    )
    others = rows.assign(mean=rows.mean_a, low=rows.low_a, high=rows.high_a)
    # A condition may lack templates; the reference's mean is then another one for each condition:
    # the largest basis is shown.
    first = rows.sort_values("n", ascending=False, kind="stable").drop_duplicates("model")
    first = first.assign(
        condition=first.reference, mean=first.mean_b, low=first.low_b, high=first.high_b
    )
    first = first.assign(difference=0.0, ci_low=np.nan, ci_high=np.nan, p_holm=np.nan)
    both = pd.concat([first, others], ignore_index=True)
    titles = provenance.details.get("titles", {}) if provenance else {}
    both = both.assign(title=both.condition.map(lambda name: titles.get(name, name)))
    return style.with_identity(both, roster)[CONDITION_COLUMNS].reset_index(drop=True)


@condition_differences.drawn_by
def draw_conditions(frame: pd.DataFrame, width: str = "double") -> Figure:
    """Accuracy in each condition, with the range of its versions, and difference from the
    reference.

    Differences have 95% intervals, and their marks are filled where p < 0.05.
    """
    from matplotlib.ticker import MultipleLocator

    models = list(dict.fromkeys(frame.model))
    names = style.names(frame)
    reference = str(frame.reference.iloc[0])
    conditions = [
        reference,
        *(name for name in dict.fromkeys(frame.condition) if name != reference),
    ]
    titles = dict(zip(frame.condition, frame.title.astype(str), strict=True))
    colours = dict(
        zip(
            conditions,
            [style.INK, *style.family_colours([f"c{i}" for i in conditions[1:]]).values()],
            strict=True,
        )
    )
    marks = {name: style.shape(number) for number, name in enumerate(conditions)}
    size = style.label_size(width)
    is_double = width == "double"
    tall = (0.13 + 0.07 * len(conditions)) * len(models) + 0.06
    left = style.widest(names.values(), size) + 0.12
    figure, panels, _ = style.grid(
        width, 2, 2, tall, left, gap=0.22, foot=0.5 if is_double else 0.62
    )
    positions = {model: number for number, model in enumerate(models)}
    sure = frame.groupby("model")["ci_low"].max()  # missing where no difference has an interval
    for number, condition in enumerate(conditions):
        rows = frame[frame.condition == condition]
        y = rows.model.map(positions) + 0.62 * ((number + 0.5) / len(conditions) - 0.5)
        looks = {"colour": colours[condition], "marker": marks[condition]}
        spread = rows.assign(
            high=rows.high.where(rows.low < rows.high),  # one version has no range
            sure=rows.model.map(sure) if condition == reference else rows.ci_low,
        )
        ends, certain = ("low", "high"), ("sure", "sure")
        style.dots(panels[0], y, spread, ends=ends, certain=certain, **looks)
        if condition != reference:
            faces = [colours[condition] if p < 0.05 else "white" for p in rows.p_holm]
            style.dots(panels[1], y, rows, x="difference", faces=faces, **looks)
    style.dash(panels[0])
    panels[1].axvline(0, color=style.INK, lw=0.6, zorder=1)
    reach = float(
        np.nanmax(np.abs(frame[["difference", "ci_low", "ci_high"]].to_numpy(dtype=float)))
    )
    panels[1].set_xlim(-1.1 * max(reach, 0.02), 1.1 * max(reach, 0.02))
    least, most = (
        min(0.45, float(frame.low.min()) - 0.03),
        min(1.0, max(0.6, float(frame.high.max()) + 0.03)),
    )
    panels[0].xaxis.set_major_locator(MultipleLocator(0.05 if most - least < 0.25 else 0.1))
    panels[1].locator_params(axis="x", nbins=5)
    panels[0].set_xlim(least, most)
    for number, (axes, title) in enumerate(
        zip(panels, ("accuracy", f"difference from {titles[reference]}"), strict=True)
    ):
        style.name_rows(axes, [names[model] for model in models], size, number == 0)
        axes.set_title(title, fontsize=size)
    handles = [style.mark(marks[c], colours[c], titles[c]) for c in conditions]
    handles += [
        style.chance_line("chance"),
        style.mark("o", "white", "p ≥ 0.05 (Holm)", mec=style.INK),
        *style.hollow(frame[frame.condition != reference]),
    ]
    style.legend(figure, handles, 5 if is_double else 3, size)
    return figure
