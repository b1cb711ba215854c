"""Tables and figures of learning curves, the same for every benchmark that scores series of
checkpoints.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from worldprobe.benchmark import Display, Input, Registry, Section, Study, figure, table
from worldprobe.contracts import Table
from worldprobe.contracts.results import OVERALL
from worldprobe.provenance import Provenance
from worldprobe.report import style
from worldprobe.report.model_names import HUMAN, Roster
from worldprobe.report.sheet import (
    ABSENT,
    INTERVAL,
    Sheet,
    SheetColumn,
    as_text,
    decimals,
    number_column,
    span,
    text_column,
    whole_number,
)
from worldprobe_lab.contracts import (
    ALL_SEEDS,
    ALREADY,
    CHANCE,
    NEVER,
    NONE,
    OPEN,
    REACHED,
    Curves,
    Onsets,
    OrderAgreements,
)
from worldprobe_lab.series import trainings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SECTION = Section(
    "learning",
    "Learning curves",
    "Accuracy at checkpoints of a training. Chance is 0.5. Bands hold at all checkpoints of a curve"
    " at once (95%). An onset is where a curve exceeds a level for good; by default the level is"
    " chance and the half width of the band, which depends on the number of items. Only onsets at"
    " one level can be compared.",
)
#: What a censored onset is called, and its mark; that below the level has the level beside it.
WORDS = {
    REACHED: "",
    OPEN: "perhaps later",
    NEVER: "below",
    ALREADY: "before the first",
    NONE: "too uncertain",
}
#: What onsets of different levels are.
NOT_COMPARABLE = (
    "Levels differ with the number of items, so these onsets cannot be compared with one another;"
    " one level for all: `onset_level` in a study, or `series curves --level`."
)
#: Whose means a figure shows besides the models': those of the study's ratings, or the paper's
#: where its items are asked.
PEOPLE, PEOPLE_OF_PAPER = "people", "people (paper)"
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_MARKS = {REACHED: "o", OPEN: "o", NEVER: ">", ALREADY: "<"}
#: Columns of a band's ends.
BAND = ("band_low", "band_high")
#: Rows of a map that can be read; of more, those with the highest accuracy over all checkpoints.
MOST_ROWS = 60


def has_series(study: Study) -> bool:
    """Whether a study has series of checkpoints."""
    return bool(study.get("series"))


def has_several_trainings(study: Study, registry: Registry) -> bool:
    """Whether there are trainings whose order of onsets can be compared."""
    return len(trainings(study, registry)) > 1


def learning_displays(
    prefix: str, panels: Sequence[str], rows: str, summaries: type[Table]
) -> tuple[Display, ...]:
    """The tables and figures of one benchmark.

    Args:
        prefix: the benchmark's name.
        panels: groupings with a panel of curves for each group.
        rows: grouping with a row of the map for each group.
        summaries: the benchmark's summaries, which may have people's means.
    """
    shared: dict[str, Any] = {"section": SECTION.id, "when": has_series}

    def learning_curves(
        curves: pd.DataFrame,
        summaries: pd.DataFrame,
        roster: Roster,
        provenance: Provenance | None = None,
    ) -> pd.DataFrame:
        kept = _main(curves[curves["grouping"].isin([OVERALL, *panels])])
        people = summaries[
            (summaries["model"] == HUMAN) & summaries["grouping"].isin([OVERALL, *panels])
        ]
        people = people[(people["condition"] == "all") & (people["metric"] == "accuracy")]
        people = people.assign(name=PEOPLE)
        published = provenance.details.get("people") if provenance else None
        if people.empty and published:
            people = pd.DataFrame(published).assign(name=PEOPLE_OF_PAPER, model=HUMAN)
        people = people.assign(series=HUMAN, colour="", seed="", unit="")
        return pd.concat(
            [_named(kept, roster)[_CURVE], people.reindex(columns=[*_CURVE, "low", "high"])],
            ignore_index=True,
        )

    def onsets(onsets: pd.DataFrame, roster: Roster) -> pd.DataFrame:
        return _named(_main(onsets[onsets["grouping"].isin([OVERALL, *panels])]), roster)

    def curve_map(curves: pd.DataFrame, roster: Roster) -> pd.DataFrame:
        kept = curves[(curves["grouping"] == rows) & _is_main(curves)]
        return _named(_main(kept), roster)

    def onset_table(onsets: pd.DataFrame, roster: Roster) -> Sheet:
        kept = _named(
            _main(onsets[onsets["grouping"].isin([OVERALL, *panels]) & _is_main(onsets)]), roster
        )
        level = kept["level"].map(lambda level: f" {level:.3f}").where(kept["status"] == NEVER, "")
        kept = kept.assign(state=kept["status"].map(WORDS) + level)
        columns = (
            text_column("Series", "name", once=True),
            text_column("Group", "group"),
            number_column("Level", "level"),
            number_column("Exceeded for good from", "onset", _step),
            SheetColumn("95% interval", ("ci_low", "ci_high"), _between),
            text_column("Why none", "state"),
            number_column("Fall", "fall"),
            number_column("From", "fall_from", _step),
            number_column("To", "fall_to", _step),
        )
        notes = () if has_one_level(kept) else (NOT_COMPARABLE,)
        return Sheet(
            "From where curves exceed a level for good, and falls.",
            kept,
            columns,
            notes=(*_count_onsets(kept), *notes),
        )

    def order_table(order_agreements: pd.DataFrame, roster: Roster) -> Sheet:
        kept = order_agreements[order_agreements["grouping"] != OVERALL]
        columns = (
            text_column("Training", "model_a", once=True),
            text_column("Seed", "seed_a"),
            text_column("and", "model_b"),
            text_column("Seed", "seed_b"),
            text_column("by", "grouping"),
            number_column("Level", "level"),
            number_column("different items", "correlation", decimals(2), over="Rank correlation"),
            SheetColumn(
                "95% interval", ("ci_low", "ci_high"), lambda low, high: span(low, high, 2)
            ),
            number_column("these items", "same_items", decimals(2), over="Rank correlation"),
            number_column("Groups", "n", as_text),
        )
        return Sheet(
            "Agreement on the order of onsets, where curves exceed one level for good.",
            kept,
            columns,
            notes=(
                "Different items: each training on another random half of each group's clusters,"
                " mean over splits; only this says that trainings learn groups in a similar order."
                " These items: all items in both trainings, which share how hard these are.",
                *_mean_agreement(kept),
            ),
        )

    def spread_table(curves: pd.DataFrame, roster: Roster) -> Sheet:
        kept = curves[curves["grouping"].isin([OVERALL, rows]) & _is_main(curves)]
        kept = _named(kept.assign(half=(kept["ci_high"] - kept["ci_low"]) / 2), roster)
        by_way = kept.groupby(["series", "eval_type", "grouping", "group"], observed=True)["step"]
        last = kept[(kept["grouping"] == OVERALL) & (kept["step"] == by_way.transform("max"))]
        last = _with_ends(last, kept, rows)
        columns = (
            text_column("Series", "name"),
            number_column("First checkpoint", "first_step", _step),
            number_column("accuracy", "first_mean"),
            number_column("Last checkpoint", "step", _step),
            number_column("accuracy", "mean"),
            INTERVAL,
            number_column("Between seeds", "between_seeds", decimals(4)),
            number_column("Between versions", "between_versions", decimals(4)),
            number_column("Half the interval", "half", decimals(4)),
            number_column("Groups", "n_groups", whole_number),
            number_column("above chance", "n_above", whole_number),
            number_column("below", "n_below", whole_number),
        )
        note = (
            "Standard deviations of the means of seeds and of versions at the last checkpoint, next"
            " to half the 95% interval. Groups are above or below chance there by intervals for all"
            " groups of a series at once."
        )
        return Sheet("What curves differ by", last, columns, notes=(note,))

    curves_figure = figure(
        name=f"{prefix}_learning_curves",
        title="Learning curves",
        inputs=[Curves, Input(summaries, "summaries.parquet", name="summaries")],
        caption=(
            "Accuracy by checkpoint. Bold: the mean over seeds, or the only training, with its"
            " band; thin: single seeds."
        ),
        **shared,
    )(learning_curves)
    curves_figure.drawn_by(draw_curves)
    onset_figure = figure(
        name=f"{prefix}_onsets",
        title="Onsets",
        inputs=[Onsets],
        caption=(
            "Where curves exceed a level for good, with 95% intervals; on the right, the level."
            " Large: mean over seeds; small: seeds. An arrow to the right: not by the last"
            " checkpoint; to the left: before the first one; an open mark: perhaps after the last"
            " one. Groups are in the order of their onsets only where all have one level."
        ),
        **shared,
    )(onsets)
    onset_figure.drawn_by(draw_onsets)
    map_figure = figure(
        name=f"{prefix}_curve_map",
        title="Checkpoints by group",
        inputs=[Curves],
        caption=(
            f"Accuracy by {rows} and checkpoint, the mean over seeds; the {rows}s in the order of"
            " their accuracy over all checkpoints. White is chance."
        ),
        **shared,
    )(curve_map)
    map_figure.drawn_by(draw_map)
    return (
        curves_figure,
        onset_figure,
        map_figure,
        table(
            name=f"{prefix}_onset_table",
            title="Onsets and falls",
            inputs=[Onsets],
            caption=(
                "From where curves exceed a level for good, and the largest fall that chance does"
                " not explain."
            ),
            **shared,
        )(onset_table),
        table(
            name=f"{prefix}_onset_order",
            title="Order of onsets",
            inputs=[OrderAgreements],
            caption=(
                "Rank correlation (Spearman) of the onsets in two trainings at one level, on"
                " different halves of the items and on the same items; the interval is for other"
                " groups (Bonett and Wright 2000)."
            ),
            **(shared | {"when": (has_series, has_several_trainings)}),
        )(order_table),
        table(
            name=f"{prefix}_curve_spread",
            title="Seeds and fillers",
            inputs=[Curves],
            caption=(
                "Which is large: the spread between seeds, between fillers, or the uncertainty of"
                " the concepts or skins?"
            ),
            **shared,
        )(spread_table),
    )


_CURVE = [
    "series",
    "model",
    "name",
    "colour",
    "seed",
    "grouping",
    "group",
    "unit",
    "step",
    "mean",
    "band_low",
    "band_high",
]


def _is_main(rows: pd.DataFrame) -> pd.Series:
    """The mean over seeds of a series, or its only training."""
    has_mean = rows["series"].isin(rows.loc[rows["seed"] == ALL_SEEDS, "series"])
    return (rows["seed"] == ALL_SEEDS) | ~has_mean


def _main(rows: pd.DataFrame) -> pd.DataFrame:
    """The first way of asking alone."""
    return rows[rows["eval_type"] == rows["eval_type"].iloc[0]] if len(rows) else rows


def _named(rows: pd.DataFrame, roster: Roster) -> pd.DataFrame:
    """With each series' name and colour, overall first."""
    ids = roster.in_order(rows["series"])
    colours = style.model_colours(roster, ids)
    shades = style.looks({series: colours[series] for series in ids}, by_marks=False)
    named = rows.assign(
        name=roster.names(rows["series"]),
        colour=[shades[series][0] for series in rows["series"]],
    )
    order = {series: n for n, series in enumerate(ids)}
    named = named.assign(_first=named["grouping"] != OVERALL, _series=named["series"].map(order))
    return (
        named.sort_values(["_series", "_first"], kind="stable")
        .drop(columns=["_first", "_series"])
        .reset_index(drop=True)
    )


