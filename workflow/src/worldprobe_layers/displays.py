"""Accuracy by layer: a figure by domain, and a table of where it exceeds a level."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from worldprobe.benchmark import Input, Section, Study, figure, table
from worldprobe.contracts.results import OVERALL
from worldprobe.report import style
from worldprobe.report.model_names import Roster
from worldprobe.report.sheet import (
    MODEL_ONCE,
    Sheet,
    SheetColumn,
    decimals,
    number_column,
    span,
    text_column,
)
from worldprobe_lab.contracts import REACHED, Curves, Onsets
from worldprobe_lab.learning_curves import BAND, NOT_COMPARABLE, WORDS, has_one_level

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SECTION = Section(
    "layers",
    "Layers",
    "Accuracy after layers of a model, whose state there goes through its own final norm and output"
    " projection. What is not read so may be there all the same.",
)
GROUPINGS = (OVERALL, "domain")


def are_read(study: Study) -> bool:
    """Whether a study reads layers."""
    return bool(study["ewok"]["layers"]["models"])


@figure(
    name="layers",
    inputs=[Input(Curves, "layers/curves.parquet")],
    section=SECTION.id,
    title="Accuracy by layer",
    caption=(
        "Accuracy after layers, overall and by domain, with bands over pairs of concepts that hold"
        " at all layers at once (95%). Dashed: chance."
    ),
    when=are_read,
)
def layers(curves: pd.DataFrame, roster: Roster) -> pd.DataFrame:
    """Overall first, then the domains."""
    kept = curves[curves["grouping"].isin(GROUPINGS)]
    kept = kept.sort_values(["grouping", "group", "step"], key=_overall_first, kind="stable")
    named = style.with_identity(kept, roster)
    columns = ["group", "model", "name", "family", "colour", "step", "mean"]
    return named[[*columns, "band_low", "band_high"]].reset_index(drop=True)


def _overall_first(column: pd.Series) -> pd.Series:
    return column != OVERALL if column.name == "grouping" else column


@layers.drawn_by
def draw_layers(frame: pd.DataFrame, width: str = "double") -> Figure:
    """A panel for each group."""
    size = style.label_size(width)
    groups = list(dict.fromkeys(frame["group"]))
    per_row = 5 if width == "double" else 3
    figure, grid, across = style.grid(width, len(groups), per_row, 0.9, 0.36, head=0.3, foot=0.6)
    limits = style.fitting_limits(frame, ["mean", "band_low", "band_high"])
    looks = dict(zip(frame["name"], frame["colour"], strict=True))
    for number, (axes, group) in enumerate(zip(grid, groups, strict=True)):
        style.dash(axes, across=True)
        for name, rows in frame[frame["group"] == group].groupby("name", sort=False):
            band = (rows["step"], rows["band_low"], rows["band_high"])
            axes.fill_between(*band, color=looks[name], alpha=0.2, lw=0)
            axes.plot(rows["step"], rows["mean"], color=looks[name], lw=1.2, marker="o", ms=1.6)
            style.blank(axes, rows["step"], rows, "o", 2.2, ends=BAND)
        axes.set_ylim(*limits)
        axes.set_xlim(0, max(frame["step"].max(), 1) * 1.03)
        title = "all" if group == "all" else group
        axes.set_title(style.shortened(title, size, across), fontsize=size)
        axes.tick_params(labelsize=size, labelleft=number % per_row == 0)
        axes.tick_params(labelbottom=number + per_row >= len(groups))
        if number + per_row >= len(groups):
            axes.set_xlabel("layer", fontsize=size)
        if number % per_row == 0:
            axes.set_ylabel("accuracy", fontsize=size)
    handles = [style.handle(color=colour, lw=1.2, label=name) for name, colour in looks.items()]
    handles += [*style.hollow(frame, ends=BAND), style.chance_line("chance")]
    style.legend(figure, handles, 4, size)
    return figure


@table(
    name="layer_onsets",
    inputs=[Input(Onsets, "layers/onsets.parquet")],
    section=SECTION.id,
    title="From which layer accuracy exceeds a level",
    caption=(
        "The layer from which on accuracy exceeds a level for good: by default chance and the half"
        " width of its band, which depends on the number of items."
    ),
    when=are_read,
)
def layer_onsets(onsets: pd.DataFrame, roster: Roster) -> Sheet:
    """Overall first, then the domains, for each model."""
    kept = onsets[onsets["grouping"].isin(GROUPINGS)].assign(
        name=lambda rows: roster.names(rows["model"]),
        state=lambda rows: rows["status"].map(WORDS | {REACHED: ""}),
    )
    kept = kept.sort_values(["name", "grouping", "group"], key=_overall_first, kind="stable")
    comparable = () if has_one_level(kept) else (NOT_COMPARABLE,)
    return Sheet(
        "From which layer accuracy exceeds a level for good.",
        kept.reset_index(drop=True),
        (
            MODEL_ONCE,
            text_column("Group", "group"),
            number_column("Level", "level"),
            number_column("Exceeded for good from layer", "onset", decimals(1)),
            SheetColumn(
                "95% interval", ("ci_low", "ci_high"), lambda low, high: span(low, high, 1)
            ),
            text_column("Why none", "state", str),
        ),
        notes=(
            "Accuracy is interpolated between layers that were read. The interval is for other"
            " pairs of concepts; a dash: one end is beyond the layers.",
            *comparable,
        ),
        group="name",
    )