def _step(value: Any) -> str:
    """A number of steps with three digits.

    >>> _step(1234.5), _step(83_900_000_000)
    ('1,230', '83.9 billion')
    """
    if value is None or np.isnan(value):
        return ABSENT
    rounded = float(f"{value:.3g}")
    unit, name = next(((size, name) for size, name in _LARGE if rounded >= size), (1.0, ""))
    return f"{rounded / unit:,g}{name}"


_LARGE = ((1e12, " trillion"), (1e9, " billion"), (1e6, " million"))


def _between(low: Any, high: Any) -> str:
    ends = ["…" if _step(end) == ABSENT else _step(end) for end in (low, high)]
    return ABSENT if ends == ["…"] * 2 else " to ".join(ends)


def has_one_level(rows: pd.DataFrame) -> bool:
    """Whether all onsets are those of one level, so that they can be compared."""
    return bool(rows["level"].dropna().round(6).nunique() < 2)


def _count_onsets(rows: pd.DataFrame) -> tuple[str, ...]:
    """How many groups of each series have an onset."""
    groups = rows[rows["grouping"] != OVERALL]
    is_reached = (groups["status"] == REACHED).groupby(groups["name"], sort=False)
    return tuple(
        f"{name}: {reached.sum()} of {len(reached)} groups are shown to exceed the level for good."
        for name, reached in is_reached
    )


def _with_ends(last: pd.DataFrame, rows: pd.DataFrame, grouping: str) -> pd.DataFrame:
    """The last checkpoint of each series with where its curve began, and how many groups end above
    chance and below.
    """
    from worldprobe.analysis.comparisons import (
        ABOVE,
        BELOW,
        above_or_below,
    )  # SciPy, which Snakemake need not load

    lines = []
    for row in last.to_dict("records"):
        curve = rows[(rows["name"] == row["name"]) & (rows["eval_type"] == row["eval_type"])]
        first = curve[curve["grouping"] == OVERALL].sort_values("step").iloc[0]
        groups = curve[curve["grouping"] == grouping]
        ends_of_groups = groups[groups["step"] == groups["step"].max()]
        where = above_or_below(ends_of_groups, CHANCE, len(last) * len(ends_of_groups))
        counts = {f"n_{name}": int((where == name).sum()) for name in (ABOVE, BELOW)}
        ends = {"first_step": first["step"], "first_mean": first["mean"], "n_groups": len(where)}
        lines.append(row | ends | counts)
    return pd.DataFrame(lines)


def _mean_agreement(rows: pd.DataFrame) -> tuple[str, ...]:
    """The mean correlation of the seeds of one series."""
    seeds = rows[rows["correlation"].notna() & rows["same_series"]]
    means = seeds.groupby("grouping")["correlation"].mean()
    return tuple(
        f"Mean over pairs of seeds on different items, by {name}: {value:.2f}."
        for name, value in means.items()
    )


#: Width that a label of an axis takes, in inches, and the decades that 0 is left of the first step.
_LABEL, _DECADES_TO_ZERO = 0.36, 0.7


def _decades(steps: np.ndarray) -> tuple[np.ndarray, float]:
    """Places of steps on a logarithmic axis, in decades from the first one above 0, where 0 has a
    place left of it; that step.
    """
    positive = steps[steps > 0]
    least = float(positive.min()) if len(positive) else 1.0
    with np.errstate(divide="ignore"):
        return np.where(steps > 0, np.log10(steps / least), -_DECADES_TO_ZERO), least


def _power_of_ten(power: int) -> str:
    return "10" + str(power).translate(_RAISED)


def _label_steps(axes: Axes, steps: np.ndarray, size: float, across: float) -> None:
    """Ticks at powers of ten that do not touch each other, on an axis in decades (``_decades``)
    that is as wide as stated.
    """
    positions, least = _decades(steps)
    has_zero = bool((steps == 0).any())
    inches = across / max(float(np.ptp(positions)), 0.1)
    first, last = (
        int(end(np.log10(step))) for end, step in ((np.ceil, least), (np.floor, steps.max() or 1.0))
    )
    powers = np.arange(last, first - 1, -max(int(np.ceil(_LABEL / inches)), 1))[::-1]
    if has_zero:
        powers = powers[(powers - np.log10(least) + _DECADES_TO_ZERO) * inches >= _LABEL]
    at, labels = list(powers - np.log10(least)), [_power_of_ten(power) for power in powers]
    if len(powers) < 2:  # steps of one order of magnitude
        ends = sorted({float(steps.max()), float(steps.max()) if has_zero else least} - {0.0})
        at, labels = list(_decades(np.array([least, *ends]))[0][1:]), [_step(step) for step in ends]
    if has_zero:
        at, labels = [-_DECADES_TO_ZERO, *at], ["0", *labels]
    axes.set_xticks(at, labels, fontsize=size)
    axes.tick_params(labelsize=size)


def draw_curves(frame: pd.DataFrame, width: str = "double") -> Figure:
    """A panel for each group."""
    size = style.label_size(width)
    curves, people = frame[frame["model"] != HUMAN], frame[frame["model"] == HUMAN]
    groups = list(dict.fromkeys(zip(curves["grouping"], curves["group"], strict=True)))
    per_row = min(len(groups), 4 if width == "double" else 2)
    figure, grid, across = style.grid(width, len(groups), per_row, 1.1, 0.36, head=0.38, foot=0.56)
    limits = style.fitting_limits(frame, ["mean", "band_low", "band_high", "low", "high"])
    for number, (axes, (grouping, group)) in enumerate(zip(grid, groups, strict=True)):
        here = curves[(curves["grouping"] == grouping) & (curves["group"] == group)]
        style.dash(axes, across=True)
        style.people(
            axes, people[(people["grouping"] == grouping) & (people["group"] == group)], across=True
        )
        for _, rows in here.groupby(["series", "seed"], sort=False):
            rows = rows.sort_values("step")
            x = _decades(rows["step"].to_numpy(float))[0]
            colour = rows["colour"].iloc[0]
            if bool(_is_main(here)[rows.index[0]]):
                axes.fill_between(
                    x,
                    rows["band_low"],
                    rows["band_high"],
                    color=colour,
                    alpha=0.25,
                    lw=0,
                    zorder=2,
                )
                axes.plot(x, rows["mean"], color=colour, lw=1.3, zorder=4)
                style.blank(axes, x, rows, "o", 2.2, 4.1, ends=BAND)
            else:
                axes.plot(x, rows["mean"], color=colour, lw=0.4, alpha=0.7, zorder=3)
        _label_steps(axes, here["step"].to_numpy(float), size, across)
        axes.margins(x=0.02)
        if number + per_row >= len(groups):
            axes.set_xlabel(here["unit"].iloc[0], fontsize=size)
        axes.set_title(
            style.shortened("all" if grouping == OVERALL else group, size, across), fontsize=size
        )
        axes.set_ylim(*limits)
        axes.tick_params(labelleft=number % per_row == 0)
        if number % per_row == 0:
            axes.set_ylabel("accuracy", fontsize=size)
    names = dict(zip(curves["name"], curves["colour"], strict=True))
    handles: list[Any] = [
        style.handle(color=colour, lw=1.3, label=name) for name, colour in names.items()
    ]
    handles += style.hollow(curves[_is_main(curves)], ends=BAND)
    handles += [style.chance_line("chance")] + (
        [style.human_patch(people["name"].iloc[0])] if len(people) else []
    )
    style.legend(figure, handles, 4 if width == "double" else 2, size)
    return figure


def draw_onsets(frame: pd.DataFrame, width: str = "double") -> Figure:
    """A row for each group with its level, in the order of onsets where the level is one; a panel
    for each series.
    """
    size = style.label_size(width)
    main = frame[_is_main(frame)]
    late = main["onset"].fillna(np.inf).mask(main["status"] == ALREADY, -np.inf)
    median = main.assign(late=late).groupby("group", sort=False)["late"].median()
    is_comparable = has_one_level(main)
    groups = list((median.sort_values(kind="stable") if is_comparable else median).index)
    names = list(dict.fromkeys(frame["name"]))
    left = style.widest(["all" if group == "all" else group for group in groups], size) + 0.2
    figure, grid, across = style.grid(
        width,
        len(names),
        len(names),
        max(0.17 * len(groups), 0.3),
        left,
        gap=0.42,
        head=0.3,
        foot=0.4 if is_comparable else 0.52,
        right=0.42,
    )
    finite = frame[["onset", "ci_low", "ci_high"]].to_numpy(float).ravel()
    finite = finite[np.isfinite(finite) & (finite > 0)]
    first, last = (finite.min() / 1.5, finite.max() * 1.5) if len(finite) else (1.0, 10.0)
    soft: dict[str, Any] = {"fontsize": size, "color": style.SOFT_INK, "va": "center"}
    for number, (axes, name) in enumerate(zip(grid, names, strict=True)):
        here = frame[frame["name"] == name]
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: _power_of_ten(round(np.log10(value))))
        is_large = _is_main(here)
        axes.text(1.03, -0.75, "level", transform=axes.get_yaxis_transform(), **soft)
        for row, large in zip(here.to_dict("records"), is_large, strict=True):
            y = groups.index(row["group"]) + (0 if large else 0.22)
            if large:
                level = decimals(2)(row["level"])
                axes.text(1.03, y, level, transform=axes.get_yaxis_transform(), **soft)
            if row["status"] == NONE:
                continue
            x = {NEVER: last, ALREADY: first}.get(
                row["status"], row["onset"] if np.isfinite(row["onset"]) else last
            )
            has_interval = bool(np.isfinite([row["ci_low"], row["ci_high"]]).any())
            if large and row["status"] in (REACHED, OPEN) and has_interval:
                low = row["ci_low"] if np.isfinite(row["ci_low"]) else first
                axes.hlines(
                    y,
                    low,
                    row["ci_high"] if np.isfinite(row["ci_high"]) else last,
                    color=row["colour"],
                    lw=0.9,
                )
            looks = (
                {"color": row["colour"]}
                if row["status"] != OPEN
                else {"facecolors": "white", "edgecolors": row["colour"]}
            )
            if row["status"] == OPEN and not has_interval:
                looks["edgecolors"] = style.GREY
            axes.scatter(
                [x],
                [y],
                s=18 if large else 3,
                marker=_MARKS[row["status"]],
                zorder=3,
                linewidths=0.7,
                **looks,
            )
        style.name_rows(axes, groups, size, is_first=number == 0)
        axes.set_xlim(first / 1.1, last * 1.1)
        axes.minorticks_off()
        axes.set_xlabel(f"exceeded for good from ({here['unit'].iloc[0]})", fontsize=size)
        axes.set_title(style.shortened(name, size, across), fontsize=size)
    if not is_comparable:
        style.corner_note(figure, "levels differ: these onsets cannot be compared", size)
    return figure


def draw_map(frame: pd.DataFrame, width: str = "double") -> Figure:
    """Colours: rows are groups, columns checkpoints; a panel for each series."""
    size = style.SMALL
    order = list(
        frame.groupby("group")["mean"].mean().sort_values(ascending=False, kind="stable").index
    )[:MOST_ROWS]
    names = list(dict.fromkeys(frame["name"]))
    left = style.widest(order, size) + 0.2
    figure, grid, across = style.grid(
        width, len(names), len(names), max(0.11 * len(order), 0.4), left, head=0.3, foot=0.5
    )
    for number, (axes, name) in enumerate(zip(grid, names, strict=True)):
        here = frame[frame["name"] == name]
        matrix = here.pivot_table(index="group", columns="step", values="mean").reindex(index=order)
        steps = matrix.columns.to_numpy(float)
        positions = _decades(steps)[0]
        middles = (positions[1:] + positions[:-1]) / 2
        edges = (
            [2 * positions[0] - middles[0], *middles, 2 * positions[-1] - middles[-1]]
            if len(middles)
            else [-0.5, 0.5]
        )
        looks: dict[str, Any] = {
            "cmap": style.diverging(),
            "vmin": 0,
            "vmax": 1,
            "rasterized": True,
        }
        axes.pcolormesh(edges, np.arange(len(order) + 1) - 0.5, matrix.to_numpy(float), **looks)
        style.name_rows(axes, order, size, is_first=number == 0)
        axes.set_ylim(len(order) - 0.5, -0.5)
        _label_steps(axes, steps, size, across)
        axes.set_xlabel(here["unit"].iloc[0], fontsize=size)
        axes.set_title(style.shortened(name, size, across), fontsize=size)
    hidden = frame["group"].nunique() - len(order)
    words = style.AROUND_CHANCE_WORDS + (f"; {hidden} more are not shown" if hidden else "")
    style.corner_note(figure, words, size)
    return figure
